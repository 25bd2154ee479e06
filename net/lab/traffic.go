package lab

import (
	"time"

	"tendon/systems"
)

// meter counts what one end of a connection sends, and estimates its size on the wire. Messages that are queued between
// two flushes leave in one packet, as in net/link. Retransmissions are not counted.
type meter struct {
	traffic Traffic
	body    int // bytes of parts since the last flush
	second  time.Duration
	bytes   int // on the wire, in the current second
}

// Traffic is what one end sent.
type Traffic struct {
	Messages uint64 `json:"messages"`
	Payload  uint64 `json:"payload_bytes"` // of messages of the session and of the strategy
	Packets  uint64 `json:"packets"`
	Wire     uint64 `json:"wire_bytes"`        // estimated: with all headers and acknowledgements
	MostWire int    `json:"most_wire_bytes_s"` // within one second
}

// Sizes of headers, in bytes: see net/wire/STANDARD.md and netcode's.
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

// acknowledge counts the acknowledgement of a message from the other end. Datagrams have none.
func (m *meter) acknowledge(ch systems.Channel, n int) {
	if ch == systems.Reliable {
		m.body += (n + segmentRoom) / segmentRoom * segmentHead
	}
}

// flush sends the queued parts.
func (m *meter) flush(now time.Duration) {
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

// begin resets the counts.
func (m *meter) begin() { m.traffic, m.bytes = Traffic{}, 0 }

func (t *Traffic) add(o Traffic) {
	t.Messages, t.Payload, t.Packets, t.Wire = t.Messages+o.Messages, t.Payload+o.Payload, t.Packets+o.Packets, t.Wire+o.Wire
	t.MostWire = max(t.MostWire, o.MostWire)
}

// kilobits are the kilobits of a byte.
const kilobits = 8.0 / 1000

// rates returns the means of n ends over d.
func (t *Traffic) rates(d time.Duration, n float64) Rates {
	seconds := d.Seconds() * n
	return Rates{Payload: float64(t.Payload) * kilobits / seconds, Wire: float64(t.Wire) * kilobits / seconds,
		Most: float64(t.MostWire) * kilobits, Packets: float64(t.Packets) / seconds}
}
