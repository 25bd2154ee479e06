package reckon

import (
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/motion"
)

// The kinds of a client's messages in the clock exchange.
const (
	clockProbe = clock.KindPing
	clockAck   = clock.KindPongAck
)

// clientClock is what the server knows of a client's clock.
type clientClock struct {
	answerer *clock.Answerer // nil: clocks are not exchanged
	near     motion.Stamp    // newest of the client's stamps, where clocks are not exchanged
}

// newClientClock returns the clock of a new peer. assumed says that clocks are not exchanged.
func newClientClock(assumed bool) (c clientClock) {
	if !assumed {
		c.answerer, _ = clock.NewAnswerer(clock.Config{}) // a zero Config is valid
	}
	return c
}

// remote returns the client's time at now. known is false until the exchange has an estimate.
func (c *clientClock) remote(now systems.Time) (at systems.Time, known bool) {
	if c.answerer == nil {
		return 0, false
	}
	return c.answerer.ToRemote(now)
}

// received notes the stamp of a record from the client.
func (c *clientClock) received(stamp motion.Stamp, now systems.Time) {
	c.near = max(c.near, stamp)
	if c.answerer != nil {
		c.answerer.Check(stamp.Time(), now)
	}
}

// receiveClock accepts a message of the clock exchange.
func (s *Server) receiveClock(m systems.Message) error {
	p := &s.Peers[m.From]
	if p.Own.clock.answerer == nil {
		return ErrMessage
	}
	if !s.AllowMessage(p) {
		return nil
	}
	return p.Own.clock.answerer.Receive(m.Body, m.Now)
}

// sendClock sends the messages of the clock exchange that are due.
func (s *Server) sendClock(p *peer) {
	if p.Own.clock.answerer == nil {
		return
	}
	for {
		s.Sending.Message = p.Own.clock.answerer.Append(s.Sending.Message[:0], s.Sending.Now)
		if len(s.Sending.Message) == 0 {
			return
		}
		s.Sending.Out.Send(p.ID, systems.Datagram, s.Sending.Message)
	}
}
