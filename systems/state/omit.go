package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// OmitPositions makes Observe omit the positions of the entities for which f returns true, because motion records replicate
// them. A position is the set of scalars that SetMotion of ecs.Roles writes. An omitted position keeps its last
// value from a tick in which f returned false. An entity that appears, or changes its set of components, starts with its
// position of that tick.
func (c *Changes) OmitPositions(f func(e ecs.Entity) bool) { c.elsewhere = f }

// hold restores the earlier position in the values of an entity whose position is omitted. It reports whether it is.
func (c *Changes) hold(t *track, values []uint64) (omitted bool) {
	if c.elsewhere == nil || t.count == 0 || !c.elsewhere(t.entity) {
		return false
	}
	_, before := t.newest()
	for set, from := t.set, 0; set != 0; set &= set - 1 {
		p := &c.schema.parts[bits.TrailingZeros64(uint64(set))]
		for _, k := range p.places {
			values[from+k] = before[from+k]
		}
		from += len(p.context)
	}
	return true
}

// resume takes the places of those that were left out, and are no more.
func (c *Changes) resume(now *image.Snapshot) {
	kept := c.omitted[:0]
	for _, row := range c.omitted {
		t := c.entities.at(row)
		switch {
		case t == nil || !t.omits:
		case c.elsewhere(t.entity):
			kept = append(kept, row)
		default:
			c.take(now, row)
		}
	}
	c.omitted = kept
}
