package predictor

import "tendon/systems"

// SendTimer decides when a client sends its periodic message: in the frame in which there is something new, and at the
// latest 1.25 ticks after the last one.
type SendTimer struct {
	Pending bool         // there is something new to send
	Least   systems.Time // shortest time between two messages; 0: no bound

	tick systems.Time // length of a tick
	last systems.Time // when the last message was sent
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

// Due reports whether a message is due.
func (t *SendTimer) Due(now systems.Time) bool {
	since := t.Since(now)
	return t.Pending && (t.Least == 0 || since >= t.Least) || since >= t.tick+t.tick/4
}

// Sent notes that a message was sent.
func (t *SendTimer) Sent(now systems.Time) { t.Pending, t.last = false, now }
