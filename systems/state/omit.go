package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// OmitPositions makes Observe omit the positions of entities for which omits returns true: another message replicates
// them. omits is called in each tick. A position is what SetMotion of ecs.Roles writes. An omitted position keeps its
// value from the last tick in which it was not omitted. An entity that comes, or gets another set of components, starts
// with its position of that tick.
func (c *Changes) OmitPositions(omits func(e ecs.Entity) bool) { c.omits = omits }

// omitPosition replaces the position in the values of an entity by its last one if it is to be omitted, and reports
// whether it is.
func (c *Changes) omitPosition(h *history, values []uint64) (omitted bool) {
	if c.omits == nil || h.count == 0 || !c.omits(h.entity) {
		return false
	}
	_, last := h.newest()
	for set, from := h.set, 0; set != 0; set &= set - 1 {
		p := &c.schema.parts[bits.TrailingZeros64(uint64(set))]
		for _, k := range p.places {
			values[from+k] = last[from+k]
		}
		from += len(p.context)
	}
	return true
}

// resumePositions observes the entities whose position is no longer omitted.
func (c *Changes) resumePositions(now *image.Snapshot) {
	kept := c.omitted[:0]
	for _, row := range c.omitted {
		h := c.entities.rows.Get(row)
		switch {
		case h == nil || !h.omitted:
		case c.omits(h.entity):
			kept = append(kept, row)
		default:
			c.observeRow(now, row)
		}
	}
	c.omitted = kept
}
