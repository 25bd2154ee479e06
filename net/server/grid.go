package server

import (
	"time"

	"tendon/systems"
)

// grid divides each tick of a worker into steps: step n is due at n/(rate·phases) seconds, and the rooms of phase
// n mod phases are computed in it. So the rooms take turns within a tick, and the worker wakes a few hundred times a
// second, however many rooms it has.
type grid struct {
	rate, phases int64
}

const stepTime = 4 * time.Millisecond // about the length of a step

func newGrid(rate int) grid {
	return grid{rate: int64(rate), phases: int64(max(1, int(time.Second/stepTime)/rate))}
}

func (g grid) due(step int64) systems.Time {
	per := g.rate * g.phases
	return systems.Time(step/per)*systems.Second + systems.Time(step%per)*systems.Second/systems.Time(per)
}

// last returns the last step that is due at a moment.
func (g grid) last(at systems.Time) int64 {
	per := g.rate * g.phases
	n := int64(at/systems.Second)*per + int64(at%systems.Second)*per/int64(systems.Second)
	for g.due(n+1) <= at { // both divisions round down
		n++
	}
	return n
}

func (g grid) phase(step int64) int { return int((step%g.phases + g.phases) % g.phases) }
