package lab

import (
	"time"

	"tendon/net/simnet"
	"tendon/systems"
)

// meter counts what one end of a connection sends, and estimates what it is on the wire: all messages that are queued
// between two flushes leave together, as net/link sends them. What is sent again is not in it.
type meter struct {
	traffic Traffic
	body    int // bytes of parts since the last flush
	second  time.Duration
	bytes   int // on the wire, in the running second
}

// Traffic is what one end sent.
type Traffic struct {
	Messages uint64 `json:"messages"`
	Payload  uint64 `json:"payload_bytes"` // of messages of the session and of the strategy
	Packets  uint64 `json:"packets"`
	Wire     uint64 `json:"wire_bytes"`        // estimated: with all headers and acknowledgements
	MostWire int    `json:"most_wire_bytes_s"` // within one second
}

// What sending costs beside the messages, in bytes: see net/wire/STANDARD.md and netcode's.
const (
	packetHead    = 28 + 19 + 1 // IPv4 and UDP; netcode's prefix, sequence and tag; the envelope's epoch
	partHead      = 3           // of a part of the envelope
	segmentHead   = 24          // of KCP, also of an acknowledgement
	streamHead    = 2           // a message's length in KCP's stream
	segmentRoom   = 1128
	packetPayload = 1199
)

func (m *meter) send(ch systems.Channel, n int) {
	m.traffic.Messages++
	m.traffic.Payload += uint64(n)
	if ch == systems.Datagram {
		m.body += partHead + n
		return
	}
	segments := (n + streamHead + segmentRoom - 1) / segmentRoom
	m.body += n + streamHead + segments*(partHead+segmentHead)
}

// heard notes a message of the other end's: what came on the reliable channel is acknowledged.
func (m *meter) heard(ch systems.Channel, n int) {
	if ch == systems.Reliable {
		m.body += (n + segmentRoom) / segmentRoom * segmentHead
	}
}

// flush lets leave what was queued.
func (m *meter) flush(now simnet.Time) {
	if second := now / time.Second; second != m.second {
		m.second, m.bytes = second, 0
	}
	if m.body == 0 {
		return
	}
	packets := (m.body + packetPayload - 1) / packetPayload
	wire := m.body + packets*packetHead
	m.body = 0
	m.traffic.Packets += uint64(packets)
	m.traffic.Wire += uint64(wire)
	m.bytes += wire
	m.traffic.MostWire = max(m.traffic.MostWire, m.bytes)
}

// begin counts anew.
func (m *meter) begin() { m.traffic, m.bytes = Traffic{}, 0 }
