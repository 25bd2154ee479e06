package image

import (
	"slices"
	"unsafe"
)

// limit restricts a tick to the rows that a client predicts. Between ticks open is nil, and the content of the buffers is
// not used.
type limit struct {
	rows      *RowSet // argument of SetPredicted
	open      *RowSet // rows while a tick runs, nil if every row may be written
	core      core    // before the tick
	resources []byte  // before the tick, one after the other

	scratch   []uint64 // memory of rows that systems of this tick received instead of rows that they may not write
	system    int      // that runs, -1 while orders are executed
	discarded []DiscardedWrites
}

// DiscardedWrites counts the writes of a system to rows of a component that the ticks were not allowed to write.
type DiscardedWrites struct {
	System    int // index of the system, -1 for orders and hooks
	Component *Declaration
	Writes    uint64
}

// SetPredicted makes ticks write only these rows. nil, the default, allows every row. The other rows belong to the server's
// state, and Overlay updates them. Inside World.Step:
//
//   - a query that writes a component yields only rows of the set; a query that only reads yields all;
//   - Component.Write and Get of an entry return a copy of any other row, whose changes are discarded; Put changes nothing;
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

// MayWrite reports whether e exists and the running tick may write it.
func (im *Image) MayWrite(e Entity) bool {
	return im.Exists(e) && (im.limit.open == nil || im.writable(e))
}

// Removed reports whether an entity has been removed. In a limited tick, that is certain only for entities in the set: others may exist
// on the server.
func (im *Image) Removed(e Entity) bool {
	return !im.Exists(e) && (im.limit.open == nil || im.limit.open.Has(e.Row))
}

// RunSystem notes the index of the system that runs next, for DiscardedWrites.
func (im *Image) RunSystem(index int) { im.limit.system = index }

// DiscardedWrites returns the counts of all ticks, in the order of the first writes. Ticks that were simulated again count
// again. The result is valid until the next tick.
func (im *Image) DiscardedWrites() []DiscardedWrites { return im.limit.discarded }

// discard counts a write to a row of d that this tick must not write.
func (im *Image) discard(d *Declaration) {
	l := &im.limit
	i := slices.IndexFunc(l.discarded, func(x DiscardedWrites) bool { return x.System == l.system && x.Component == d })
	if i < 0 {
		i = len(l.discarded)
		l.discarded = append(l.discarded, DiscardedWrites{System: l.system, Component: d})
	}
	l.discarded[i].Writes++
}

// copyRow returns a copy of a row, for a system that must not write the row itself. It is valid until the next tick.
func (im *Image) copyRow(row unsafe.Pointer, size uintptr) unsafe.Pointer {
	l := &im.limit
	n := len(l.scratch)
	words := int(size+7) / 8
	if n+words > cap(l.scratch) {
		l.scratch, n = make([]uint64, 0, max(64, 2*cap(l.scratch), words)), 0 // pointers into the old memory stay valid
	}
	l.scratch = l.scratch[:n+words]
	p := unsafe.Pointer(&l.scratch[n])
	copy(unsafe.Slice((*byte)(p), size), unsafe.Slice((*byte)(row), size))
	return p
}

// changeable reports whether the structure of e may be changed. It is true for an entity that does not exist, which Flush
// ignores.
func (im *Image) changeable(e Entity) bool {
	return im.limit.open == nil || !im.Exists(e) || im.writable(e)
}

// beginLimit saves the parts of the state that the tick may change and must not keep.
func (im *Image) beginLimit() {
	l := &im.limit
	l.open, l.core, l.resources, l.scratch, l.system = l.rows, *im.core(), l.resources[:0], l.scratch[:0], -1
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
