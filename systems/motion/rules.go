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
	// Parent returns the motion of an entity that others stand on, at the time that is predicted; ok is false if it is
	// not known. Optional: clients look up the shown motion.
	Parent func(e ecs.Entity) (m ecs.Motion, ok bool)
	// Path returns a position on a path and the direction there, of length 1; ok is false for an unknown path. Optional.
	Path func(path uint32, along fixed.Num) (pos, direction fixed.Vec3, ok bool)
}

// Record returns the record of an entity that moves so at a time. With gravity, an entity that rises or sinks falls.
func (u *Rules) Record(e ecs.Entity, m ecs.Motion, at systems.Time) Record {
	r := Record{Entity: e, Stamp: StampOf(at), Pos: m.Pos, Vel: m.Vel}
	if u.Gravity > 0 && m.Vel.Z != 0 {
		r.Mode = Ballistic
	}
	return r
}

// Free returns a record with the present place and velocity of an entity, whatever carries it. ok is false if the parent or
// the path is not known.
func (u *Rules) Free(r Record) (free Record, ok bool) {
	if r.Mode < Attached {
		return r, true
	}
	m, ok := u.Predict(&r, 0)
	r.Mode, r.Pos, r.Vel = Ground, m.Pos, m.Vel
	if (r.Vel != fixed.Vec3{}) {
		r.Flags &^= FlagStop
	}
	return r, ok
}

// ageLeast is the least age that a record is extrapolated over. No product from there to MaxAge overflows.
const ageLeast = -systems.Second

// Predict returns the motion of the entity at an age of its record. ok is false if that needs a parent or a path which is
// not known; the motion is then the record's. A clock error may make the age negative: it counts back to a second.
func (u *Rules) Predict(r *Record, age systems.Time) (m ecs.Motion, ok bool) {
	t := Seconds(min(max(age, ageLeast), MaxAge))
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
	t := Seconds(min(max(age, ageLeast), MaxAge))
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
