package image

import "unsafe"

// limit keeps a tick to some rows: those that a client predicts. Between ticks open is nil and the buffers hold nothing
// of use.
type limit struct {
	rows      *RowSet // what SetPredicted was given
	open      *RowSet // rows while Step runs, nil if everything may be written
	core      core    // before the tick
	resources []byte  // before the tick, one behind the other
}

// SetPredicted makes ticks write only into these rows; nil, which is where a world begins, lets them write everywhere.
// The rest of the state is the server's word, which Overlay brings up to date. In Step from now on:
//
//   - a query that writes a component yields only rows of the set; one that only reads yields all;
//   - Component.Write returns nil for others, Put reports false, and Get of an entry returns nil;
//   - Add, Remove and Despawn of others do nothing;
//   - Spawn for an owner whose region is in the set adds the row to the set. For any other owner it gives an entity that
//     can be filled like any and is gone when the running system has returned;
//   - resources, the random source and who is in the match can be changed, and are as before when the tick is over.
//
// What is called outside Step is not limited. Derived data is built anew after each limited tick, since systems may have
// kept it in step with changes that did not last.
//
// The world keeps rows, which may be changed between ticks.
func (im *Image) SetPredicted(rows *RowSet) { im.limit.rows = rows }

// writable reports whether the running system of a limited tick may write e, which exists.
func (im *Image) writable(e Entity) bool { return im.limit.open.Has(e.Row) || im.isNew(e) }

// isNew reports whether the running system has spawned e, which exists.
func (im *Image) isNew(e Entity) bool {
	return !im.identity().regions[e.Owner()].has(e.Row % regionRows)
}

// changeable reports whether the structure of e may be changed. What is gone is left to flush, which passes it over.
func (im *Image) changeable(e Entity) bool {
	return im.limit.open == nil || !im.Exists(e) || im.writable(e)
}

// passing reports whether an entity of this owner, spawned in the running tick, is gone with the running system.
func (im *Image) passing(o Owner) bool { return im.limit.open != nil && !im.limit.open.HasOwner(o) }

// beginLimit remembers what the tick may change and must not keep.
func (im *Image) beginLimit() {
	l := &im.limit
	l.open, l.core, l.resources = l.rows, *im.core(), l.resources[:0]
	for i := engineColumns; i < len(im.columns); i++ {
		if c := &im.columns[i]; c.info.single {
			l.resources = append(l.resources, c.singleRow()...)
		}
	}
}

// endLimit puts back what the tick must not keep. Pages that were written are marked already.
func (im *Image) endLimit() {
	l := &im.limit
	rest := l.resources
	for i := engineColumns; i < len(im.columns); i++ {
		if c := &im.columns[i]; c.info.single {
			rest = rest[copy(c.singleRow(), rest):]
		}
	}
	c := im.writeCore()
	c.Players, c.Rand = l.core.Players, l.core.Rand
	im.invalidate()
	l.open = nil
}

// singleRow returns the bytes of a resource's row.
func (c *Column) singleRow() []byte {
	return unsafe.Slice((*byte)(c.rowOf(&c.regions[0], 0)), c.info.stride)
}
