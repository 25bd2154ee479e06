package interp

// Projective leads what is shown onto a new course without a jump (projective velocity blending: Curtiss Murphy,
// "Believable Dead Reckoning for Networked Games", Game Engine Gems 2, 2011). It is for long gaps and for vehicles,
// where an Offset would slide sideways.
type Projective struct {
	from, to Motion
	span     float64 // seconds
}

// The bounds of a blend, in seconds.
const (
	minBlend = 0.1
	maxBlend = 1.0
)

// NewProjective starts a blend from the shown motion to the motion of a new state, to, as of now. interval is the
// measured time between states, in seconds; the blend takes as long, but at least 0.1 s and at most 1 s.
func NewProjective(shown, to Motion, interval float64) Projective {
	return Projective{shown, to, min(max(interval, minBlend), maxBlend)}
}

// After returns what to show a time after the start, in seconds ≥ 0. Its velocity is the blended one, which a following
// blend starts with. When the blend is over, it is the course of the new state.
func (p Projective) After(seconds float64) Motion {
	u := 1.0
	if seconds < p.span {
		u = seconds / p.span
	}
	vel := p.from.Vel.Lerp(p.to.Vel, u)
	bend := p.to.Acc.Scale(seconds * seconds / 2)
	a := p.from.Pos.Add(vel.Scale(seconds)).Add(bend)
	b := p.to.Pos.Add(p.to.Vel.Scale(seconds)).Add(bend)
	return Motion{Pos: a.Lerp(b, u), Vel: vel.Add(p.to.Acc.Scale(seconds)), Acc: p.to.Acc}
}

// Done reports whether the blend is over a time after the start, in seconds.
func (p Projective) Done(seconds float64) bool { return seconds >= p.span }
