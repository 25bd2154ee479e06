package lockstep

import (
	"tendon/systems"
	"tendon/systems/clock"
)

// grid is when frames are due on a client: one a tick from its begin, faster or slower by pace. A stall skips whole ticks
// of it, so the grid does not shift.
type grid struct {
	rate   float64      // ticks per nanosecond
	last   systems.Time // of the last Frame
	anchor systems.Time // when the last new frames came
	owed   float64      // ticks that are due, and the part of the next that has passed
	pace   float64
	frames clock.Frames
}

// almost is the tolerance for times rounded to nanoseconds, in ticks.
const almost = 1e-6

func newGrid(now systems.Time, ticksPerSecond int) grid {
	return grid{rate: float64(ticksPerSecond) / float64(systems.Second), last: now, anchor: now, pace: 1}
}

// begin makes the first tick due at the anchor.
func (g *grid) begin(now systems.Time) {
	g.owed = 1 + g.ticks(now-g.anchor)
	g.last = now
}

// idle moves to now without a tick that is due.
func (g *grid) idle(now systems.Time) { g.last, g.owed, g.pace = now, 0, 1 }

// advance moves to now. Time beyond clock.MaxFrame was a pause, whose frames are in hand.
func (g *grid) advance(now systems.Time, pace float64) {
	elapsed := g.ticks(now - g.last)
	g.frames.Add(elapsed)
	g.owed += elapsed * pace
	g.last, g.pace = now, pace
}

// pending returns the number of ticks due at now, about.
func (g *grid) pending(now systems.Time) int {
	return int(g.owed + g.ticks(now-g.last)*g.pace + almost)
}

func (g *grid) ticks(d systems.Time) float64 { return float64(min(max(d, 0), clock.MaxFrame)) * g.rate }

// next reports whether another tick is due in this Frame, after taken ones. It then counts as computed.
func (g *grid) next(taken int) bool {
	if g.owed+almost < 1 {
		return false
	}
	if taken == g.frames.Steps() {
		g.owed -= float64(int(g.owed))
		return false
	}
	g.owed--
	return true
}

// alpha returns the part of the tick that has passed at now.
func (g *grid) alpha(now systems.Time) float64 { return g.owed + g.ticks(now-g.last)*g.pace }
