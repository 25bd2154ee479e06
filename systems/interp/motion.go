package interp

// hermite returns the motion a fraction t ∈ [0, 1] of the way from a to b. The path is the cubic curve with their positions
// and velocities at its ends. span is the time from a to b, in seconds, > 0.
//
// At 10 states a second straight lines show corners, and curves do not; at 60 it makes no difference (Glenn Fiedler,
// "Snapshot Interpolation", 2014).
func hermite(a, b Motion, span, t float64) (m Motion) {
	t2 := t * t
	t3 := t2 * t
	m.Pos = a.Pos.Scale(2*t3 - 3*t2 + 1).
		Add(b.Pos.Scale(3*t2 - 2*t3)).
		Add(a.Vel.Scale((t3 - 2*t2 + t) * span)).
		Add(b.Vel.Scale((t3 - t2) * span))
	m.Vel = b.Pos.Sub(a.Pos).Scale(6 * (t - t2) / span).
		Add(a.Vel.Scale(3*t2 - 4*t + 1)).
		Add(b.Vel.Scale(3*t2 - 2*t))
	return m
}

// Extrapolate returns the motion a time after m, in seconds ≥ 0. After most seconds the entity stands still. floor returns
// the height of the ground below a position, where falling ends. Optional.
func Extrapolate(m Motion, seconds, most float64, floor func(Vec) float64) Motion {
	t := min(seconds, most)
	after := Motion{Pos: m.Pos.Add(m.Vel.Scale(t)).Add(m.Acc.Scale(t * t / 2)), Vel: m.Vel.Add(m.Acc.Scale(t)), Acc: m.Acc}
	if floor != nil {
		// An entity that is below the ground already, in a pit without a floor, is not lifted.
		if ground := min(floor(after.Pos), m.Pos.Z); after.Pos.Z < ground {
			after.Pos.Z, after.Vel.Z, after.Acc.Z = ground, 0, 0
		}
	}
	if seconds > most {
		after.Vel, after.Acc = Vec{}, Vec{}
	}
	return after
}

// projective leads the shown motion onto a new course without a jump (projective velocity blending: Curtiss Murphy,
// "Believable Dead Reckoning for Networked Games", Game Engine Gems 2, 2011).
type projective struct {
	from, to Motion
	span     float64 // seconds
}

// The bounds of the span of a projective, in seconds.
const (
	minBlend = 0.1
	maxBlend = 1.0
)

// newProjective starts a blend from the shown motion to the motion of a new state. interval is the measured time between
// states, in seconds, and the span of the blend.
func newProjective(shown, to Motion, interval float64) projective {
	return projective{shown, to, min(max(interval, minBlend), maxBlend)}
}

// after returns the motion to show a time after the start, in seconds ≥ 0. Its velocity is the blended one, which a following
// blend starts with. After the blend it is the course of the new state.
func (p projective) after(seconds float64) Motion {
	u := min(seconds/p.span, 1)
	vel := p.from.Vel.Lerp(p.to.Vel, u)
	bend := p.to.Acc.Scale(seconds * seconds / 2)
	a := p.from.Pos.Add(vel.Scale(seconds)).Add(bend)
	b := p.to.Pos.Add(p.to.Vel.Scale(seconds)).Add(bend)
	return Motion{Pos: a.Lerp(b, u), Vel: vel.Add(p.to.Acc.Scale(seconds)), Acc: p.to.Acc}
}
