package interp

import "tendon/systems"

// Extrapolation continues the motion of an entity whose samples are late: for a limited time as it moved, and then not at
// all.
type Extrapolation struct {
	// Cap is for how long it goes on, in nanoseconds. Zero: 250 ms, as the Source engine has it.
	Cap systems.Time
	// Floor returns the height of the ground below a position: falling ends there. nil: there is no ground.
	Floor func(Vec) float64
}

// After returns the motion a time after m, in seconds ≥ 0, and whether it is held at the cap.
func (x Extrapolation) After(m Motion, seconds float64) (after Motion, held bool) {
	limit := float64(systems.Second/4) / float64(systems.Second)
	if x.Cap > 0 {
		limit = float64(x.Cap) / float64(systems.Second)
	}
	if held = seconds > limit; held {
		seconds = limit
	}
	after = m
	after.Pos = m.Pos.Add(m.Vel.Scale(seconds)).Add(m.Acc.Scale(seconds * seconds / 2))
	after.Vel = m.Vel.Add(m.Acc.Scale(seconds))
	if x.Floor != nil {
		// An entity that is below the ground already, in a pit without a Floor, is not lifted.
		if ground := min(x.Floor(after.Pos), m.Pos.Z); after.Pos.Z < ground {
			after.Pos.Z, after.Vel.Z, after.Acc.Z = ground, 0, 0
		}
	}
	if held {
		after.Vel, after.Acc = Vec{}, Vec{}
	}
	return after, held
}
