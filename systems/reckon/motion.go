package reckon

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
)

// Rules continue a record: where is an entity some time after it? They are in fixed point, so a server and its clients
// agree to the bit.
//
// The functions are called with what comes off the wire: they must take any argument.
type Rules struct {
	// Gravity is what a falling entity gains downwards (along −Z), world units per second², [0, 1024]. Zero: none.
	Gravity fixed.Num
	// Floor returns the height of the ground at a place; nothing falls through it. Nil: nothing is below.
	Floor func(x, y fixed.Num) fixed.Num
	// Parent returns how an entity moves that others may stand on, at the time that is predicted to; ok is false if it
	// is not known. Nil: none is.
	Parent func(e ecs.Entity) (m ecs.Motion, ok bool)
	// Path returns a place on a path and the direction there, of length 1; ok is false for a path that is not known.
	// Nil: none is.
	Path func(path uint32, along fixed.Num) (pos, direction fixed.Vec3, ok bool)
}

// Bounds of the age that a record is continued by; no product in between overflows.
const (
	ageLeast = -systems.Second
	ageLimit = 60 * systems.Second
)

// Predict returns how the entity moves at age after what the record says. ok is false if that needs a parent or a path
// which is not known: then Pos and Vel of the record are all there is.
//
// A negative age, as a clock's error makes it, looks back by at most a second.
func (u *Rules) Predict(r *Record, age systems.Time) (m ecs.Motion, ok bool) {
	t := seconds(min(max(age, ageLeast), ageLimit))
	m = ecs.Motion{Pos: r.Pos.Add(r.Vel.Scale(t)), Vel: r.Vel}
	switch r.Mode {
	case Ballistic:
		u.fall(&m, t)
	case Attached:
		if u.Parent == nil {
			return ecs.Motion{Pos: r.Pos, Vel: r.Vel}, false
		}
		parent, ok := u.Parent(r.Parent)
		if !ok {
			return ecs.Motion{Pos: r.Pos, Vel: r.Vel}, false
		}
		return ecs.Motion{Pos: m.Pos.Add(parent.Pos), Vel: m.Vel.Add(parent.Vel)}, true
	case Scripted:
		if u.Path == nil {
			return ecs.Motion{}, false
		}
		pos, direction, ok := u.Path(r.Path, r.Along+r.Speed.Mul(t))
		return ecs.Motion{Pos: pos, Vel: direction.Scale(r.Speed)}, ok
	}
	return m, true
}

// fall adds what gravity does to a motion that went on straight for t seconds, and the ground.
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

// Forward returns the record as it stands age later, stamped with now, which is the time then on whatever clock it is to
// be sent by. It is what a server does with a client's record: the receivers go on from there, which for motion in a
// straight line is the same as going on from the original. What the record said is older by age then.
func (u *Rules) Forward(r Record, age systems.Time, now Stamp) Record {
	t := seconds(min(max(age, ageLeast), ageLimit))
	switch r.Mode {
	case Ground, Ballistic:
		m, _ := u.Predict(&r, age)
		r.Pos, r.Vel = m.Pos, m.Vel
	case Attached:
		r.Pos = r.Pos.Add(r.Vel.Scale(t))
	case Scripted:
		r.Along += r.Speed.Mul(t)
	}
	r.Stamp, r.Age = now, r.Age+max(age, 0)
	return r
}
