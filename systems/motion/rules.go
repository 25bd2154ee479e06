package motion

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
)

// Rules extrapolate a record. They are in fixed point, so that the server and its clients agree bit by bit.
//
// The functions must accept any argument: some come off the wire.
type Rules struct {
	// Gravity is the downward acceleration (along −Z) of a falling entity, in world units per second², [0, 1024].
	Gravity fixed.Num
	// Floor returns the height of the ground at a place. Nothing falls through it. Optional.
	Floor func(x, y fixed.Num) fixed.Num
}

// Record returns the record of an entity that moves so at a time. With gravity, an entity that rises or sinks falls.
func (u *Rules) Record(e ecs.Entity, m ecs.Motion, at systems.Time) Record {
	r := Record{Entity: e, Stamp: StampOf(at), Pos: m.Pos, Vel: m.Vel}
	if u.Gravity > 0 && m.Vel.Z != 0 {
		r.Mode = Ballistic
	}
	return r
}

// ageLeast is the least age that a record is extrapolated over. No product from there to MaxAge overflows.
const ageLeast = -systems.Second

// Predict returns the motion of the entity at an age of its record. ok is false for modes that have no rule. A clock error
// may make the age negative: it counts back to a second.
func (u *Rules) Predict(r *Record, age systems.Time) (m ecs.Motion, ok bool) {
	t := Seconds(min(max(age, ageLeast), MaxAge))
	m = ecs.Motion{Pos: r.Pos.Add(r.Vel.Scale(t)), Vel: r.Vel}
	if r.Mode == Ballistic {
		u.fall(&m, t)
	}
	return m, r.Mode <= Ballistic
}

// fall adds gravity and the ground to a motion that went on straight for t seconds.
func (u *Rules) fall(m *ecs.Motion, t fixed.Num) {
	m.Pos.Z -= u.Gravity.Mul(t).Mul(t) / 2
	m.Vel.Z -= u.Gravity.Mul(t)
	if u.Floor == nil {
		return
	}
	if floor := u.Floor(m.Pos.X, m.Pos.Y); m.Pos.Z <= floor && m.Vel.Z < 0 {
		m.Pos.Z, m.Vel.Z = floor, 0
	}
}

// Forward returns the record extrapolated over an age, stamped with now on the clock of the next sender. The server does
// that with a client's record. For motion in a straight line, extrapolating further gives the same as the original. The
// record's own Age grows by age.
func (u *Rules) Forward(r Record, age systems.Time, now Stamp) Record {
	m, _ := u.Predict(&r, age)
	r.Pos, r.Vel = m.Pos, m.Vel
	r.Stamp, r.Age = now, r.Age+max(age, 0)
	return r
}
