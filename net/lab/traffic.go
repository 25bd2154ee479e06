package lab

import (
	"time"

	"tendon/systems"
)

// meter counts what one end of a connection sends, and estimates its size on the wire. Messages that are queued between
// two flushes leave in one packet, as in net/link. Retransmissions are not counted.
type meter struct {
	payload  uint64 // bytes of messages of the session and of the strategy
	packets  uint64
	wire     uint64 // bytes, estimated: with all headers and acknowledgements
	mostWire int    // within one second

	body   int // bytes of parts since the last flush
	second time.Duration
	bytes  int // on the wire, in the current second
}

// Sizes of headers, in bytes: see net/wire/STANDARD.md and netcode's.
const (
	packetHead    = 28 + 19 + 2 // IPv4 and UDP; netcode's prefix, sequence and tag; the envelope's number
	partHead      = 3           // of a part of the envelope
	segmentHead   = 24          // of KCP, also of an acknowledgement
	streamHead    = 2           // a message's length in KCP's stream
	segmentRoom   = 1128
	packetPayload = 1198
)

func (m *meter) send(ch systems.Channel, n int) {
	m.payload += uint64(n)
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
	m.packets += uint64(packets)
	m.wire += uint64(wire)
	m.bytes += wire
	m.mostWire = max(m.mostWire, m.bytes)
}

// begin resets the counts.
func (m *meter) begin() { *m = meter{body: m.body, second: m.second} }

func (m *meter) add(o *meter) {
	m.payload, m.packets, m.wire = m.payload+o.payload, m.packets+o.packets, m.wire+o.wire
	m.mostWire = max(m.mostWire, o.mostWire)
}

const kilobits = 8.0 / 1000 // the kilobits of a byte

// rates returns the means of ends that were open for this time together.
func (m *meter) rates(seconds float64) Rates {
	return Rates{Payload: float64(m.payload) * kilobits / seconds, Wire: float64(m.wire) * kilobits / seconds,
		Most: float64(m.mostWire) * kilobits, Packets: float64(m.packets) / seconds}
}
