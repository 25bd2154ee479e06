package inputs

import (
	"tendon/ecs"
	"tendon/systems"
)

// Grid holds the times at which a server's ticks are due.
type Grid struct {
	Tick  systems.Time // length of a tick
	Due   systems.Time // when the last tick was due
	Timed bool         // Due is set; else nothing is measured
}

// At records that a tick is due.
func (g *Grid) At(due systems.Time) { g.Due, g.Timed = due, true }

// Arrival is the time of a message: Past ticks after tick Done, the last computed one, was due.
type Arrival struct {
	Done  ecs.Tick
	Past  float64
	Timed bool // Past is set; else nothing is measured
}

// Arrival returns the arrival of a message at time now, after tick done.
func (g *Grid) Arrival(done ecs.Tick, now systems.Time) Arrival {
	return Arrival{Done: done, Past: float64(now-g.Due) / float64(g.Tick), Timed: g.Timed}
}

// Receive receives the inputs of count ticks from first on. put stores input i, of tick f, and reports whether it is
// new. Inputs that are Window/2 ticks too old are ignored. Those of Window/2 or more ticks ahead are refused; Receive
// returns their number.
//
// The last input of a message is measured even if it is ignored or refused, so that a client whose clock is that wrong
// can correct it.
func (b *Buffer) Receive(first ecs.Tick, count int, at Arrival, put func(i int, f ecs.Tick) (fresh bool)) (refused int) {
	for i := range count {
		f, fresh := first+ecs.Tick(i), i == count-1
		switch {
		case f+Window/2 <= at.Done:
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
