package image

import (
	"bytes"
	"math/bits"
)

// Changed is the set of rows and resources in which two states of one world differ. A row differs if it has another entity,
// another set of components, or another value in one of them. The zero Changed is empty and ready for Find.
type Changed struct {
	rows      sparseRows
	resources []bool
}

// Find sets c to the difference of base and now. If base is empty, every entity and resource of now differs. Pages that
// both states share cost one comparison of pointers.
func (c *Changed) Find(base, now *Snapshot) {
	c.rows.clear()
	c.resources = c.resources[:0]
	for range now.image.schema.Resources {
		c.resources = append(c.resources, base.Empty())
	}
	for p := range apart(base, now, now.image.storesFrom(columnIdentity)) {
		switch {
		case p.column.single:
			for range p.rows {
				c.resources[p.column.index-engineColumns] = true
			}
		case p.isBits:
			for k, w := range p.words {
				c.rows.add(p.owner, k, w.old^w.now)
			}
		default:
			old, is := p.contents()
			stride, row := int(p.column.stride), p.index<<p.column.shift
			for at := 0; at < len(is); at, row = at+stride, row+1 { // a tick may change every row: no call for each
				if !bytes.Equal(old[at:at+stride], is[at:at+stride]) {
					c.rows.add(p.owner, row/BlockRows, 1<<(row%BlockRows))
				}
			}
		}
	}
}

// Resource reports whether Game.Resources[i] differs.
func (c *Changed) Resource(i int) bool { return c.resources[i] }

// Rows calls f once for each row that differs, until f returns false.
func (c *Changed) Rows(f func(row uint32) bool) {
	for _, at := range c.rows.used {
		for word := c.rows.words[at.owner][at.word]; word != 0; word &= word - 1 {
			if !f(uint32(at.owner)<<regionShift | at.word*BlockRows | uint32(bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}
