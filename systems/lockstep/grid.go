package lockstep

import (
	"tendon/systems"
	"tendon/systems/clock"
)

// grid is when frames are due on a client: one a tick from its begin, faster or slower by the pace. A stall skips whole
// ticks of it, so the grid does not shift.
type grid struct {
	clock.Pacer
	taken  float64      // ticks that were due before
	anchor systems.Time // when the last new frames came
}

// almost is the tolerance for times rounded to nanoseconds, in ticks.
const almost = 1e-6

// stop moves to now without a tick that is due.
func (g *grid) stop(now systems.Time, ticksPerSecond int) {
	g.Pacer, g.taken = clock.NewPacer(now, 0, ticksPerSecond), 0
}

// begin makes the first tick due at the anchor.
func (g *grid) begin(now systems.Time, ticksPerSecond int) {
	first := clock.NewPacer(g.anchor, 1, ticksPerSecond)
	g.Pacer, g.taken = clock.NewPacer(now, first.At(now), ticksPerSecond), 0
}

// owed returns the ticks that are due at now, and the part of the next that has passed.
func (g *grid) owed(now systems.Time) float64 { return g.At(now) - g.taken }

// pending returns the number of ticks due at now, about.
func (g *grid) pending(now systems.Time) int { return int(g.owed(now) + almost) }

// next reports whether another tick is due in this Frame, after steps ones. It then counts as taken.
func (g *grid) next(steps int) bool {
	owed := g.Position() - g.taken
	if owed+almost < 1 {
		return false
	}
	if steps == g.Most() {
		g.taken += float64(int(owed))
		return false
	}
	g.taken++
	return true
}
