package image

import (
	"bytes"
	"iter"
	"math/bits"
)

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
	for p := range apart(base, now, columnIdentity, len(columns)) {
		switch old, is := p.contents(); {
		case p.column.single:
			i := p.column.index - engineColumns
			c.resources[i] = c.resources[i] || !bytes.Equal(old, is)
		case p.isBits:
			for k := range bitsPageWords {
				if d := wordOf(old, k) ^ wordOf(is, k); d != 0 {
					c.add(p.owner, p.index*bitsPageWords+k, d)
				}
			}
		default:
			c.values(&p, old, is)
		}
	}
}

func (c *Changed) values(p *pagePair, old, now []byte) {
	stride := int(p.column.stride)
	for n := range 1 << p.column.shift {
		at := n * stride
		if !bytes.Equal(old[at:at+stride], now[at:at+stride]) {
			row := p.index<<p.column.shift + n
			c.add(p.owner, row/BlockRows, 1<<(row%BlockRows))
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

// pagePair is a page that two states do not share. Its contents may still be equal.
type pagePair struct {
	*storeInfo
	index    int
	old, now *page // nil for zeros
}

func (p *pagePair) contents() (old, now []byte) {
	return p.old.content(p.bytes), p.now.content(p.bytes)
}

// apart returns the pages of columns [first, end) that two states of one schema do not share, ascending by store and index.
// old may be empty: its pages are zeros. A shared page costs one comparison of pointers.
func apart(old, now *Snapshot, first, end int) iter.Seq[pagePair] {
	from, until := now.image.columns[first].firstStore(), len(now.image.stores)
	if end < len(now.image.columns) {
		until = now.image.columns[end].firstStore()
	}
	return func(yield func(pagePair) bool) {
		for number, st := range now.image.stores[from:until] {
			number += from
			count := len(st.pages)
			if !old.Empty() && old.image != now.image {
				count = max(count, len(old.image.stores[number].pages))
			}
			for i := range count {
				was, is := old.pageOf(number, i), now.pageOf(number, i)
				if was != is && !yield(pagePair{st.info, i, was, is}) {
					return
				}
			}
		}
	}
}

func (c *Column) firstStore() int { return c.regions[0].bits.info.number }
