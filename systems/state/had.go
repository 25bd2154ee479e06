package state

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// had reports whether an entity of an older state equals the entity now, without a change in between. For an observed state
// among the last ones it compares the recorded values, whose position may have been omitted.
func (c *Changes) had(state *image.Snapshot, e ecs.Entity, observed bool) bool {
	t := c.entities.at(e.Row)
	if t == nil || t.count == 0 || t.entity != e {
		return observed
	}
	if observed && c.elsewhere == nil {
		return true
	}
	_, set, values := state.AppendScalars(c.values[:0], e.Row)
	c.values = values
	since, now := t.newest()
	if observed {
		now, observed = t.during(state.Tick())
		return observed && set == t.set && slices.Equal(values, now)
	}
	return since <= state.Tick() && set == t.set && slices.Equal(values, now)
}

// hadSpecial is had for the players in the match, or a resource.
func (c *Changes) hadSpecial(state *image.Snapshot, i int) bool {
	t := &c.specials[i]
	if t.count == 0 {
		return false
	}
	if i == 0 {
		c.values = append(c.values[:0], uint64(state.Players()))
	} else {
		c.values = state.AppendResource(c.values[:0], i-1)
	}
	since, now := t.newest()
	return since <= state.Tick() && slices.Equal(c.values, now)
}
