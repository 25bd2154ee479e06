package reckon

import (
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/motion"
)

// serverClock is what a client knows of the server's clock.
type serverClock struct {
	probe *clock.Prober // nil: clocks are not exchanged
	near  motion.Stamp  // newest of the server's stamps, where clocks are not exchanged
}

// begin starts a new exchange: the server may be another process. assumed says that clocks are not exchanged.
func (s *serverClock) begin(assumed bool) {
	*s = serverClock{}
	if !assumed {
		s.probe, _ = clock.NewProber(clock.Config{}) // a zero Config is valid
	}
}

// known reports whether the server's clock is known as far as it is needed.
func (s *serverClock) known() bool { return s.probe == nil || s.probe.Known() }

// at returns the server's time at now, and a stamp near it by which stamps on the wire are expanded. known is false, and
// the time 0, until the clock exchange has an estimate.
func (s *serverClock) at(now systems.Time) (server systems.Time, near motion.Stamp, known bool) {
	if s.probe == nil {
		return 0, s.near, false
	}
	if server, known = s.probe.ToRemote(now); known {
		return server, motion.StampOf(server), true
	}
	return server, s.near, false
}

// received notes the stamp of a record from the server. usable is false while a stamp may be mistaken for one of 41 s
// before.
func (s *serverClock) received(stamp motion.Stamp, known bool, now systems.Time) (usable bool) {
	switch {
	case s.probe == nil:
		s.near = max(s.near, stamp)
	case !known:
		return false
	default:
		s.probe.Check(stamp.Time(), now)
	}
	return true
}

// rtt returns the round trip by the clock exchange, or otherwise.
func (s *serverClock) rtt(otherwise systems.Time) systems.Time {
	if s.probe != nil && s.probe.Known() {
		return s.probe.LastRTT()
	}
	return otherwise
}

// send sends the messages of the exchange that are due.
func (s *serverClock) send(buffer *[]byte, now systems.Time, out systems.Outbox) {
	if s.probe == nil {
		return
	}
	for {
		*buffer = s.probe.Append((*buffer)[:0], now)
		if len(*buffer) == 0 {
			return
		}
		out.Send(0, systems.Datagram, *buffer)
	}
}

// receive accepts a message of the exchange.
func (s *serverClock) receive(m systems.Message) error {
	if s.probe == nil {
		return ErrMessage
	}
	return s.probe.Receive(m.Body, m.Now)
}

// stats returns the counters of the exchange.
func (s *serverClock) stats() (stats clock.Stats) {
	if s.probe != nil {
		stats = s.probe.Stats()
	}
	return stats
}
