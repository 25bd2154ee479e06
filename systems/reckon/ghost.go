package reckon

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
)

// Ghost is a remote entity as it is shown: its last record, continued to the present, and what is left of the
// correction.
//
// Invariant: its record has the newest stamp of all that were received since it was made.
type Ghost struct {
	record     Record
	origin     systems.Time // when the record is true, as far as is known
	heard      systems.Time
	known      bool
	correction Correction
	stats      GhostStats
}

// GhostStats is what a ghost counted.
type GhostStats struct {
	Records uint64 // that were used
	Stale   uint64 // that were doubled or overtaken, or relative
	Snaps   uint64 // jumps, without the first record and teleports
}

// GhostConfig says how ghosts are shown; one is for all of them. Its zero value is the article's.
type GhostConfig struct {
	// Rules continue records.
	Rules Rules
	// Horizon is how long a correction takes, [0.1 s, 10 s]. Zero: 1 s. A shorter one is less wrong and moves visibly.
	Horizon systems.Time
	// Shortest is how short a correction gets when its record is old: the ghost has been wrong for as long as the record
	// was under way, so that much is taken off Horizon, but not below Shortest. [0.1 s, Horizon]. Zero: 0.3 s, or Horizon
	// if that is less. With Shortest = Horizon every correction takes Horizon, as the article has it; that is wrong by a
	// sixth more where the round trip is a second.
	Shortest systems.Time
	// Deadline says what new records do to a correction that is under way. Zero: DeadlineKept.
	Deadline Deadline
	// Blocked reports whether the straight line of a correction crosses something; then the ghost jumps. Nil: nothing
	// is in the way.
	Blocked func(from, to fixed.Vec3) bool
}

// shortest is the default of GhostConfig.Shortest.
const shortest = 3 * systems.Second / 10

// Validate names the field that is out of its interval, and fills in zero values.
func (c *GhostConfig) Validate() error {
	if c.Horizon == 0 {
		c.Horizon = systems.Second
	}
	if c.Shortest == 0 {
		c.Shortest = min(shortest, c.Horizon)
	}
	switch {
	case c.Horizon < systems.Second/10 || c.Horizon > 10*systems.Second:
		return fmt.Errorf("reckon: GhostConfig.Horizon is %d ns, not in [0.1 s, 10 s]", c.Horizon)
	case c.Shortest < systems.Second/10 || c.Shortest > c.Horizon:
		return fmt.Errorf("reckon: GhostConfig.Shortest is %d ns, not in [0.1 s, Horizon]", c.Shortest)
	case c.Deadline > RestartAlways:
		return fmt.Errorf("reckon: GhostConfig.Deadline is %d, which is no rule", c.Deadline)
	case c.Rules.Gravity < 0 || c.Rules.Gravity > 1024*fixed.One:
		return fmt.Errorf("reckon: GhostConfig.Rules.Gravity is %v, not in [0, 1024]", c.Rules.Gravity)
	}
	return nil
}

// Receive takes an absolute record that arrives at now and is age old: now − its stamp where both are of one clock, or
// what is assumed where there is no clock. It reports whether the record is used: one that is not newer than the last is
// not, and neither is a relative one.
func (g *Ghost) Receive(c *GhostConfig, r Record, age, now systems.Time) (used bool) {
	if r.Anchor != 0 || g.known && r.Stamp <= g.record.Stamp {
		g.stats.Stale++
		return false
	}
	horizon := max(c.Horizon-max(age, 0)-r.Age, c.Shortest)
	r, age = Arrived(r, age)
	before := *g
	g.record, g.origin, g.heard, g.known = r, now-age, now, true
	g.stats.Records++
	if !before.known || r.Flags&FlagTeleport != 0 {
		g.correction.Snap()
		return true
	}
	shown, wasShown := before.Shown(c, now)
	predicted, canPredict := g.Predicted(c, now)
	if !wasShown || !canPredict {
		g.correction.Snap()
		return true
	}
	var moved fixed.Num
	deadline := before.correction.deadline
	if deadline > now {
		was, _ := before.Predicted(c, deadline)
		is, _ := g.Predicted(c, deadline)
		moved = is.Pos.Sub(was.Pos).Len()
	}
	g.correction.Plan(c.Deadline, shown.Pos.Sub(predicted.Pos), moved, now, horizon)
	if c.Blocked == nil || g.correction.Done(now) {
		return true
	}
	if target, _ := g.Predicted(c, g.correction.deadline); c.Blocked(shown.Pos, target.Pos) {
		g.correction.Snap()
		g.stats.Snaps++
	}
	return true
}

// Predicted returns where the last record puts the entity at now, on the way to a stop if there was silence; ok is false
// if that is not known.
func (g *Ghost) Predicted(c *GhostConfig, now systems.Time) (m ecs.Motion, ok bool) {
	if !g.known {
		return ecs.Motion{}, false
	}
	lost, keeps := Silence(now - g.heard).fade()
	m, ok = c.Rules.Predict(&g.record, now-lost-g.origin)
	return faded(m, keeps), ok
}

// Shown returns where to draw the entity at now; ok is false if that is not known. Its velocity is the predicted one, for
// choosing an animation.
func (g *Ghost) Shown(c *GhostConfig, now systems.Time) (m ecs.Motion, ok bool) {
	m, ok = g.Predicted(c, now)
	m.Pos = m.Pos.Add(g.correction.Offset(now))
	return m, ok
}

// Presence says whether the entity is still heard of.
func (g *Ghost) Presence(now systems.Time) Presence { return Silence(now - g.heard).Presence() }

// Record returns the last record; ok is false without any.
func (g *Ghost) Record() (r Record, ok bool) { return g.record, g.known }

// Stats returns what was counted.
func (g *Ghost) Stats() GhostStats { return g.stats }
