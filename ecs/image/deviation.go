package image

import (
	"bytes"
	"math/bits"
	"unsafe"

	"tendon/ecs/fixed"
)

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
	d := deviation{Deviated{Within: true}, a, b, rows}
	for p := range apart(a, b, columnIdentity, len(a.image.columns)) {
		switch {
		case p.column.single:
		case p.isBits:
			x, y := p.contents()
			for i := 0; i < bitsPageWords && d.Within; i++ {
				d.Within = (wordOf(x, i)^wordOf(y, i))&rows.word(p.owner, p.index*bitsPageWords+i) == 0
			}
		default:
			d.values(&p)
		}
	}
	return d.Deviated
}

// deviation is a comparison in progress.
type deviation struct {
	Deviated
	a, b *Snapshot
	rows *RowSet
}

func (d *deviation) values(p *pagePair) {
	first, end := p.rowsOf(p.index)
	old, now := p.contents()
	c, stride := &d.a.image.columns[p.column.index], p.column.stride
	for k := first / BlockRows; k*BlockRows < end; k++ {
		for set := d.rows.word(p.owner, int(k)) & stretchBits(k, first, end); set != 0; set &= set - 1 {
			row := k*BlockRows + uint32(bits.TrailingZeros64(set))
			at := uintptr(row-first) * stride
			x, y := old[at:at+stride], now[at:at+stride]
			if bytes.Equal(x, y) {
				continue
			}
			if p.column.index != columnIdentity {
				if d.a.entityAt(p.owner, row) != d.b.entityAt(p.owner, row) || !d.a.has(c, p.owner, row) || !d.b.has(c, p.owner, row) {
					continue // counted as another entity or component
				}
				var far fixed.Num
				x, y, far = c.info.distance(d.a.image, x, y)
				d.Distance = max(d.Distance, far)
			}
			d.Within = d.Within && bytes.Equal(x, y)
		}
	}
}

// distance returns the distance between two rows' positions, and the two rows to compare for equality. Within tolerance,
// both rows have the same motion; they are then in the image's scratch.
func (c *columnInfo) distance(im *Image, x, y []byte) (left, right []byte, far fixed.Num) {
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
	left, right = im.scratchRows(len(x))
	for _, row := range [...][]byte{left[:copy(left, x)], right[:copy(right, y)]} {
		c.roles.setMotion(unsafe.Pointer(&row[0]), there)
		c.layout.scrub(row)
	}
	return left, right, far
}

// scratchRows returns memory for two rows, until the next call.
func (im *Image) scratchRows(stride int) (x, y []byte) {
	words := (stride + 7) / 8
	if 2*words > len(im.scratch) {
		im.scratch = make([]uint64, 2*words)
	}
	return wordBytes(im.scratch[:words])[:stride], wordBytes(im.scratch[words : 2*words])[:stride]
}
