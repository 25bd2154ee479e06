package image

import (
	"bytes"
	"math/bits"
	"unsafe"

	"tendon/ecs/fixed"
)

// Deviated says how far two states of a world are apart in the rows that were compared.
type Deviated struct {
	// Within reports whether a prediction counts as right: no position is further off than its component's Tolerance,
	// and nothing else differs.
	Within bool
	// Distance is the longest way between two positions of one entity, in world units, be it within tolerance or not.
	Distance fixed.Num
}

// Deviation compares the rows of the set in two states of one world: what was predicted with what the server says. The
// same entities must be there with the same components. A component with Motion and a Tolerance above 0 may differ in
// position by its tolerance, and in velocity by anything, since what a wrong velocity does is seen in the positions to
// come; what else it holds must be equal, unless it has no SetMotion to tell that apart. All other components must be
// equal.
func Deviation(a, b *Snapshot, rows *RowSet) Deviated {
	if a.Empty() || b.Empty() || a.image != b.image {
		panic("ecs: Deviation of snapshots that are empty or of different worlds: compare two states that one world saved")
	}
	d := deviation{Deviated{Within: true}, a, b, rows}
	for i := columnIdentity; i < len(a.image.columns); i++ {
		c := &a.image.columns[i]
		if c.info.single {
			continue
		}
		for o := range c.regions {
			r := &c.regions[o]
			for page := range r.bits.pages {
				if a.pageOf(r.bits.info.number, page) != b.pageOf(r.bits.info.number, page) {
					d.presence(r.bits.info, page)
				}
			}
			for page := range r.data.pages {
				if a.pageOf(r.data.info.number, page) != b.pageOf(r.data.info.number, page) {
					d.values(r.data.info, page)
				}
			}
		}
	}
	return d.Deviated
}

// deviation is a comparison that is going on.
type deviation struct {
	Deviated
	a, b *Snapshot
	rows *RowSet
}

// presence compares which rows have the component.
func (d *deviation) presence(s *storeInfo, page int) {
	for k := page * bitsPageWords; k < (page+1)*bitsPageWords && d.Within; k++ {
		d.Within = (d.a.word(s.number, k)^d.b.word(s.number, k))&d.rows.word(s.owner, k) == 0
	}
}

// values compares the rows of a page.
func (d *deviation) values(s *storeInfo, page int) {
	first, end := s.rowsOf(page)
	c := &d.a.image.columns[s.column.index]
	for k := first / blockRows; k*blockRows < end; k++ {
		for set := d.rows.word(s.owner, int(k)) & stretchBits(k, first, end); set != 0; set &= set - 1 {
			row := k*blockRows + uint32(bits.TrailingZeros64(set))
			x, y := d.a.rowBytes(c, s.owner, row), d.b.rowBytes(c, s.owner, row)
			if bytes.Equal(x, y) {
				continue
			}
			if s.column.index != columnIdentity {
				if d.a.entityAt(s.owner, row) != d.b.entityAt(s.owner, row) || !d.a.has(c, s.owner, row) || !d.b.has(c, s.owner, row) {
					continue // said already, of the entity or the component
				}
				var far fixed.Num
				x, y, far = c.info.apart(d.a.image, x, y)
				d.Distance = max(d.Distance, far)
			}
			d.Within = d.Within && bytes.Equal(x, y)
		}
	}
}

// apart returns how far two rows' positions are apart, and the rows as they have to be equal: as they are, or where the
// distance is tolerated with the same motion in both. Those lie in the image's scratch.
func (c *columnInfo) apart(im *Image, x, y []byte) (left, right []byte, far fixed.Num) {
	if c.roles.motion == nil {
		return x, y, 0
	}
	there := c.roles.motion(unsafe.Pointer(&y[0]))
	far = there.Pos.Sub(c.roles.motion(unsafe.Pointer(&x[0])).Pos).Len()
	switch {
	case far > c.roles.tolerance || c.roles.tolerance <= 0:
		return x, y, far
	case c.roles.setMotion == nil:
		return nil, nil, far
	}
	words := (len(x) + 7) / 8
	if need := 2 * words; need > len(im.scratch) {
		im.scratch = make([]uint64, need)
	}
	left, right = wordBytes(im.scratch[:words])[:len(x)], wordBytes(im.scratch[words : 2*words])[:len(y)]
	for _, row := range [...][]byte{left[:copy(left, x)], right[:copy(right, y)]} {
		c.roles.setMotion(unsafe.Pointer(&row[0]), there)
		c.layout.scrub(row)
	}
	return left, right, far
}

// rowBytes returns the bytes of row i of the owner, which must not be written.
func (s *Snapshot) rowBytes(c *Column, o Owner, i uint32) []byte {
	return unsafe.Slice((*byte)(s.row(c, o, i)), c.info.stride)
}
