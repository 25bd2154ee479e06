package reckon

import (
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/motion"
)

// remoteClock is the estimate of the clock on the other side. It is unknown where clocks are not exchanged.
type remoteClock struct {
	exchange exchange     // nil: clocks are not exchanged
	near     motion.Stamp // newest stamp received, by which stamps are expanded until the clock is known
}

// exchange is a side of the clock exchange: a clock.Prober on a client, a clock.Answerer on the server.
type exchange interface {
	Known() bool
	ToRemote(now systems.Time) (at systems.Time, ok bool)
	LastRTT() systems.Time
	Stats() clock.Stats
	Check(stamp, now systems.Time) (wrong bool)
	Append(dst []byte, now systems.Time) []byte
	Receive(message []byte, now systems.Time) error
}

// known reports whether the clock is known as far as it is needed.
func (c *remoteClock) known() bool { return c.exchange == nil || c.exchange.Known() }

// at returns the remote time at now, and a stamp near it. known is false, and the time 0, until there is an estimate.
func (c *remoteClock) at(now systems.Time) (remote systems.Time, near motion.Stamp, known bool) {
	if c.exchange != nil {
		if remote, known = c.exchange.ToRemote(now); known {
			return remote, motion.StampOf(remote), true
		}
	}
	return remote, c.near, false
}

// received notes the stamp of a record. Before the clock is known, a stamp may be mistaken for one of 41 s before.
func (c *remoteClock) received(stamp motion.Stamp, now systems.Time) {
	if c.near = max(c.near, stamp); c.exchange != nil {
		c.exchange.Check(stamp.Time(), now)
	}
}

// send sends the messages of the exchange that are due.
func (c *remoteClock) send(buffer *[]byte, to systems.Peer, now systems.Time, out systems.Outbox) {
	if c.exchange == nil {
		return
	}
	for *buffer = c.exchange.Append((*buffer)[:0], now); len(*buffer) > 0; *buffer = c.exchange.Append((*buffer)[:0], now) {
		out.Send(to, systems.Datagram, *buffer)
	}
}

// receive accepts a message of the exchange.
func (c *remoteClock) receive(m systems.Message) error {
	if c.exchange == nil {
		return ErrMessage
	}
	return c.exchange.Receive(m.Body, m.Now)
}
