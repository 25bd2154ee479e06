package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// SetAside makes Observe leave out where those entities are of which f says, in each tick, that others tell of it: their
// places, which are what SetMotion of ecs.Roles writes, stay as they were in the last tick in which it did not, or in
// which the entity came, or came by another set of components.
func (c *Changes) SetAside(f func(e ecs.Entity) bool) { c.told = f }

// hold puts the places of before into the values of an entity whose place others tell; it reports whether they do.
func (c *Changes) hold(t *track, values []uint64) (aside bool) {
	if c.told == nil || t.count == 0 || !c.told(t.entity) {
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
	kept := c.aside[:0]
	for _, row := range c.aside {
		t := c.entities.at(row)
		switch {
		case t == nil || !t.aside:
		case c.told(t.entity):
			kept = append(kept, row)
		default:
			c.take(now, row)
		}
	}
	c.aside = kept
}
