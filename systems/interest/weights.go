package interest

import "tendon/ecs/fixed"

// Weights make a priority of what is known of an entity, for games that do not count for themselves. A priority is how
// fast an entity's claim grows: one of 4 is sent four times as often as one of 1 when bytes are short. Halo: Reach spent
// 80 % of its bandwidth on state; such weights were its main means to spend them well.
type Weights struct {
	// Base is everyone's. Zero counts as 1.
	Base fixed.Num
	// Near is added in full at distance 0, falling to nothing at Facts.Radius. Zero: distance does not matter.
	Near fixed.Num
	// Fired is added in full to what has just fired, falling to nothing within FiredFor ticks. Zero: it does not matter.
	Fired    fixed.Num
	FiredFor int
	// Own is added to what the client owns: its entities, grenades, shots. Zero: it does not matter.
	Own fixed.Num
	// Team is added to what is of the client's team. Zero: it does not matter.
	Team fixed.Num
}

// Facts are what Weights weigh.
type Facts struct {
	Distance   fixed.Num // world units, from Sets.Distance
	Radius     fixed.Num // where Near has fallen to nothing; 0: Near does not count
	FiredSince int       // ticks since it fired; negative: it never did
	Own, Team  bool
}

// Priority returns the sum of the weights that apply.
func (w Weights) Priority(f Facts) fixed.Num {
	p := w.Base
	if p == 0 {
		p = fixed.One
	}
	if f.Distance < f.Radius {
		p += w.Near.Mul((f.Radius - f.Distance).Div(f.Radius))
	}
	if f.FiredSince >= 0 && f.FiredSince < w.FiredFor {
		p += w.Fired.Mul(fixed.FromRatio(int64(w.FiredFor-f.FiredSince), int64(w.FiredFor)))
	}
	if f.Own {
		p += w.Own
	}
	if f.Team {
		p += w.Team
	}
	return p
}
