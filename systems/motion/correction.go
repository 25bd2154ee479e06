package motion

import (
	"tendon/ecs/fixed"
	"tendon/systems"
)

// correction smooths the visual error of a remote entity: the offset between the shown and the predicted position
// shrinks evenly, and is zero at a deadline.
//
// Invariant: the shown position jumps by snap only. From the deadline on it is the predicted one.
type correction struct {
	offset          fixed.Vec3 // shown − predicted, at start
	start, deadline systems.Time
}

// Deadline is what a new record does to the deadline of a correction.
type Deadline uint8

// The rules.
const (
	// DeadlineKept keeps the deadline while new records agree with the prediction. A visual error is then gone after the
	// horizon, at any rate of records.
	DeadlineKept Deadline = iota
	// RestartAlways starts a new horizon with each record, as the article literally says. Of an error, (1 − h)^(1/h) is
	// left after a horizon of 1 with records every h: up to 37 %.
	RestartAlways
)

const (
	agreement  = fixed.One / 10             // world units by which an agreeing record may differ from the prediction
	lastMoment = 50 * systems.Second / 1000 // time before a deadline in which a small offset is dropped
)

// at returns shown − predicted at now.
func (c *correction) at(now systems.Time) fixed.Vec3 {
	switch {
	case now >= c.deadline:
		return fixed.Vec3{}
	case now <= c.start:
		return c.offset
	}
	return c.offset.Scale(fixed.FromRatio(int64(c.deadline-now), int64(c.deadline-c.start)))
}

// done reports whether the predicted position is shown from now on.
func (c *correction) done(now systems.Time) bool {
	return now >= c.deadline || c.offset == fixed.Vec3{}
}

// snap ends the correction: the predicted position is shown.
func (c *correction) snap() { *c = correction{} }

// plan starts from a new prediction at now. offset is shown − predicted by it, moved the distance between the old and the
// new prediction at the old deadline, horizon the duration of a new correction.
func (c *correction) plan(rule Deadline, offset fixed.Vec3, moved fixed.Num, now, horizon systems.Time) {
	deadline := now + horizon
	if left := c.deadline - now; rule == DeadlineKept && left > 0 && moved <= agreement {
		if left < lastMoment && offset.Len() <= agreement {
			c.snap()
			return
		}
		deadline = c.deadline
	}
	*c = correction{offset, now, deadline}
}
