package image

import (
	"math/bits"
	"unsafe"

	"tendon/ecs/fixed"
)

// Picture shows states of one image in another, which belongs to a view. The view's image holds copies of the source's
// pages. As everywhere, a live page that is not marked equals its base. Here the base is the source's page itself, with a
// reference of the picture's. Pages with rows that were blended, hidden or written by the game are marked, and the next
// Show copies them again.
type Picture struct {
	image  *Image // the copies
	source *Image // the image whose pages were copied
}

// NewPicture returns a picture that shows nothing. im belongs to it from then on.
func NewPicture(im *Image) *Picture { return &Picture{image: im} }

// Shown are the states of one world in a picture. All may be empty or nil.
type Shown struct {
	Prev, Cur *Snapshot // own rows are interpolated between the two
	Confirmed *Snapshot // ConfirmedOnly components of own rows
	Remote    *Snapshot // rows that are not own
	Own       *RowSet   // nil: no row
}

// Show makes the picture's image show the states, a fraction alpha ∈ [0, 1] of the way from Prev to Cur. An empty Cur shows
// Remote alone.
func (p *Picture) Show(s Shown, alpha float64) {
	if s.Cur.Empty() { // no row is own
		s = Shown{Cur: s.Remote}
		s.Remote = s.Cur
	}
	if !s.Cur.Empty() && s.Cur.image != p.source {
		p.leaveSource()
		p.source = s.Cur.image
	}
	for _, of := range [...]*Snapshot{s.Prev, s.Cur, s.Confirmed, s.Remote} {
		p.mustShow(of)
	}
	alpha = min(max(alpha, 0), 1)
	if p.copyPages(&s) {
		p.image.structure.changes++
	}
	for i := range p.image.columns {
		c := &p.image.columns[i]
		switch {
		case c.roles.confirmedOnly:
			p.hideUnconfirmed(c, &s)
		case c.roles.lerp != nil && !s.Prev.Empty() && alpha < 1:
			p.blend(c, &s, alpha)
		}
	}
	p.image.dirty = p.image.dirty[:0]
}

// leaveSource releases all pages of the source and makes Show copy every page.
func (p *Picture) leaveSource() {
	for i := range p.image.live {
		live := &p.image.live[i]
		live.base.release()
		live.base, live.marked = nil, true
	}
}

// copyPages makes the live pages Cur's, and those of ConfirmedOnly columns Confirmed's. Rows that are not own are Remote's.
// It reports whether an entity or a set of components may have changed.
func (p *Picture) copyPages(s *Shown) (restructured bool) {
	im := p.image
	for i := range im.columns {
		c, from := &im.columns[i], s.Cur
		if c.roles.confirmedOnly {
			from = s.Confirmed
		}
		for o := range c.regions {
			r := &c.regions[o]
			p.grow(c, r, Owner(o))
			if p.copyStore(&r.bits, from, s) {
				restructured = true
			}
			if p.copyStore(&r.data, from, s) && i == columnIdentity {
				restructured = true
			}
		}
	}
	return restructured
}

func (p *Picture) grow(c *Column, r *region, o Owner) {
	if p.source == nil || c.single {
		return
	}
	from := &p.source.columns[c.index].regions[o]
	if n := len(from.bits.pages); n > len(r.bits.pages) {
		p.image.growBits(r, uint32(n*bitsPageWords*BlockRows-1))
	}
	if n := len(from.data.pages); n > len(r.data.pages) {
		p.image.growData(r, c, uint32(n<<c.shift-1))
	}
}

// copyStore copies the pages of a store that may differ from the shown states: own rows from from, the others from Remote.
// It reports whether there were any. A page with rows of both is combined in place and counts only if it changed.
func (p *Picture) copyStore(st *store, from *Snapshot, s *Shown) (copied bool) {
	mixed := s.Own != everyRow && !st.column.single
	for i, number := range st.pages {
		live, want := &p.image.live[number], from.pageOf(st.number, i)
		if p.source != nil {
			live.use(p.source.stores[st.number].inUse(p.source, i))
		}
		if theirs := s.Remote.pageOf(st.number, i); mixed && want != theirs {
			first, end := st.rowsOf(i)
			some, all := s.Own.overlapOf(st.owner, first, end)
			if !some {
				want = theirs
			} else if !all {
				mine := live.splice(want, s.Own, true)
				others := live.splice(theirs, s.Own, false)
				copied, live.marked = copied || mine || others, true
				continue
			}
		}
		if live.base == want && !live.marked {
			continue
		}
		live.become(want)
		copied, live.marked = true, false
	}
	return copied
}

// inUse returns the number of bytes at the start of page i of a store that were ever used.
func (s *store) inUse(im *Image, i int) int {
	if i >= len(s.pages) {
		return 0
	}
	return len(im.live[s.pages[i]].mem)
}

// hideUnconfirmed empties own rows of a ConfirmedOnly column if Confirmed has another entity in the row.
func (p *Picture) hideUnconfirmed(c *Column, s *Shown) {
	im, identity := p.image, p.image.Identity()
	for o := range c.regions {
		r, visible := &c.regions[o], &identity.regions[o]
		for k, word := range r.words {
			for set := word & s.Own.word(Owner(o), k); set != 0; set &= set - 1 {
				i := uint32(k*BlockRows + bits.TrailingZeros64(set))
				if *(*Entity)(identity.rowOf(visible, i)) != *(*Entity)(s.Confirmed.row(identity, Owner(o), i)) {
					c.clearRow(im, r, i)
				}
			}
		}
	}
}

// blend interpolates the own rows of a column whose entity is in both states with the component. Pages that both share are
// equal.
func (p *Picture) blend(c *Column, s *Shown, alpha float64) {
	identity := p.image.Identity()
	for d := range apart(s.Prev, s.Cur, s.Cur.image.storesFrom(c.index)[:2*len(c.regions)]) {
		if d.isBits {
			continue
		}
		o, r, visible := d.owner, &c.regions[d.owner], &identity.regions[d.owner]
		first, end := d.rowsOf(d.index)
		for k := first / BlockRows; k*BlockRows < end; k++ {
			set := r.word(int(k)) & s.Prev.word(r.bits.number, int(k)) & s.Own.word(o, int(k)) & stretchBits(k, first, end)
			for ; set != 0; set &= set - 1 {
				row := k*BlockRows + uint32(bits.TrailingZeros64(set))
				if *(*Entity)(identity.rowOf(visible, row)) == *(*Entity)(s.Prev.row(identity, o, row)) {
					c.roles.lerp(c.rowOf(r, row), s.Prev.row(c, o, row), s.Cur.row(c, o, row), alpha)
					p.image.mark(r.data.pages[d.index])
				}
			}
		}
	}
}

// Blend shows e a fraction t ∈ [0, 1] of the way from state a to state b. A component with a Lerp role is interpolated if e
// has it in both; otherwise its value is b's. Components that e lacks in b, or is shown without, do not change.
func (p *Picture) Blend(e Entity, a, b *Snapshot, t float64) {
	p.mustShow(a)
	p.mustShow(b)
	if !p.image.Exists(e) || !ExistsAt(b, e) {
		return
	}
	o, i, inBoth := e.Owner(), e.Row%regionRows, ExistsAt(a, e)
	t = min(max(t, 0), 1)
	for n := engineColumns; n < len(p.image.columns); n++ {
		c := &p.image.columns[n]
		if c.single || c.stride == 0 || !c.regions[o].has(i) || !b.has(c, o, i) {
			continue
		}
		p.image.markRow(&c.regions[o], c, i)
		dst, to := c.rowOf(&c.regions[o], i), b.row(c, o, i)
		if lerp := c.roles.lerp; lerp != nil && inBoth && a.has(c, o, i) {
			lerp(dst, a.row(c, o, i), to, t)
		} else {
			copy(unsafe.Slice((*byte)(dst), c.stride), unsafe.Slice((*byte)(to), c.stride))
		}
	}
}

// Move shows e with this position and velocity, in every component that has a SetMotion role.
func (p *Picture) Move(e Entity, m Motion) { p.image.setMotion(e, m) }

// Shift shows e displaced by a distance in world units, in every component that has both roles Motion and SetMotion. Shifts
// of one picture add up.
func (p *Picture) Shift(e Entity, by fixed.Vec3) {
	p.image.eachMotion(e, func(r *roles, row unsafe.Pointer) {
		if r.motion != nil {
			m := r.motion(row)
			m.Pos = m.Pos.Add(by)
			r.setMotion(row, m)
		}
	})
}

// Invalidate makes derived data of the picture's image be built again.
func (p *Picture) Invalidate() { p.image.invalidate() }

// mustShow panics if a snapshot is of another world than the shown ones.
func (p *Picture) mustShow(s *Snapshot) {
	if !s.Empty() && (s.image != p.source || s.image.fingerprint != p.image.fingerprint) {
		panic("ecs: a View of snapshots of several worlds or of another game: pass snapshots from one world of the view's game")
	}
}
