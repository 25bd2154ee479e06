package client

import (
	"tendon/net/session"
	"tendon/systems"
)

// Stats is what a client counted since it was made.
type Stats struct {
	State      State
	Waiting    bool         // the client is live, and no message has arrived for a second
	RTT        systems.Time // measured by the session, 0 before the first measurement
	Reconnects uint64       // connections after the first
	Resyncs    uint64       // states loaded from the server while playing
	Session    session.Stats
	Strategy   systems.ClientStats
}

// Stats returns the counters of the client.
func (c *Core) Stats() Stats {
	s := c.stats
	s.State = c.state
	if c.session != nil {
		s.Session = added(s.Session, c.session.Stats())
		s.RTT = s.Session.RTT
		s.Waiting = c.state == Live && s.Session.Silence >= systems.Second
	}
	if c.strategy != nil {
		s.Strategy = c.strategy.Stats()
	}
	return s
}

// added returns the sums of the counters of two sessions. The other fields are those of b.
func added(a, b session.Stats) session.Stats {
	b.MessagesSent += a.MessagesSent
	b.BytesSent += a.BytesSent
	b.MessagesReceived += a.MessagesReceived
	b.BytesReceived += a.BytesReceived
	b.Malformed += a.Malformed
	b.Stale += a.Stale
	b.Dropped += a.Dropped
	return b
}

// Progress returns the progress of the present state, in [0, 1]. For Loading it is the share of the image that has arrived,
// for CatchingUp the share of the missing ticks that are computed.
func (c *Core) Progress() float64 {
	switch {
	case c.state == Loading && c.session != nil:
		return c.session.Progress()
	case c.state == CatchingUp && c.backlog > 0:
		return 1 - float64(min(c.strategy.Stats().Behind, c.backlog))/float64(c.backlog)
	case c.state == Live:
		return 1
	}
	return 0
}
