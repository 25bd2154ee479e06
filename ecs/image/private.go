package image

import (
	"bytes"
	"math/bits"
	"unsafe"
)

// A redacted state is a state as one viewer may know it. Its private values are zero where the viewer does not see the entity,
// and in resources. So are the random source and the inputs of other players. Images, deltas and checksums of redacted states
// depend on nothing else, because equal states have equal bytes.

// Redact makes s the state in of, redacted for a viewer, which is a seat or −1 for a spectator. sees reports whether the viewer
// sees an entity of the state. Pages that are equal are shared with of or with before, which is an older state that was redacted for
// the same viewer, or empty. s must be empty or a snapshot of the same image, and neither of nor before.
func (s *Snapshot) Redact(of, before *Snapshot, viewer int, sees func(Entity) bool) {
	s.Release()
	im := of.image
	s.image, s.tick = im, of.tick
	for n, pg := range of.table {
		if p := &im.live[n]; pg != nil && p.store.isRedacted() {
			pg = of.redact(p, pg, before.numberedOrNil(uint32(n)), viewer, sees)
		} else if pg != nil {
			pg.refs++
		}
		s.table = append(s.table, pg)
	}
}

// isRedacted reports whether pages of the store may differ in a redacted state.
func (s *store) isRedacted() bool {
	c := s.column
	return !s.isBits && (c.index == columnCore || c.index == columnInputs || len(c.hidden()) > 0)
}

func (s *Snapshot) numberedOrNil(number uint32) *page {
	if s.Empty() {
		return nil
	}
	return s.numbered(number)
}

// redact returns the page pg of the state, redacted, with a reference of its own.
func (s *Snapshot) redact(p *livePage, pg, before *page, viewer int, sees func(Entity) bool) *page {
	im := s.image
	if need := (len(pg.mem) + 7) / 8; need > len(im.redacted) {
		im.redacted = make([]uint64, need)
	}
	mem := wordBytes(im.redacted)[:len(pg.mem)]
	copy(mem, pg.mem)
	c := p.store.column
	switch {
	case c.index == columnCore:
		(*core)(unsafe.Pointer(&mem[0])).Rand = Rand{}
	case c.index == columnInputs:
		im.redactInputs(mem, viewer)
	case c.single:
		c.layout.clearPrivate(mem)
	default:
		first := int(p.index) << c.shift
		for at := 0; at < len(mem); at += int(c.stride) {
			row := mem[at : at+int(c.stride)]
			if c.layout.holdsPrivate(row) && !sees(s.entityAt(p.store.owner, uint32(first+at/int(c.stride)))) {
				c.layout.clearPrivate(row)
			}
		}
	}
	switch {
	case isZero(mem):
		return nil
	case bytes.Equal(mem, pg.mem):
	case before != nil && isContent(before.mem, mem):
		pg = before
	default:
		pg = p.store.pool.least(len(mem)).allocate()
		copy(pg.mem, mem)
		return pg
	}
	pg.refs++
	return pg
}

// redactInputs clears the inputs of all players but the viewer.
func (im *Image) redactInputs(rows []byte, viewer int) {
	size := im.schema.Input.Size()
	for i := range 2 * im.schema.MaxPlayers {
		if i%im.schema.MaxPlayers != viewer {
			clear(rows[i*size : (i+1)*size])
		}
	}
}

// holdsPrivate reports whether a private value of a row is not zero.
func (l *layout) holdsPrivate(row []byte) bool {
	for _, s := range l.private {
		if !isZero(row[s.from:s.to]) {
			return true
		}
	}
	return false
}

func (l *layout) clearPrivate(row []byte) {
	for _, s := range l.private {
		clear(row[s.from:s.to])
	}
}

// RedactRows redacts the entities of the rows. sees reports whether the viewer sees an entity. A client calls it between ticks,
// because its rules may have stored values in place of the zeros.
func (im *Image) RedactRows(rows *RowSet, sees func(Entity) bool) {
	columns := im.components()
	for n := range columns {
		c := &columns[n]
		if len(c.hidden()) == 0 {
			continue
		}
		for o := range c.regions {
			r := &c.regions[o]
			for k, word := range r.words {
				for word &= rows.word(Owner(o), k); word != 0; word &= word - 1 {
					im.redactRow(c, Owner(o), uint32(k*BlockRows+bits.TrailingZeros64(word)), sees)
				}
			}
		}
	}
}

func (im *Image) redactRow(c *Column, o Owner, i uint32, sees func(Entity) bool) {
	r := &c.regions[o]
	row := unsafe.Slice((*byte)(c.rowOf(r, i)), c.stride)
	if !c.layout.holdsPrivate(row) || sees(*(*Entity)(im.Identity().rowOf(&im.Identity().regions[o], i))) {
		return
	}
	im.markRow(r, c, i)
	c.layout.clearPrivate(row)
	im.invalidate()
}
