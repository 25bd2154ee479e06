package reckon

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
)

// Silence is for how long nothing was heard of an entity.
type Silence systems.Time

const (
	fadeAfter  = Silence(3 * systems.Second)  // then a ghost is brought to a stop
	fadeFor    = Silence(systems.Second / 2)  // in which
	lostAfter  = Silence(12 * systems.Second) // then it is marked (DIS: 12 s)
	oldAge     = 3 * systems.Second           // a record that is older when it arrives tells only a place
	believeFor = systems.Second               // how much of its age a record's velocity is believed for when it arrives
)

// Presence says what a silence means.
type Presence uint8

// The presences.
const (
	Present Presence = iota // heard of within 3 s
	Fading                  // not heard of for 3 s: it comes to a stop
	Lost                    // not heard of for 12 s: to be marked, or removed
)

// Presence returns what the silence means.
func (s Silence) Presence() Presence {
	switch {
	case s > lostAfter:
		return Lost
	case s > fadeAfter:
		return Fading
	}
	return Present
}

// fade returns how much of the silence is not to be predicted, and the share of its velocity that an entity keeps. It
// slows down evenly from 3 s on, for half a second: its own time does, so that it brakes on whatever course it has.
func (s Silence) fade() (lost systems.Time, keeps fixed.Num) {
	over := s - fadeAfter
	switch {
	case over <= 0:
		return 0, fixed.One
	case over >= fadeFor:
		return systems.Time(over - fadeFor/2), 0
	}
	return systems.Time(over * over / (2 * fadeFor)), fixed.One - fixed.FromRatio(int64(over), int64(fadeFor))
}

// Arrived returns a record as far as it is to be believed when it arrives at an age, and the age to predict it by: one
// that is older than 3 s tells a place and no velocity; of a younger one, a velocity is believed for a second and no more.
// What the record says of its own age counts.
func Arrived(r Record, age systems.Time) (Record, systems.Time) {
	if age+r.Age > oldAge {
		r.Vel, r.Speed = fixed.Vec3{}, 0
		if r.Mode == Ballistic {
			r.Mode = Ground
		}
		return r, 0
	}
	return r, min(age, believeFor)
}

// faded scales a motion's velocity.
func faded(m ecs.Motion, keeps fixed.Num) ecs.Motion {
	if keeps != fixed.One {
		m.Vel = m.Vel.Scale(keeps)
	}
	return m
}
