package client

import (
	"cmp"

	"tendon/ecs"
	"tendon/net/link"
	"tendon/net/session"
	"tendon/systems"
)

// Stats is what a client counted since it was made.
type Stats struct {
	State      State
	Waiting    bool         // the client is live, and nothing has arrived for half a second: it waits for the server
	Answered   bool         // there is a connection, and a message of the server has arrived on it
	Away       systems.Time // how long the client has not been live, since it was made or since it lost the match
	RTT        systems.Time // measured by the session, 0 before the first measurement
	Reconnects uint64       // connections after the first
	Resyncs    uint64       // states loaded from the server while playing, because another was lost or differed
	Switches   uint64       // changes of the strategy in the running match
	Proven     ecs.Tick     // newest final tick that a server which lost it would accept from this client; 0: none
	Session    session.Stats
	Strategy   systems.ClientStats
	Link       link.Stats // of the present connection; zero in those of a Core
}

// ShownAway is the value of Stats.Away from which a lost connection is shown to the player. A room that moves to another server is away
// for less.
const ShownAway = systems.Second / 2

// Unanswered reports whether the client has connected for a time, for the first time, and no server has answered. A server that
// has answered may wait for other players.
func (s *Stats) Unanswered(limit systems.Time) bool {
	return s.State == Connecting && !s.Answered && s.Away >= limit
}

// AwaitsMatch reports whether the client is connected to a server and not in the match: the server may wait for other players.
func (s *Stats) AwaitsMatch() bool {
	return (s.State == Connecting || s.State == Reconnecting) && s.Answered
}

// Stats returns the counters of the client.
func (c *Core) Stats() Stats {
	s := c.stats
	s.State, s.Proven, s.Away = c.state, c.tail.Proven(), c.retries.now-c.retries.since
	if c.session != nil {
		s.Answered = c.session.Stats().MessagesReceived > 0
		s.Session = added(s.Session, c.session.Stats())
		s.RTT = s.Session.RTT
	}
	if c.strategy != nil {
		s.Strategy = continued(c.stats.Strategy, c.strategy.Stats())
	}
	return s
}

// continued returns the counters of a half that took the place of another with the counters a. The other fields are those
// of b.
func continued(a, b systems.ClientStats) systems.ClientStats {
	b.Rollbacks += a.Rollbacks
	b.Resimulated += a.Resimulated
	b.Deepest = max(a.Deepest, b.Deepest)
	b.Corrections += a.Corrections
	b.Stalls += a.Stalls
	b.Episodes += a.Episodes
	b.Snaps += a.Snaps
	b.Substituted += a.Substituted
	b.Rejected += a.Rejected
	b.Hashes += a.Hashes
	b.EventsPredicted += a.EventsPredicted
	b.EventsCancelled += a.EventsCancelled
	return b
}

// added returns the sums of the counters of two sessions. The other fields are those of b. The round trip is that of a if b has
// measured none.
func added(a, b session.Stats) session.Stats {
	b.MessagesSent += a.MessagesSent
	b.BytesSent += a.BytesSent
	b.MessagesReceived += a.MessagesReceived
	b.BytesReceived += a.BytesReceived
	b.Malformed += a.Malformed
	b.Stale += a.Stale
	b.Dropped += a.Dropped
	b.RTT = cmp.Or(b.RTT, a.RTT)
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
