package link

import (
	"encoding/binary"

	"tendon/net/link/rate"
	"tendon/net/wire"
)

// A segment is the head of one KCP segment, as far as this package reads it. A reliable part is a sequence of segments.
type segment struct {
	command uint8
	number  uint32 // of the data, or of the acknowledged data
	size    int    // bytes of the whole segment, head included
}

// Constants of segments, from section 3 of STANDARD.md.
const (
	conversation = 0x646e6574 // "tend": every connection has one conversation
	segmentMTU   = 1104       // bytes of a full segment
	segmentHead  = 24         // bytes
	segmentLimit = segmentMTU - segmentHead
	window       = 128 // segments; a power of two

	push       = 81 // commands
	ack        = 82
	askWindow  = 83
	tellWindow = 84

	partOverhead = 3 // channel and a two-byte length
)

// packetCost is the largest cost of a segment of n bytes: a packet of its own, with headers.
func packetCost(n int) int64 { return int64(rate.Header + wire.EnvelopeSize + partOverhead + n) }

// firstSegment reads the segment at the front of b. It refuses segments that no Tendon peer sends: of another
// conversation, KCP fragments, empty or oversized data, data on a command without data, and a window above ours. The core
// does not check them: it slices by the length field and counts fragments in a byte that wraps.
func firstSegment(b []byte) (s segment, ok bool) {
	if len(b) < segmentHead || binary.LittleEndian.Uint32(b) != conversation {
		return segment{}, false
	}
	s.command = b[4]
	fragment, free := b[5], binary.LittleEndian.Uint16(b[6:])
	s.number = binary.LittleEndian.Uint32(b[12:])
	length := binary.LittleEndian.Uint32(b[20:])
	if fragment != 0 || free > window || length > uint32(len(b)-segmentHead) || length > segmentLimit {
		return segment{}, false
	}
	s.size = segmentHead + int(length)
	switch s.command {
	case push:
		return s, length > 0
	case ack, askWindow, tellWindow:
		return s, length == 0
	}
	return segment{}, false
}

// segmentsWithin returns how many bytes of b are whole, well-formed segments that fit into limit bytes.
func segmentsWithin(b []byte, limit int) (n int) {
	for n < len(b) {
		s, ok := firstSegment(b[n:])
		if !ok || n+s.size > limit {
			break
		}
		n += s.size
	}
	return n
}
