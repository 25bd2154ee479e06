package image

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"unsafe"

	"tendon/ecs/fixed"
)

// pagePair is a page that two states do not share. Its contents may still be equal.
type pagePair struct {
	*store
	index    int
	old, now *page // nil for zeros
	copied   bool  // the live page has the content of now already
}

// apart returns the pages that two states of one schema do not share, ascending by store and index. stores are those of the
// image of now. old may be empty: its pages are zeros. A shared page costs one comparison of pointers.
func apart(old, now *Snapshot, stores []*store) iter.Seq[pagePair] {
	return func(yield func(pagePair) bool) {
		for _, st := range stores {
			count := len(st.pages)
			if !old.Empty() && old.image != now.image {
				count = max(count, len(old.image.stores[st.number].pages))
			}
			for i := range count {
				was, is := old.pageOf(st.number, i), now.pageOf(st.number, i)
				if was != is && !yield(pagePair{store: st, index: i, old: was, now: is}) {
					return
				}
			}
		}
	}
}

// storesFrom returns the stores of a column and of all columns after it.
func (im *Image) storesFrom(column int) []*store {
	return im.stores[im.columns[column].regions[0].bits.number:]
}

// contents returns the start of both pages.
func (p *pagePair) contents() (old, now []byte) { return p.old.content(), p.now.content() }

// change is a part of a page in two states.
type change[T any] struct{ old, now T }

// words yields the words of a page of presence bits that differ, each with its block of rows.
func (p *pagePair) words(yield func(k int, w change[uint64]) bool) {
	old, now := p.contents()
	for i := range max(len(old), len(now)) / 8 {
		w := change[uint64]{wordOf(old, i), wordOf(now, i)}
		if w.old != w.now && !yield(p.index*bitsPageWords+i, w) {
			return
		}
	}
}

// rows yields the rows of a page of rows that differ.
func (p *pagePair) rows(yield func(row uint32, v change[[]byte]) bool) {
	old, now := p.contents()
	stride := int(p.column.stride)
	for at := 0; at < max(len(old), len(now)); at += stride {
		x, y := part(old, at, stride), part(now, at, stride)
		if !bytes.Equal(x, y) && !yield(uint32(p.index<<p.column.shift+at/stride), change[[]byte]{x, y}) {
			return
		}
	}
}

// wordOf returns word k of a page of presence bits. content is the start of the page.
func wordOf(content []byte, k int) uint64 {
	if k*8 >= len(content) {
		return 0
	}
	return binary.LittleEndian.Uint64(content[k*8:])
}

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
			c.addRows(&p)
		}
	}
}

// FindMoved sets c to the rows in which a component with a Motion role has another value in base than in now.
func (c *Changed) FindMoved(base, now *Snapshot) {
	c.rows.clear()
	c.resources = c.resources[:0]
	for i := range now.image.columns {
		column := &now.image.columns[i]
		if column.roles.motion == nil {
			continue
		}
		for p := range apart(base, now, now.image.storesFrom(column.index)[:2*len(column.regions)]) {
			if !p.isBits {
				c.addRows(&p)
			}
		}
	}
}

// addRows adds the rows of a page that differ.
func (c *Changed) addRows(p *pagePair) {
	old, is := p.contents()
	if len(old) > len(is) {
		old, is = is, old
	}
	stride, row := int(p.column.stride), p.index<<p.column.shift
	at := 0
	for ; at < len(old); at, row = at+stride, row+1 { // a tick may change every row: no call for each
		if !bytes.Equal(old[at:at+stride], is[at:at+stride]) {
			c.rows.add(p.owner, row/BlockRows, 1<<(row%BlockRows))
		}
	}
	for ; at < len(is); at, row = at+stride, row+1 {
		if !isZero(is[at : at+stride]) {
			c.rows.add(p.owner, row/BlockRows, 1<<(row%BlockRows))
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

// Deviated describes how far two states differ in the rows that were compared.
type Deviated struct {
	// Within reports whether a prediction counts as correct: no position differs by more than the Tolerance of its
	// component, and nothing else differs.
	Within bool
	// Distance is the largest distance between two positions of one entity, in world units, within tolerance or not.
	Distance fixed.Num
}

// Deviation compares the rows of the set in two states of one world, predicted and received. Both must have the same
// entities with the same components.
//
// A component with Motion and a Tolerance above 0 may differ in position by its tolerance. Its velocity may differ by any
// amount, because a wrong velocity shows in later positions. Its other fields must be equal; without a SetMotion role they
// are not compared. All other components must be equal.
func Deviation(a, b *Snapshot, rows *RowSet) Deviated {
	if a.Empty() || b.Empty() || a.image != b.image {
		panic("image: Deviation of snapshots that are empty or of different worlds: compare two states that one world saved")
	}
	d := Deviated{Within: true}
	for p := range apart(a, b, a.image.storesFrom(columnIdentity)) {
		first, end := p.rowsOf(p.index)
		if some, _ := rows.overlapOf(p.owner, first, end); !some || p.column.single {
			continue
		}
		if p.isBits {
			for k, w := range p.words {
				d.Within = d.Within && (w.old^w.now)&rows.word(p.owner, k) == 0
			}
			continue
		}
		for row, v := range p.rows {
			if !rows.Has(uint32(p.owner)<<regionShift | row) {
				continue
			}
			if p.column.index != columnIdentity &&
				(a.entityAt(p.owner, row) != b.entityAt(p.owner, row) || !a.has(p.column, p.owner, row) || !b.has(p.column, p.owner, row)) {
				continue // counted as another entity or component
			}
			equal, far := p.column.tolerates(a.image, v)
			d.Within, d.Distance = d.Within && equal, max(d.Distance, far)
		}
	}
	return d
}

// tolerates reports whether two different rows count as equal, and returns the distance between their positions.
func (c *Column) tolerates(im *Image, v change[[]byte]) (equal bool, far fixed.Num) {
	if c.roles.motion == nil {
		return false, 0
	}
	to := c.roles.motion(unsafe.Pointer(&v.now[0]))
	far = to.Pos.Sub(c.roles.motion(unsafe.Pointer(&v.old[0])).Pos).Len()
	if far > c.roles.tolerance || c.roles.tolerance <= 0 {
		return false, far
	}
	if c.roles.setMotion == nil {
		return true, far
	}
	x, y := im.scratchRows(len(v.old))
	copy(x, v.old)
	copy(y, v.now)
	for _, row := range [...][]byte{x, y} {
		c.roles.setMotion(unsafe.Pointer(&row[0]), to)
		c.layout.scrub(row)
	}
	return bytes.Equal(x, y), far
}

// scratchRows returns memory for two rows, until the next call.
func (im *Image) scratchRows(stride int) (x, y []byte) {
	words := (stride + 7) / 8
	if 2*words > len(im.scratch) {
		im.scratch = make([]uint64, 2*words)
	}
	return wordBytes(im.scratch[:words])[:stride], wordBytes(im.scratch[words : 2*words])[:stride]
}
