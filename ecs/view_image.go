package ecs

import (
	"math/bits"
	"unsafe"
)

// A view's image holds copies of the pages of the simulation's image. As everywhere, a live page that is not marked
// equals its base; here the base is the simulation's page itself, with a reference of the view's. A page whose rows
// were blended, hidden or written by the game is marked, and so copied again by the next Update.

// leaveSource drops all references to pages of the image that was shown, and makes every page be copied anew.
func (v *View) leaveSource() {
	for i := range v.Sim.image.live {
		p := &v.Sim.image.live[i]
		if p.base != nil {
			v.source.stores[p.store.info.number].info.pool.drop(p.base)
		}
		p.base, p.marked = nil, true
	}
}

// copyPages makes the live pages those of cur, and those of ConfirmedOnly columns the ones of confirmed; rows that are not
// one's own are remote's. It reports whether an entity or a set of components may have changed.
func (v *View) copyPages(s *shown) (restructured bool) {
	im := v.Sim.image
	for i := range im.columns {
		c, from := &im.columns[i], s.cur
		if c.info.roles.confirmedOnly {
			from = s.confirmed
		}
		for o := range c.regions {
			r := &c.regions[o]
			v.grow(c, r, Owner(o))
			if v.copyStore(&r.bits, from, s) {
				restructured = true
			}
			if v.copyStore(&r.data, from, s) && i == columnIdentity {
				restructured = true
			}
		}
	}
	return restructured
}

// grow gives the region at least the pages that the source has.
func (v *View) grow(c *column, r *region, o Owner) {
	if v.source == nil || c.info.single {
		return
	}
	from := &v.source.columns[c.info.index].regions[o]
	if n := len(from.bits.pages); n > len(r.bits.pages) {
		v.Sim.image.growBits(r, uint32(n*bitsPageWords*blockRows-1))
	}
	if n := len(from.data.pages); n > len(r.data.pages) {
		v.Sim.image.growData(r, c.info, uint32(n<<c.info.shift-1))
	}
}

// copyStore copies those pages of a store that are not known to be what is to be shown: own rows as from has them, the
// others as remote has. It reports whether there were any. A page with rows of both is put together in place, so that it
// counts only if it was changed.
func (v *View) copyStore(st *store, from *Snapshot, s *shown) (copied bool) {
	mixed := s.own != everyRow && !st.info.column.single
	for i, number := range st.pages {
		p, want := &v.Sim.image.live[number], from.pageOf(st.info.number, i)
		if theirs := s.remote.pageOf(st.info.number, i); mixed && want != theirs {
			first, end := st.info.rowsOf(i)
			switch s.own.shareOf(st.info.owner, first, end) {
			case shareNone:
				want = theirs
			case shareSome:
				mine := st.info.splice(p.mem, want.content(len(p.mem)), i, s.own, true)
				others := st.info.splice(p.mem, theirs.content(len(p.mem)), i, s.own, false)
				copied, p.marked = copied || mine || others, true
				continue
			}
		}
		if p.base == want && !p.marked {
			continue
		}
		copied = true
		copy(p.mem, want.content(len(p.mem)))
		p.marked = false
		if p.base != want {
			v.source.stores[st.info.number].info.pool.drop(p.base)
			p.base = want
			if want != nil {
				want.refs++
			}
		}
	}
	return copied
}

// hideUnconfirmed empties the own rows of a ConfirmedOnly column, copied from confirmed, whose entity is not the one that
// is shown.
func (v *View) hideUnconfirmed(c *column, s *shown) {
	im, identity := v.Sim.image, v.Sim.identity()
	for o := range c.regions {
		r, shown := &c.regions[o], &identity.regions[o]
		for k, word := range r.words {
			for set := word & s.own.word(Owner(o), k); set != 0; set &= set - 1 {
				i := uint32(k*blockRows + bits.TrailingZeros64(set))
				if *(*Entity)(identity.rowOf(shown, i)) != *(*Entity)(s.confirmed.row(identity, Owner(o), i)) {
					c.clearRow(im, r, i)
				}
			}
		}
	}
}

// blend moves the own rows of a column, copied from cur, back towards prev. Pages that prev and cur share are equal.
func (v *View) blend(c *column, lerp func(dst, a, b unsafe.Pointer, t float64), s *shown) {
	for o := range c.regions {
		data := &c.regions[o].data
		for i, number := range data.pages {
			if s.prev.pageOf(data.info.number, i) != s.cur.pageOf(data.info.number, i) {
				if v.blendPage(c, Owner(o), i, lerp, s) {
					v.Sim.image.mark(number)
				}
			}
		}
	}
}

// blendPage blends the own rows of page i whose entity is in both states with the component. It reports whether there
// were any.
func (v *View) blendPage(c *column, o Owner, i int, lerp func(dst, a, b unsafe.Pointer, t float64), s *shown) (blended bool) {
	r, identity := &c.regions[o], v.Sim.identity()
	shown := &identity.regions[o]
	first, end := uint32(i)<<c.info.shift, uint32(i+1)<<c.info.shift
	for k := first / blockRows; k*blockRows < end; k++ {
		set := r.word(int(k)) & s.prev.word(r.bits.info.number, int(k)) & s.own.word(o, int(k))
		for ; set != 0; set &= set - 1 {
			row := k*blockRows + uint32(bits.TrailingZeros64(set))
			if row < first || row >= end || *(*Entity)(identity.rowOf(shown, row)) != *(*Entity)(s.prev.row(identity, o, row)) {
				continue
			}
			lerp(c.rowOf(r, row), s.prev.row(c, o, row), s.cur.row(c, o, row), v.Alpha)
			blended = true
		}
	}
	return blended
}
