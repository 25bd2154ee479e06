package reckon

import (
	"tendon/ecs/fixed"
	"tendon/systems"
)

// Correction brings what is shown to what is predicted: the difference between the two shrinks evenly and is gone at a
// deadline. For an entity that goes straight on, that is a straight line at one speed, (target − shown) / (deadline −
// now); for one that falls, it still falls.
//
// Invariant: what is shown never jumps but by Snap; at the deadline and after it, what is shown is what is predicted.
type Correction struct {
	offset          fixed.Vec3 // shown − predicted, at start
	start, deadline systems.Time
}

// Deadline says when a correction is to be done as records come in.
type Deadline uint8

// The rules.
const (
	// DeadlineKept keeps the deadline as long as new records agree with the plan: then a difference is gone after the
	// horizon, however many records come.
	DeadlineKept Deadline = iota
	// RestartAlways begins a new horizon with each record, as the literal reading of the article has it. Of a difference
	// (1 − h)^(1/h) is left after a horizon of 1 with records every h: up to 37 %.
	RestartAlways
)

const (
	agreement  = fixed.One / 10             // world units that a record may differ from the plan by
	lastMoment = 50 * systems.Second / 1000 // before a deadline, in which a small rest is not worth a line
)

// Offset returns shown − predicted at now.
func (c *Correction) Offset(now systems.Time) fixed.Vec3 {
	switch {
	case now >= c.deadline:
		return fixed.Vec3{}
	case now <= c.start:
		return c.offset
	}
	return c.offset.Scale(fixed.FromRatio(int64(c.deadline-now), int64(c.deadline-c.start)))
}

// Done reports whether what is predicted is shown at now and from then on.
func (c *Correction) Done(now systems.Time) bool {
	return now >= c.deadline || c.offset == fixed.Vec3{}
}

// Snap ends the correction: what is predicted is shown.
func (c *Correction) Snap() { *c = Correction{} }

// Plan takes over a new prediction at now: offset is shown − predicted by it, moved is by how much it puts the entity
// elsewhere at the old deadline. horizon is how long a new correction takes.
func (c *Correction) Plan(rule Deadline, offset fixed.Vec3, moved fixed.Num, now, horizon systems.Time) {
	deadline := now + horizon
	if left := c.deadline - now; rule == DeadlineKept && left > 0 && moved <= agreement {
		if left < lastMoment && offset.Len() <= agreement {
			c.Snap()
			return
		}
		deadline = c.deadline
	}
	*c = Correction{offset, now, deadline}
}
