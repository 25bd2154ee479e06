package inputs

import (
	"math"

	"tendon/ecs"
)

// Window is how many ticks of a player's inputs a Buffer holds: half of them may lie ahead of the server, half behind.
const Window = 128

// Buffer holds one player's inputs on the server. Input of tick f lies in slot f % Window, which stores its tick; what
// came first stays. For each tick exactly one input is taken, the player's own or a substitute.
type Buffer struct {
	Substituted uint64 // ticks that took a substitute
	Late        uint64 // inputs that came after their tick

	slots [Window]slot
	last  ecs.InputBytes // what was used last
	merge ecs.InputBytes // late inputs whose presses go into the next tick
	late  bool           // merge holds something
	since ecs.Tick       // inputs of ticks up to it are of no use: nobody was here

	worst    Margin // the worst margin since it was last told
	hasWorst bool
	mean     float64
	measured bool // mean holds something
}

type slot struct {
	tick ecs.Tick
	set  bool
	in   ecs.InputBytes
}

// Margin is how much before its use the input of a tick arrived, in 1/MarginUnit of a tick, negative if too late.
type Margin struct {
	Tick  ecs.Tick
	Value int16
}

// MarginUnit is the resolution of margins on the wire.
const MarginUnit = 64

// Put stores the player's input of tick f, which arrived when the server had computed tick done. It reports whether
// the input was new: it tells how late the player's inputs are, even before there is a player to use them for.
func (b *Buffer) Put(f, done ecs.Tick, in ecs.InputBytes, game *ecs.Game) bool {
	s := &b.slots[f%Window]
	if s.set && s.tick >= f {
		return false
	}
	s.tick, s.set, s.in = f, true, in
	if f <= done && f > b.since {
		b.Late++
		if b.late {
			in = game.MergeLate(b.merge, in)
		}
		b.merge, b.late = in, true
	}
	return true
}

// Measure notes that the input of tick f arrived early ticks before its use.
func (b *Buffer) Measure(f ecs.Tick, early float64) {
	if !b.measured {
		b.mean, b.measured = early, true
	}
	b.mean += 0.1 * (early - b.mean)
	m := int16(min(max(math.Round(early*MarginUnit), -1<<15), 1<<15-1))
	if !b.hasWorst || m < b.worst.Value {
		b.worst, b.hasWorst = Margin{Tick: f, Value: m}, true
	}
}

// Worst returns the worst margin since the last TakeWorst; ok is false if none was measured.
func (b *Buffer) Worst() (m Margin, ok bool) { return b.worst, b.hasWorst }

// TakeWorst returns the worst margin since it was last called; ok is false if none was measured.
func (b *Buffer) TakeWorst() (m Margin, ok bool) {
	m, ok = b.worst, b.hasWorst
	b.worst, b.hasWorst = Margin{}, false
	return m, ok
}

// MeanMargin returns the smoothed margin in ticks, 0 before the first measure.
func (b *Buffer) MeanMargin() float64 { return b.mean }

// Take returns the input to use in tick f, and whether it is another than the player sent for it. What was late is
// merged in.
func (b *Buffer) Take(f ecs.Tick, game *ecs.Game) (in ecs.InputBytes, altered bool) {
	s := &b.slots[f%Window]
	if s.set && s.tick == f {
		in = s.in
	} else {
		in, altered = game.PredictInput(b.last), true
		b.Substituted++
	}
	if b.late {
		merged := game.MergeLate(b.merge, in)
		altered = altered || merged != in
		in, b.late = merged, false
	}
	b.last = in
	return in, altered
}

// Use says that the last tick used another input than Take returned, or than any that was put.
func (b *Buffer) Use(in ecs.InputBytes) { b.last = in }

// Vacant is called in every tick before which the player was not in the match: what somebody else did before does not
// go on.
func (b *Buffer) Vacant(f ecs.Tick) { b.last, b.late, b.since = ecs.InputBytes{}, false, f }

// Forget drops the inputs that wait after tick done, when another connection takes the seat: its owner may be another
// one too.
func (b *Buffer) Forget(done ecs.Tick) {
	b.since = done
	for i := range b.slots {
		b.slots[i].set = false
	}
	b.late, b.hasWorst, b.measured = false, false, false
}
