package lockstep

import (
	"tendon/systems"
	"tendon/systems/clock"
)

// grid says when frames are due on a client: one a tick from where it began, faster or slower by pace. A stall passes
// over whole ticks of it, so it stays where it is.
type grid struct {
	rate   float64      // ticks per nanosecond
	last   systems.Time // of the last Frame
	anchor systems.Time // when the last new frames came
	owed   float64      // ticks that are due, and the part of the next that has gone by
	pace   float64
	frames clock.Frames
}

// almost makes up for times that are rounded to nanoseconds, in ticks.
const almost = 1e-6

func newGrid(now systems.Time, ticksPerSecond int) grid {
	return grid{rate: float64(ticksPerSecond) / float64(systems.Second), last: now, anchor: now, pace: 1}
}

// begin lets the first tick be due at the anchor.
func (g *grid) begin(now systems.Time) {
	g.owed = 1 + g.ticks(now-g.anchor)
	g.last = now
}

// idle lets time go by in which nothing is due.
func (g *grid) idle(now systems.Time) { g.last, g.owed, g.pace = now, 0, 1 }

// advance lets time go by. What is beyond clock.MaxFrame was a pause: the frames of that time are in hand then.
func (g *grid) advance(now systems.Time, pace float64) {
	elapsed := g.ticks(now - g.last)
	g.frames.Add(elapsed)
	g.owed += elapsed * pace
	g.last, g.pace = now, pace
}

// pending returns how many ticks are due at now, about.
func (g *grid) pending(now systems.Time) int {
	return int(g.owed + g.ticks(now-g.last)*g.pace + almost)
}

func (g *grid) ticks(d systems.Time) float64 { return float64(min(max(d, 0), clock.MaxFrame)) * g.rate }

// take takes a tick that is due, after so many in this Frame.
func (g *grid) take(taken int) bool {
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

// alpha returns the part of the tick that has gone by at now.
func (g *grid) alpha(now systems.Time) float64 { return g.owed + g.ticks(now-g.last)*g.pace }
