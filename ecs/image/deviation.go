package image

import (
	"bytes"
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
