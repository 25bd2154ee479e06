package inputs

import (
	"tendon/ecs"
	"tendon/systems"
)

// Grid is when the ticks of a server are due.
type Grid struct {
	Tick  systems.Time // length of a tick
	Due   systems.Time // when the last tick was due
	Timed bool         // one was; else nothing is measured
}

// At says that a tick is due.
func (g *Grid) At(due systems.Time) { g.Due, g.Timed = due, true }

// Arrival is when a message of inputs came: Past ticks after tick Done, the last that was computed, was due.
type Arrival struct {
	Done  ecs.Tick
	Past  float64
	Timed bool // false: nothing was due yet, and nothing is measured
}

// Arrival is when a message comes that comes now, after tick done.
func (g *Grid) Arrival(done ecs.Tick, now systems.Time) Arrival {
	return Arrival{Done: done, Past: float64(now-g.Due) / float64(g.Tick), Timed: g.Timed}
}

// Receive takes inputs of count ticks from first on: put stores the i-th, of tick f, and reports whether it is new. Those
// that are too old are passed over, and those of ticks too far ahead refused; it returns how many. How early they came is
// measured also of these, by the last in the message: else a client whose clock is that wrong would never hear of it.
func (b *Buffer) Receive(first ecs.Tick, count int, at Arrival, put func(i int, f ecs.Tick) (fresh bool)) (refused int) {
	for i := range count {
		f, fresh := first+ecs.Tick(i), i == count-1
		switch {
		case f+Window/2 <= at.Done: // so old that nothing of it matters any more
		case f >= at.Done+Window/2:
			refused++
		default:
			fresh = put(i, f)
		}
		if fresh && at.Timed {
			b.Measure(f, float64(f)-float64(at.Done)-at.Past)
		}
	}
	return refused
}
