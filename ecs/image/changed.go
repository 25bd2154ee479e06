package image

import "math/bits"

// Changed is the set of rows and resources in which two states of one world differ. A row differs if it has another entity,
// another set of components, or another value in one of them. The zero Changed is empty and ready for Find.
type Changed struct {
	rows      [][]uint64 // index = owner, one bit per row
	resources []bool
	words     []ownerWord // blocks of rows that are not zero
}

// Find sets c to the difference of base and now. If base is empty, every entity and resource of now differs. Pages that
// both states share cost one comparison of pointers.
func (c *Changed) Find(base, now *Snapshot) {
	for _, at := range c.words {
		c.rows[at.owner][at.word] = 0
	}
	c.words = c.words[:0]
	columns := now.image.columns
	if len(c.rows) == 0 {
		c.rows = make([][]uint64, len(columns[columnIdentity].regions))
		c.resources = make([]bool, len(now.image.schema.Resources))
	}
	for i := range c.resources {
		c.resources[i] = base.Empty()
	}
	for p := range apart(base, now, columns[columnIdentity:]) {
		switch {
		case p.column.single:
			for range p.rows {
				c.resources[p.column.index-engineColumns] = true
			}
		case p.isBits:
			for k, w := range p.words {
				c.add(p.owner, k, w.old^w.now)
			}
		default:
			for row := range p.rows {
				c.add(p.owner, int(row/BlockRows), 1<<(row%BlockRows))
			}
		}
	}
}

func (c *Changed) add(o Owner, k int, rows uint64) {
	if need := k + 1; need > len(c.rows[o]) {
		c.rows[o] = append(c.rows[o], make([]uint64, need-len(c.rows[o]))...)
	}
	if c.rows[o][k] == 0 {
		c.words = append(c.words, ownerWord{o, uint32(k)})
	}
	c.rows[o][k] |= rows
}

// Resource reports whether Game.Resources[i] differs.
func (c *Changed) Resource(i int) bool { return c.resources[i] }

// Rows calls f once for each row that differs, until f returns false.
func (c *Changed) Rows(f func(row uint32) bool) {
	for _, at := range c.words {
		for word := c.rows[at.owner][at.word]; word != 0; word &= word - 1 {
			if !f(uint32(at.owner)<<regionShift | at.word*BlockRows | uint32(bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}
