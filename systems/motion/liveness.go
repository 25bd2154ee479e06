package motion

import (
	"tendon/ecs/fixed"
	"tendon/systems"
)

const (
	fadeAfter   = 3 * systems.Second  // without a record, after which an entity slows down
	fadeFor     = systems.Second / 2  // until it stands
	lostAfter   = 12 * systems.Second // without a record, after which an entity is lost (DIS: 12 s)
	oldAge      = 3 * systems.Second  // of a record, beyond which its velocity is not used
	velocityAge = systems.Second      // most of a record's age that its velocity is extrapolated over on arrival
)

// Liveness is how recent the last record of a remote entity is.
type Liveness uint8

// The states.
const (
	Alive  Liveness = iota // a record came within 3 s
	Fading                 // none came for 3 s: the entity comes to a stop
	Lost                   // none came for 12 s: mark or hide the entity
)

// fade returns the part of a time after the last record that is not extrapolated over, and the share of its velocity that
// an entity keeps. From 3 s on it slows down evenly for half a second: its own time does, so that it brakes in any mode.
func fade(since systems.Time) (lost systems.Time, keeps fixed.Num) {
	over := since - fadeAfter
	switch {
	case over <= 0:
		return 0, fixed.One
	case over >= fadeFor:
		return over - fadeFor/2, 0
	}
	return over * over / (2 * fadeFor), fixed.One - fixed.FromRatio(int64(over), int64(fadeFor))
}

// LimitAge returns a record that arrives at an age, and the age to extrapolate it over. A record older than 3 s, its own
// Age included, loses its velocity. A younger one is extrapolated over a second at most.
func LimitAge(r Record, age systems.Time) (Record, systems.Time) {
	if age+r.Age > oldAge {
		r.Vel, r.Speed = fixed.Vec3{}, 0
		if r.Mode == Ballistic {
			r.Mode = Ground
		}
		return r, 0
	}
	return r, min(age, velocityAge)
}
