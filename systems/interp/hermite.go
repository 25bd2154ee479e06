package interp

// Hermite returns the motion a fraction t ∈ [0, 1] of the way from a to b. The path is the cubic curve with their positions
// and velocities at its ends. span is the time from a to b, in seconds, > 0.
//
// At 10 states a second straight lines show corners, and curves do not; at 60 it makes no difference (Glenn Fiedler,
// "Snapshot Interpolation", 2014).
func Hermite(a, b Motion, span, t float64) Motion {
	t2 := t * t
	t3 := t2 * t
	var m Motion
	m.Pos = a.Pos.Scale(2*t3 - 3*t2 + 1).
		Add(b.Pos.Scale(3*t2 - 2*t3)).
		Add(a.Vel.Scale((t3 - 2*t2 + t) * span)).
		Add(b.Vel.Scale((t3 - t2) * span))
	m.Vel = b.Pos.Sub(a.Pos).Scale(6 * (t - t2) / span).
		Add(a.Vel.Scale(3*t2 - 4*t + 1)).
		Add(b.Vel.Scale(3*t2 - 2*t))
	return m
}
