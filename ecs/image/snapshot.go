package image

import (
	"fmt"
	"unsafe"
)

// Snapshot is the content of an image at one tick: a page table whose pages are shared with other snapshots where they are
// equal. It belongs to the image that saved it, and is valid until Release or the next Save into it.
//
// The zero Snapshot is empty and ready for Save.
type Snapshot struct {
	tick  Tick
	image *Image
	table []*page // by page number; nil stands for zeros
}

// Tick returns the tick of the state.
func (s *Snapshot) Tick() Tick { return s.tick }

// Empty reports whether s holds no state. A nil Snapshot is empty.
func (s *Snapshot) Empty() bool { return s == nil || s.image == nil }

// Bare reports whether s has no memory for a page table.
func (s *Snapshot) Bare() bool { return cap(s.table) == 0 }

// Bytes returns the size of the pages in bytes. Other snapshots may share them.
func (s *Snapshot) Bytes() (n int) {
	for _, pg := range s.table {
		if pg != nil {
			n += len(pg.mem)
		}
	}
	return n
}

// Release releases the pages. s is then empty and may be saved into again.
func (s *Snapshot) Release() {
	if s.image == nil {
		return
	}
	for i := len(s.table) - 1; i >= 0; i-- { // pools then allocate pages in the order of the table
		s.table[i].release()
	}
	s.image, s.table = nil, s.table[:0]
}

// Hold makes s another snapshot of the state in of. If of is empty, s is.
func (s *Snapshot) Hold(of *Snapshot) {
	s.Release()
	if of.Empty() {
		return
	}
	for _, pg := range of.table {
		if pg != nil {
			pg.refs++
		}
	}
	s.tick, s.image, s.table = of.tick, of.image, append(s.table, of.table...)
}

// Save stores the state in s and releases the previous content of s. That content may belong to another image, such as the image
// before a change of the strategy. Pages without a mark are shared;
// marked pages are compared with their base and copied if they differ. Call it between ticks.
func (im *Image) Save(s *Snapshot) {
	SectionSave.Enter(im.observer)
	if s.image != im {
		s.Release()
	}
	// One unmarked page per save is compared, in rotation. A page that differs was written without a mark.
	if im.nextChecked++; int(im.nextChecked) >= len(im.live) {
		im.nextChecked = 0
	}
	if p := &im.live[im.nextChecked]; !p.marked && p.changed() {
		im.strays++
		im.mark(im.nextChecked)
	}
	for len(s.table) < len(im.live) {
		s.table = append(s.table, nil)
	}
	im.saveDirty(s)
	live := im.live[:len(s.table)]           // checks the bounds of the loop once
	for i := len(s.table) - 1; i >= 0; i-- { // pools then allocate pages in the order of the table
		base, old := live[i].base, s.table[i]
		if base == old {
			continue
		}
		if base != nil {
			base.refs++
		}
		old.release()
		s.table[i] = base
	}
	s.image, s.tick = im, im.Tick()
	SectionSave.Leave(im.observer)
}

// saveDirty gives every marked page a base that equals it. If there are many, it visits them column by column, so that
// memory is read and written upwards. It reuses pages that only replaced holds; that may be empty.
func (im *Image) saveDirty(replaced *Snapshot) {
	if len(im.dirty)*8 < max(len(im.live), 64) {
		for _, number := range im.dirty {
			im.live[number].save(replaced.numbered(number))
		}
	} else {
		for _, number := range im.inOrder() {
			if p := &im.live[number]; p.marked {
				p.save(replaced.numbered(number))
			}
		}
	}
	im.dirty = im.dirty[:0]
}

// save gives a marked page a base that equals it. For a page that has changed, it reuses old, the page of the snapshot that is
// replaced, if nothing else holds it and its size is equal. old may be nil.
func (p *livePage) save(old *page) {
	if p.padded {
		p.scrub()
	}
	p.marked = false
	if !p.changed() {
		return
	}
	p.base.release()
	if old != nil && old.refs == 1 && len(old.mem) == len(p.mem) {
		old.refs, old.hashed = 2, false
		p.base = old
	} else {
		p.base = p.store.pool.least(len(p.mem)).allocate()
	}
	copy(p.base.mem, p.mem)
}

// Restore makes the state the one in s, which must have been saved from this image: it copies back the pages that differ.
// It panics for another snapshot. Call it between ticks.
func (im *Image) Restore(s *Snapshot) {
	if s.image != im {
		panic("image: Restore of a snapshot that is empty or of another world: save it from this world, or use Load")
	}
	SectionRestore.Enter(im.observer)
	for _, number := range im.inOrder() {
		p, want := &im.live[number], s.numbered(number)
		if p.base == want && !p.marked {
			continue
		}
		p.become(want)
		p.marked = false
	}
	im.dirty = im.dirty[:0]
	im.afterRestore()
	SectionRestore.Leave(im.observer)
}

// become makes a live page equal to want, which becomes its base. A marked page stays marked, because it is in the list of
// marked pages.
func (p *livePage) become(want *page) {
	if want != nil && len(want.mem) == len(p.mem) {
		copy(p.mem, want.mem)
	} else {
		p.fill(want.content())
	}
	if p.base == want {
		return
	}
	p.base.release()
	p.base = want
	if want != nil {
		want.refs++
	}
}

// fill gives a live page this content.
func (p *livePage) fill(content []byte) {
	p.use(len(content))
	clear(p.mem[copy(p.mem, content):])
}

// afterRestore resets data about the state before.
func (im *Image) afterRestore() {
	im.structure.reset()
	im.states++
	im.invalidate()
}

// PageBytes returns the bytes of pages that all snapshots of the image hold or have allocated: the memory of a ring of
// snapshots.
func (im *Image) PageBytes() int {
	total := 0
	for _, p := range im.pools {
		total += p.made * p.bytes
	}
	return total
}

// ExistsAt reports whether e is in the state s.
func ExistsAt(s *Snapshot, e Entity) bool { return e.Row != 0 && s.EntityAt(e.Row) == e }

// Row returns the memory of e's component in the state. It returns nil if e is not in the state or has no such component
// there. The memory must not be written.
func (s *Snapshot) Row(d *Declaration, e Entity) unsafe.Pointer {
	if !ExistsAt(s, e) {
		return nil
	}
	c := s.image.Column(d)
	if !s.has(c, e.Owner(), e.Row%regionRows) {
		return nil
	}
	return s.row(c, e.Owner(), e.Row%regionRows)
}

// numbered returns the page with this number in image.live, nil for a page of zeros.
func (s *Snapshot) numbered(number uint32) *page {
	if int(number) < len(s.table) {
		return s.table[number]
	}
	return nil
}

// pageOf returns page i of a store by the store's number, nil for a page of zeros. Pages that the image has added since the
// save are zeros.
func (s *Snapshot) pageOf(number, i int) *page {
	if s.Empty() {
		return nil
	}
	pages := s.image.stores[number].pages
	if i >= len(pages) {
		return nil
	}
	return s.numbered(pages[i])
}

// word returns presence word k of a region, by the number of the region's presence store.
func (s *Snapshot) word(number, k int) uint64 {
	return wordOf(s.pageOf(number, k/bitsPageWords).content(), k%bitsPageWords)
}

// has reports whether row i of the owner has the component.
func (s *Snapshot) has(c *Column, o Owner, i uint32) bool {
	return s.word(c.regions[o].bits.number, int(i/BlockRows))>>(i%BlockRows)&1 != 0
}

// row returns the memory of row i of the owner, which must not be written.
func (s *Snapshot) row(c *Column, o Owner, i uint32) unsafe.Pointer {
	if c.stride == 0 {
		return unsafe.Pointer(&nothing)
	}
	content, at := s.pageOf(c.regions[o].data.number, int(i>>c.shift)).content(), uintptr(i&(1<<c.shift-1))*c.stride
	if at >= uintptr(len(content)) {
		return unsafe.Pointer(&zeros)
	}
	return unsafe.Pointer(&content[at])
}

// Checksum is a hash of a state, the same on every target.
type Checksum uint64

// Hex returns the checksum as 16 hexadecimal digits. As a JSON number, it would lose digits in some readers.
func (c Checksum) Hex() string { return fmt.Sprintf("%016x", uint64(c)) }

// Checksum returns the checksum of the state, 0 for an empty snapshot. A page is hashed once, also if several snapshots
// share it.
func (s *Snapshot) Checksum() Checksum {
	var total Checksum
	if s.image == nil {
		return total
	}
	SectionChecksum.Enter(s.image.observer)
	defer SectionChecksum.Leave(s.image.observer)
	for n, pg := range s.table {
		if pg != nil {
			total += Checksum(pg.checksum(s.image.live[n].salt))
		}
	}
	return total
}

// ComponentChecksums appends one checksum per column, in the order of Schema.Columns, and returns the extended slice. Their
// sum is Checksum: the checksums that differ between two peers name the columns that differ.
func (s *Snapshot) ComponentChecksums(dst []Checksum) []Checksum {
	from := len(dst)
	for range s.image.columns {
		dst = append(dst, 0)
	}
	for n, pg := range s.table {
		if pg != nil {
			p := &s.image.live[n]
			dst[from+p.store.column.index] += Checksum(pg.checksum(p.salt))
		}
	}
	return dst
}
