package motion

import (
	"cmp"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
)

// Remote is the motion of a remote entity: its last record, extrapolated to the present, and the correction of the
// visual error.
//
// Invariant: of all records received, its record has the newest stamp.
type Remote struct {
	Stats RemoteStats

	record     Record
	origin     systems.Time // when the record was true, by its age
	received   systems.Time // when it arrived
	known      bool         // there is a record
	correction correction
}

// RemoteStats are the counters of a Remote.
type RemoteStats struct {
	Records uint64 // used
	Stale   uint64 // duplicate, overtaken or relative
	Snaps   uint64 // jumps, without the first record and teleports
}

// RemoteConfig is how remote entities are shown. Its zero value is the article's.
type RemoteConfig struct {
	// Rules extrapolate records.
	Rules Rules
	// Horizon is how long a correction takes, [0.1 s, 10 s]. Zero: 1 s. A shorter one is more exact and more visible. With
	// DeadlineKept, the age of a record is taken off it, down to 0.3 s.
	Horizon systems.Time
	// Deadline is what a new record does to a correction under way. Zero: DeadlineKept.
	Deadline Deadline
	// Blocked reports whether the straight line of a correction crosses an obstacle. The entity then jumps. Optional.
	Blocked func(from, to fixed.Vec3) bool
}

// Deadline is what a new record does to the deadline of a correction.
type Deadline uint8

// The rules.
const (
	// DeadlineKept keeps the deadline while new records agree with the prediction. A visual error is then gone after the
	// horizon, at any rate of records.
	DeadlineKept Deadline = iota
	// RestartAlways starts a new horizon with each record, whatever its age, exactly as the article describes. With a horizon of
	// 1 and records every h, (1 − h)^(1/h) of an error is left after the horizon: up to 37 %.
	RestartAlways
)

const (
	shortest    = 3 * systems.Second / 10  // the shortest correction, unless Horizon is less
	agreement   = fixed.One / 10           // world units by which an agreeing record may differ from the prediction
	lastMoment  = 5 * systems.Second / 100 // time before a deadline in which a small offset is dropped
	fadeAfter   = 3 * systems.Second       // without a record, after which an entity slows down
	fadeFor     = systems.Second / 2       // until it stands
	lostAfter   = 12 * systems.Second      // without a record, after which an entity is lost (DIS: 12 s)
	oldAge      = 3 * systems.Second       // of a record, beyond which its velocity is not used
	velocityAge = systems.Second           // most of a record's age that its velocity is extrapolated over on arrival
)

// Validate fills in the defaults, and returns an error that names a field outside its interval.
func (c *RemoteConfig) Validate() error {
	c.Horizon = cmp.Or(c.Horizon, systems.Second)
	switch {
	case c.Horizon < systems.Second/10 || c.Horizon > 10*systems.Second:
		return fmt.Errorf("motion: RemoteConfig.Horizon is %d ns, want [0.1 s, 10 s]", c.Horizon)
	case c.Deadline > RestartAlways:
		return fmt.Errorf("motion: RemoteConfig.Deadline is %d, want 0 or 1", c.Deadline)
	case c.Rules.Gravity < 0 || c.Rules.Gravity > 1024*fixed.One:
		return fmt.Errorf("motion: RemoteConfig.Rules.Gravity is %v, want [0, 1024]", c.Rules.Gravity)
	}
	return nil
}

// Receive accepts a record that arrives at now and is age old. used is false for a relative record, and for one that is
// not newer than the last.
func (g *Remote) Receive(c *RemoteConfig, r Record, age, now systems.Time) (used bool) {
	if r.Anchor != 0 || g.known && r.Stamp <= g.record.Stamp {
		g.Stats.Stale++
		return false
	}
	horizon := c.Horizon
	if c.Deadline == DeadlineKept {
		horizon = max(horizon-max(age, 0)-r.Age, min(shortest, horizon))
	}
	r, age = LimitAge(r, age)
	before := *g
	g.record, g.origin, g.received, g.known = r, now-age, now, true
	g.Stats.Records++
	shown, wasShown := before.Shown(c, now)
	predicted, canPredict := g.Predicted(c, now)
	if r.Flags&FlagTeleport != 0 || !wasShown || !canPredict {
		g.correction = correction{}
		return true
	}
	deadline := now + horizon
	offset := shown.Pos.Sub(predicted.Pos)
	if left := before.correction.deadline - now; c.Deadline == DeadlineKept && left > 0 {
		was, _ := before.Predicted(c, before.correction.deadline)
		is, _ := g.Predicted(c, before.correction.deadline)
		if is.Pos.Sub(was.Pos).Len() <= agreement {
			deadline = before.correction.deadline
			if left < lastMoment && offset.Len() <= agreement {
				g.correction = correction{}
				return true
			}
		}
	}
	g.correction = correction{offset, now, deadline}
	if c.Blocked == nil || offset == (fixed.Vec3{}) {
		return true
	}
	if target, _ := g.Predicted(c, deadline); c.Blocked(shown.Pos, target.Pos) {
		g.correction = correction{}
		g.Stats.Snaps++
	}
	return true
}

// Predicted extrapolates the last record to now; ok is false if it cannot. Long after the record the entity stands.
func (g *Remote) Predicted(c *RemoteConfig, now systems.Time) (m ecs.Motion, ok bool) {
	if !g.known {
		return ecs.Motion{}, false
	}
	lost, keeps := fade(now - g.received)
	m, ok = c.Rules.Predict(&g.record, now-lost-g.origin)
	if keeps != fixed.One {
		m.Vel = m.Vel.Scale(keeps)
	}
	return m, ok
}

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

// Shown returns where the entity is shown at now; ok is false if that is not known. The velocity is the predicted one,
// for choosing an animation.
func (g *Remote) Shown(c *RemoteConfig, now systems.Time) (m ecs.Motion, ok bool) {
	m, ok = g.Predicted(c, now)
	m.Pos = m.Pos.Add(g.correction.at(now))
	return m, ok
}

// correction smooths the visual error of a remote entity: the offset between the shown and the predicted position
// shrinks evenly, and is zero at a deadline.
type correction struct {
	offset          fixed.Vec3 // shown − predicted, at start
	start, deadline systems.Time
}

func (c *correction) at(now systems.Time) fixed.Vec3 {
	switch {
	case now >= c.deadline:
		return fixed.Vec3{}
	case now <= c.start:
		return c.offset
	}
	return c.offset.Scale(fixed.FromRatio(int64(c.deadline-now), int64(c.deadline-c.start)))
}

// Record returns the last record; ok is false if there is none.
func (g *Remote) Record() (r Record, ok bool) { return g.record, g.known }

// Forwarded returns the last record extrapolated to now and stamped so; ok is false if there is none.
func (g *Remote) Forwarded(u *Rules, now systems.Time) (r Record, ok bool) {
	if g.known {
		r = u.Forward(g.record, now-g.origin, StampOf(now))
	}
	return r, g.known
}

// Liveness is how recent the last record of a remote entity is.
type Liveness uint8

// The states.
const (
	Alive  Liveness = iota // a record came within 3 s
	Fading                 // none came for 3 s: the entity comes to a stop
	Lost                   // none came for 12 s: mark or hide the entity
)

// Liveness returns how recent the last record is.
func (g *Remote) Liveness(now systems.Time) Liveness {
	switch since := now - g.received; {
	case since > lostAfter:
		return Lost
	case since > fadeAfter:
		return Fading
	}
	return Alive
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
