package reckon

import (
	"math"

	"tendon/ecs"
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
	c.near = max(c.near, stamp)
	if c.exchange != nil {
		c.exchange.Check(stamp.Time(), now)
	}
}

func (c *remoteClock) send(buffer *[]byte, to systems.Peer, now systems.Time, out systems.Outbox) {
	if c.exchange == nil {
		return
	}
	for *buffer = c.exchange.Append((*buffer)[:0], now); len(*buffer) > 0; *buffer = c.exchange.Append((*buffer)[:0], now) {
		out.Send(to, systems.Datagram, *buffer)
	}
}

func (c *remoteClock) receive(m systems.Message) error {
	if c.exchange == nil {
		return ErrMessage
	}
	return c.exchange.Receive(m.Body, m.Now)
}

// numbering gives the ticks that a client computes their numbers on the server. The pacer counts the ticks at the pace
// of the local clock. The number of a tick is its count plus shift: the server's tick in which its input is to be used.
// The lead control changes shift, in whole ticks, and never the pace. So a number may be skipped, or given twice.
type numbering struct {
	pacer clock.Pacer
	lead  clock.Lead
	done  ecs.Tick // ticks computed
	shift int      // number − count
	want  float64  // shift by the lead control, unrounded
	at    float64  // position of the pacer in the last advance
}

// hysteresis is the difference between want and shift at which shift follows, in ticks.
const hysteresis = 0.75

func (n *numbering) begin(now systems.Time, next, rate int) {
	*n = numbering{pacer: clock.NewPacer(now, 0, rate), shift: next, want: float64(next)}
}

// advance moves the pacer to now and returns how many ticks are due.
func (n *numbering) advance(now systems.Time) (due int) {
	n.pacer.Advance(now)
	due = n.pacer.Steps(n.done)
	passed := max(n.pacer.Position()-n.at, 0)
	n.at = n.pacer.Position()
	pace, jump := n.lead.Control(float64(n.shift))
	n.want += (pace-1)*passed + jump
	if math.Abs(n.want-float64(n.shift)) >= hysteresis {
		n.shift = int(math.Round(n.want))
		n.want = float64(n.shift)
	}
	return due
}

func (n *numbering) upcoming() int { return int(n.done) + 1 + n.shift }

// next counts a tick. It returns the tick's number, and when it was due on the local clock; now is the frame's time.
func (n *numbering) next(now systems.Time, rate int) (number int, due systems.Time) {
	n.done++
	late := n.pacer.Position() - float64(n.done)
	return int(n.done) + n.shift, now - systems.Time(late*float64(systems.Second)/float64(rate))
}

// jump sets the number of the next tick, and drops what the lead control has measured.
func (n *numbering) jump(to ecs.Tick) {
	n.shift = int(to) - int(n.done) - 1
	n.want = float64(n.shift)
	n.lead.Forget()
}
