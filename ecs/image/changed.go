package image

import (
	"bytes"
	"math/bits"
)

// Changed is what differs between two states of one world, row by row: a row differs if another entity is in it, if the
// entity has other components, or another value in one of them. The zero Changed holds nothing and is ready for Find.
type Changed struct {
	rows      [][]uint64 // index = owner, one bit per row
	resources []bool
	words     []heldWord // those of rows that are not zero
}

// Find makes c what differs between base and now. An empty base differs in all that now holds. It costs what differs:
// pages that both share are not looked at.
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
	for i := columnIdentity; i < len(columns); i++ {
		if col := &columns[i]; col.info.single {
			c.resources[i-engineColumns] = base.Empty() || base.differs(now, &col.regions[0].data, 0)
		} else {
			for o := range col.regions {
				c.presence(base, now, &col.regions[o].bits, Owner(o))
				c.values(base, now, &col.regions[o].data, Owner(o))
			}
		}
	}
}

// differs reports whether page i of a store has another content in now.
func (s *Snapshot) differs(now *Snapshot, st *store, i int) bool {
	if st.info.bytes == 0 {
		return false
	}
	old, is := s.pageOf(st.info.number, i), now.pageOf(st.info.number, i)
	return old != is && !bytes.Equal(old.content(st.info.bytes), is.content(st.info.bytes))
}

func (c *Changed) presence(base, now *Snapshot, st *store, o Owner) {
	for i := range st.pages {
		if !base.differs(now, st, i) {
			continue
		}
		for k := i * bitsPageWords; k < (i+1)*bitsPageWords; k++ {
			if d := base.word(st.info.number, k) ^ now.word(st.info.number, k); d != 0 {
				c.add(o, k, d)
			}
		}
	}
}

func (c *Changed) values(base, now *Snapshot, st *store, o Owner) {
	stride, shift := int(st.info.column.stride), st.info.column.shift
	for i := range st.pages {
		old, is := base.pageOf(st.info.number, i), now.pageOf(st.info.number, i)
		if old == is {
			continue
		}
		was, mem := old.content(st.info.bytes), is.content(st.info.bytes)
		for n := range 1 << shift {
			at := n * stride
			if !bytes.Equal(was[at:at+stride], mem[at:at+stride]) {
				row := i<<shift + n
				c.add(o, row/blockRows, 1<<(row%blockRows))
			}
		}
	}
}

// add adds rows of block k.
func (c *Changed) add(o Owner, k int, rows uint64) {
	if need := k + 1; need > len(c.rows[o]) {
		c.rows[o] = append(c.rows[o], make([]uint64, need-len(c.rows[o]))...)
	}
	if c.rows[o][k] == 0 {
		c.words = append(c.words, heldWord{o, uint32(k)})
	}
	c.rows[o][k] |= rows
}

// Resource reports whether Game.Resources[i] differs.
func (c *Changed) Resource(i int) bool { return c.resources[i] }

// Rows calls f for each row that differs, each once, until f returns false.
func (c *Changed) Rows(f func(row uint32) bool) {
	for _, at := range c.words {
		for word := c.rows[at.owner][at.word]; word != 0; word &= word - 1 {
			if !f(uint32(at.owner)<<regionShift | at.word*blockRows | uint32(bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}
