package wire

import "encoding/binary"

// A Channel is one of the two channels of a connection.
type Channel uint8

const (
	// Reliable messages arrive once, whole and in order, or the connection is dead.
	Reliable Channel = 0
	// Datagram messages arrive without delay or not at all. They may be lost, duplicated and reordered.
	Datagram Channel = 1
	// Report is no channel of messages: its part in a packet is a report of the packets received, for congestion control.
	Report Channel = 2
)

// Sizes of the envelope, in bytes.
const (
	// PacketLimit is the largest packet: the payload of one sealed netcode packet. Both ends of a connection agree on a size
	// between MinPacketLimit and it.
	PacketLimit = 1200
	// MinPacketLimit is a size that every transport carries. Sealed, it is the datagram of 1177 bytes that browsers send on each
	// path of QUIC.
	MinPacketLimit = 1152
	// EnvelopeSize is what a packet takes before its first part.
	EnvelopeSize = 2
	// maxPart is the largest payload of one part, which has a channel and a two-byte length.
	maxPart = PacketLimit - EnvelopeSize - 3
)

// AppendEnvelope begins a packet with its number. Parts follow it.
func AppendEnvelope(dst []byte, number uint16) []byte {
	return binary.LittleEndian.AppendUint16(dst, number)
}

// PartSize returns what a payload of n bytes takes in a packet.
func PartSize(n int) int { return 1 + UvarintSize(uint64(n)) + n }

// AppendPart appends one part to a packet. The caller keeps the packet within [PacketLimit], with [PartSize].
func AppendPart(dst []byte, channel Channel, payload []byte) []byte {
	if len(payload) == 0 || len(payload) > maxPart || channel > Report {
		panic("wire: AppendPart: a part is of a known channel and fits in a packet with its head; check before appending")
	}
	dst = append(dst, byte(channel))
	dst = binary.AppendUvarint(dst, uint64(len(payload)))
	return append(dst, payload...)
}

// OpenEnvelope begins to decode a packet of at most [PacketLimit] bytes. [Parts.Next] checks the parts.
func OpenEnvelope(packet []byte) (number uint16, parts Parts, err error) {
	switch {
	case len(packet) > PacketLimit:
		return 0, Parts{}, ErrTooLong
	case len(packet) <= EnvelopeSize:
		return 0, Parts{}, ErrShort
	}
	return binary.LittleEndian.Uint16(packet), Parts{r: NewReader(packet[EnvelopeSize:])}, nil
}

// Parts walks the parts of one packet. A copy walks on its own, so all parts can be checked before any is used.
type Parts struct{ r Reader }

// Next returns the next part, whose payload aliases the packet. ok is false at the end and at the first malformed part.
func (p *Parts) Next() (channel Channel, payload []byte, ok bool) {
	if p.r.Len() == 0 {
		return 0, nil, false
	}
	channel = Channel(p.r.U8())
	payload = p.r.Blob(maxPart)
	if p.r.Err() == nil && (channel > Report || len(payload) == 0) {
		p.r.Fail(ErrNotCanonical)
	}
	if p.r.Err() != nil {
		return 0, nil, false
	}
	return channel, payload, true
}

// Err returns what was wrong with the part at which [Parts.Next] stopped, or nil at the regular end.
func (p *Parts) Err() error { return p.r.Err() }
