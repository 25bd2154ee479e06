package lab

import (
	"time"

	"tendon/net/simnet"
)

// meter counts what one end of a connection sends.
type meter struct {
	payload  uint64 // bytes of messages of the session and of the strategy
	packets  uint64
	wire     uint64 // bytes, with all headers
	mostWire uint64 // within one second

	last   simnet.Counters // of the network, at the last observe
	second time.Duration
	bytes  uint64 // on the wire, in the current second
}

// observe counts the packets since its last call. c are the counters of the network.
func (m *meter) observe(now time.Duration, c simnet.Counters) {
	if second := now / time.Second; second != m.second {
		m.second, m.bytes = second, 0
	}
	sent := c.Bytes - m.last.Bytes
	m.packets += c.Packets - m.last.Packets
	m.wire += sent
	m.bytes += sent
	m.mostWire = max(m.mostWire, m.bytes)
	m.last = c
}

// begin resets the counts.
func (m *meter) begin() { *m = meter{second: m.second, last: m.last} }

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
