package predictor

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// Checksums sends the server the checksum of every tick that is checked and has become final here, once.
type Checksums struct {
	Kind  uint8    // of the message
	Every ecs.Tick // ticks from one check to the next

	last ecs.Tick // last tick that was considered
}

// Begin starts after tick f.
func (c *Checksums) Begin(f ecs.Tick) { c.last = f }

// Send sends the checksums of the checked ticks up to until. state returns the state of a tick; a tick whose state is
// not kept, or which is older than oldest, is skipped.
func (c *Checksums) Send(core *Core, until, oldest ecs.Tick, state func(ecs.Tick) (*image.Snapshot, bool)) {
	for next := (c.last/c.Every + 1) * c.Every; next <= until; next += c.Every {
		c.last = next
		s, ok := state(next)
		if !ok || next < oldest {
			continue
		}
		core.Buffer = code.AppendChecksum(core.Buffer[:0], c.Kind, next, s.Checksum())
		core.Out.Send(0, systems.Reliable, core.Buffer)
		core.Counted.Hashes++
	}
}

// SendTimer decides when a client sends its periodic message: when there is something new, and a quarter later than a
// tick after the last one in any case.
type SendTimer struct {
	Pending bool         // there is something new to send
	Least   systems.Time // shortest time between two messages, in nanoseconds; 0: none

	tick systems.Time // length of a tick
	last systems.Time
}

// NewSendTimer returns a timer for a game of so many ticks a second.
func NewSendTimer(ticksPerSecond int) SendTimer {
	return SendTimer{tick: systems.Second / systems.Time(ticksPerSecond)}
}

// Tick returns the length of a tick in nanoseconds.
func (t *SendTimer) Tick() systems.Time { return t.tick }

// Restart counts from now, with something to send.
func (t *SendTimer) Restart(now systems.Time) { t.Pending, t.last = true, now }

// Since returns the time since the last message.
func (t *SendTimer) Since(now systems.Time) systems.Time { return now - t.last }

// Due reports whether a message is due. It then counts as sent.
func (t *SendTimer) Due(now systems.Time) bool {
	since := t.Since(now)
	if !(t.Pending && (t.Least == 0 || since >= t.Least)) && since < t.tick+t.tick/4 {
		return false
	}
	t.Sent(now)
	return true
}

// Sent notes that a message was sent.
func (t *SendTimer) Sent(now systems.Time) { t.Pending, t.last = false, now }
