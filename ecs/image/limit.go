package image

import "unsafe"

// limit restricts a tick to the rows that a client predicts. Between ticks open is nil, and the content of the buffers is
// not used.
type limit struct {
	rows      *RowSet // argument of SetPredicted
	open      *RowSet // rows while a tick runs, nil if every row may be written
	core      core    // before the tick
	resources []byte  // before the tick, one after the other
}

// SetPredicted makes ticks write only these rows. nil, the default, allows every row. The other rows belong to the server's
// state, and Overlay updates them. Inside World.Step:
//
//   - a query that writes a component yields only rows of the set; a query that only reads yields all;
//   - Component.Write and Get of an entry return nil for other rows, and Put reports false;
//   - Add, Remove and Despawn of other entities do nothing;
//   - Spawn for an owner whose region is in the set adds the row to the set. For any other owner it returns an entity that
//     can be filled, and that is removed when the running system has returned;
//   - changes of resources, the random source and the players in the match are undone at the end of the tick.
//
// Calls outside Step are not limited. Derived data is built again after each limited tick, because systems may have updated
// it for changes that were undone.
//
// The image keeps rows, which may be changed between ticks.
func (im *Image) SetPredicted(rows *RowSet) { im.limit.rows = rows }

// writable reports whether the running system of a limited tick may write e, which must exist: e is in the set, or the
// system has spawned it.
func (im *Image) writable(e Entity) bool {
	return im.limit.open.Has(e.Row) || !im.Identity().regions[e.Owner()].has(e.Row%regionRows)
}

// changeable reports whether the structure of e may be changed. It is true for an entity that does not exist, which Flush
// ignores.
func (im *Image) changeable(e Entity) bool {
	return im.limit.open == nil || !im.Exists(e) || im.writable(e)
}

// beginLimit saves the parts of the state that the tick may change and must not keep.
func (im *Image) beginLimit() {
	l := &im.limit
	l.open, l.core, l.resources = l.rows, *im.core(), l.resources[:0]
	for _, c := range im.resources() {
		l.resources = append(l.resources, c.singleRow()...)
	}
}

// endLimit restores the parts of the state that the tick must not keep. Pages that were written are marked already.
func (im *Image) endLimit() {
	l := &im.limit
	rest := l.resources
	for _, c := range im.resources() {
		rest = rest[copy(c.singleRow(), rest):]
	}
	c := im.writeCore()
	c.Players, c.Rand = l.core.Players, l.core.Rand
	im.invalidate()
	l.open = nil
}

// singleRow returns the bytes of a resource's row.
func (c *Column) singleRow() []byte {
	return unsafe.Slice((*byte)(c.rowOf(&c.regions[0], 0)), c.stride)
}
