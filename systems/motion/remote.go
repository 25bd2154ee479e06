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
	record     Record
	origin     systems.Time // when the record was true, by its age
	received   systems.Time // when it arrived
	known      bool         // there is a record
	correction correction
	counts     RemoteStats
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
	// Horizon is how long a correction takes, [0.1 s, 10 s]. Zero: 1 s. A shorter one is more exact and more visible. The age
	// of a record is taken off it, down to 0.3 s.
	Horizon systems.Time
	// Deadline is what a new record does to a correction under way. Zero: DeadlineKept.
	Deadline Deadline
	// Blocked reports whether the straight line of a correction crosses an obstacle. The entity then jumps. Optional.
	Blocked func(from, to fixed.Vec3) bool
}

// shortest is the shortest correction, unless Horizon is less.
const shortest = 3 * systems.Second / 10

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
		g.counts.Stale++
		return false
	}
	horizon := max(c.Horizon-max(age, 0)-r.Age, min(shortest, c.Horizon))
	r, age = LimitAge(r, age)
	before := *g
	g.record, g.origin, g.received, g.known = r, now-age, now, true
	g.counts.Records++
	shown, wasShown := before.Shown(c, now)
	predicted, canPredict := g.Predicted(c, now)
	if r.Flags&FlagTeleport != 0 || !wasShown || !canPredict {
		g.correction.snap()
		return true
	}
	var moved fixed.Num
	if deadline := before.correction.deadline; deadline > now {
		was, _ := before.Predicted(c, deadline)
		is, _ := g.Predicted(c, deadline)
		moved = is.Pos.Sub(was.Pos).Len()
	}
	g.correction.plan(c.Deadline, shown.Pos.Sub(predicted.Pos), moved, now, horizon)
	if c.Blocked == nil || g.correction.done(now) {
		return true
	}
	if target, _ := g.Predicted(c, g.correction.deadline); c.Blocked(shown.Pos, target.Pos) {
		g.correction.snap()
		g.counts.Snaps++
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

// Shown returns where the entity is shown at now; ok is false if that is not known. The velocity is the predicted one,
// for choosing an animation.
func (g *Remote) Shown(c *RemoteConfig, now systems.Time) (m ecs.Motion, ok bool) {
	m, ok = g.Predicted(c, now)
	m.Pos = m.Pos.Add(g.correction.at(now))
	return m, ok
}

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

// Record returns the last record; ok is false if there is none.
func (g *Remote) Record() (r Record, ok bool) { return g.record, g.known }

// Forwarded returns the last record extrapolated to now and stamped so; ok is false if there is none.
func (g *Remote) Forwarded(u *Rules, now systems.Time) (r Record, ok bool) {
	if g.known {
		r = u.Forward(g.record, now-g.origin, StampOf(now))
	}
	return r, g.known
}

// Stats returns the counters.
func (g *Remote) Stats() RemoteStats { return g.counts }
