package image

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"
)

// reader reads numbers from bytes. After an error it returns zeros, and failed is set.
type reader struct {
	rest   []byte
	failed bool
}

// uvarint reads a number. It fails if the number is cut off or larger than most.
func (r *reader) uvarint(most uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > most || r.failed {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// incoming is an encoded image or delta while it is read and checked: the pages in which the new state may differ from the
// present one. It is scratch of the image and holds no page between calls.
type incoming struct {
	reader
	image    *Image
	whole    bool   // an encoded image
	owned    []byte // the memory of the encoded image, if pages may keep it
	moved    int    // bytes of owned that pages keep
	long     int    // bytes of pages of an encoded image that the world does not have and that have no short form
	from, to Tick
	checksum Checksum
	pages    []pagePair // ascending by store and index, each with a reference to the new page; those of an image have no old page
	found    [2]int     // positions in pages of the page of rows and the page of presence bits that were found last
	added    int        // bytes of pages: all that an image lists, or those of a delta that the world does not have
}

// release frees the pages that were not published.
func (in *incoming) release() {
	for i := range in.pages {
		if now := in.pages[i].now; now != nil && now.pool != nil {
			now.release()
		}
	}
	clear(in.pages)
	*in = incoming{image: in.image, pages: in.pages[:0]}
}

// accept checks the new state and makes it the image's. empty is the number of bytes of pages that are empty in the old
// state. An error wraps damaged, and the state is then as before.
func (in *incoming) accept(empty int, damaged error) error {
	if err := in.check(empty); err != nil {
		return fmt.Errorf("%w: %w", damaged, err)
	}
	in.publish()
	in.image.afterRestore()
	return nil
}

func (s *store) mostPages() int {
	switch {
	case s.pool.bytes == 0 || s.column.single && s.isBits:
		return 0
	case s.column.single:
		return 1
	case s.isBits:
		return regionRows / (BlockRows * bitsPageWords)
	}
	return regionRows >> s.column.shift
}

func (s *store) fault(err error) error {
	return fmt.Errorf("column %q of owner %d: %w", s.column.name, s.owner, err)
}

// check checks the pages that differ; the others are correct.
func (in *incoming) check(empty int) error {
	if in.from != in.to && (len(in.pages) == 0 || in.pages[0].column.index != columnCore) {
		return fmt.Errorf("%d ticks, but the same one in the state", in.to-in.from)
	}
	for i := range in.pages {
		if err := in.checkPage(&in.pages[i]); err != nil {
			return in.pages[i].fault(err)
		}
	}
	if grown := in.growth(); grown > 0 && empty+grown-in.added > imageSparseBytes {
		return fmt.Errorf("%d bytes of pages are needed, which leaves more than %d bytes of pages empty", grown, imageSparseBytes)
	}
	return nil
}

func (in *incoming) checkPage(p *pagePair) error {
	if p.isBits {
		return in.checkPresence(p)
	}
	if !p.column.single {
		return in.checkRows(p)
	}
	row := in.row(p.column, p.owner, 0)
	if p.column.index == columnInputs {
		return in.checkInputs(row)
	}
	if err := p.column.layout.check(row); err != nil || p.column.index != columnCore {
		return err
	}
	var c core
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&c)), unsafe.Sizeof(c)), row)
	if c.Tick != in.to {
		return fmt.Errorf("tick %d, but %d in its header", c.Tick, in.to)
	}
	if n, most := bits.Len64(uint64(c.Players)), in.image.schema.MaxPlayers; n > most {
		return fmt.Errorf("player %d in a game of %d", n-1, most)
	}
	return nil
}

func (in *incoming) checkInputs(row []byte) error {
	s := in.image.schema
	size := s.Input.Size()
	for i := range 2 * s.MaxPlayers {
		var input InputBytes
		copy(input[:], row[i*size:(i+1)*size])
		if !s.Input.Valid(input) {
			return fmt.Errorf("the input of player %d has bytes that no program could have stored", i%s.MaxPlayers)
		}
	}
	return nil
}

// checkRows checks the rows that differ in a page, and all rows in a page of an image.
func (in *incoming) checkRows(p *pagePair) error {
	old, now := p.contents()
	c, stride, end := p.column, int(p.column.stride), max(len(old), len(now)) // pages of an image have all rows
	free := c.index != columnIdentity && c.layout.takesAny()                  // values of rows in use need no check
	word, block := uint64(0), -1
	for at := 0; at < end; at += stride {
		i := uint32(p.index<<c.shift + at/stride)
		if k := int(i / BlockRows); k != block {
			word, block = in.word(c, p.owner, k), k
		}
		present := word>>(i%BlockRows)&1 != 0
		if present && free {
			at += (bits.TrailingZeros64(^(word >> (i % BlockRows))) - 1) * stride // to the last row in use
			continue
		}
		if n := in.entities(p, now[min(at, len(now)):], i, word>>(i%BlockRows)); n > 0 {
			at += (n - 1) * stride
			continue
		}
		row := part(now, at, stride)
		if !in.whole && bytes.Equal(part(old, at, stride), row) {
			continue
		}
		if err := in.checkRow(p.store, row, i, present); err != nil {
			return err
		}
	}
	return nil
}

// entities returns how many of the rows from row i on are correct entities, if p is a page of the identity column. content
// begins with row i. present has a bit for each row of its block from row i on.
func (in *incoming) entities(p *pagePair, content []byte, i uint32, present uint64) (n int) {
	if p.column.index != columnIdentity {
		return 0
	}
	want := uint64(p.owner)<<regionShift | uint64(i)
	most := bits.TrailingZeros64(^present)
	for ; n < most && len(content) >= 16; n, content = n+1, content[16:] {
		if binary.LittleEndian.Uint64(content) != want+uint64(n) || Tick(binary.LittleEndian.Uint64(content[8:])) > in.to {
			break // checkRow reports it
		}
	}
	return n
}

func (in *incoming) checkPresence(p *pagePair) error {
	columns := in.image.columns
	for k, w := range p.words {
		if stray := w.now &^ in.word(&columns[columnIdentity], p.owner, k); stray != 0 {
			return fmt.Errorf("row %d has the component, but no entity is there", k*BlockRows+bits.TrailingZeros64(stray))
		}
		if p.owner == OwnedByWorld && k == 0 && w.now&1 != 0 {
			return errors.New("row 0, which is no entity, is in use")
		}
		for i := engineColumns; i < len(columns) && w.old&^w.now != 0 && p.column.index == columnIdentity; i++ {
			if c := &columns[i]; !c.single && in.word(c, p.owner, k)&w.old&^w.now != 0 {
				return fmt.Errorf("an entity of rows %d to %d is removed and has component %q", k*BlockRows, k*BlockRows+BlockRows-1, c.name)
			}
		}
		for changed := w.old ^ w.now; changed != 0 && p.column.stride > 0; changed &= changed - 1 {
			i := uint32(k*BlockRows + bits.TrailingZeros64(changed))
			if data := &p.column.regions[p.owner].data; in.whole && in.lists(data, int(i>>p.column.shift)) {
				changed &= ^p.column.pageMask(i)
				continue // checkRows
			}
			if err := in.checkRow(p.store, in.row(p.column, p.owner, i), i, w.now&(changed&-changed) != 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRow checks row i of a store's owner. present is the row's presence bit.
func (in *incoming) checkRow(st *store, row []byte, i uint32, present bool) error {
	if !present {
		if !isZero(row) {
			return fmt.Errorf("row %d is not in use and not zero", i)
		}
		return nil
	}
	identity, want, born := st.column.index == columnIdentity, uint32(0), Tick(0)
	if identity {
		want, born = uint32(st.owner)<<regionShift|i, Tick(binary.LittleEndian.Uint64(row[8:]))
		if binary.LittleEndian.Uint64(row) == uint64(want) && born <= in.to { // with the padding
			return nil
		}
	}
	if err := st.column.layout.check(row); err != nil {
		return fmt.Errorf("row %d: %w", i, err)
	}
	if !identity {
		return nil
	}
	if got := binary.LittleEndian.Uint32(row); got != want {
		return fmt.Errorf("row %d has the number %d, want %d", i, got, want)
	}
	if born > in.to {
		return fmt.Errorf("row %d is born in tick %d, after the image's %d", i, born, in.to)
	}
	return nil
}

// page returns the start of the content of page i of a store in the new state.
func (in *incoming) page(st *store, i int) []byte {
	switch {
	case in.lists(st, i):
		return in.pages[*in.last(st)].now.content()
	case i < len(st.pages):
		return in.image.live[st.pages[i]].base.content()
	}
	return nil
}

// last returns the position in pages of the page of the store's kind that was found last.
func (in *incoming) last(st *store) *int {
	if st.isBits {
		return &in.found[1]
	}
	return &in.found[0]
}

// lists reports whether page i of a store is in pages. Its position is then that of last.
func (in *incoming) lists(st *store, i int) (found bool) {
	last := in.last(st)
	for n := *last; n < min(*last+2, len(in.pages)); n++ { // or the next one
		if in.pages[n].store == st && in.pages[n].index == i {
			*last = n
			return true
		}
	}
	*last, found = slices.BinarySearchFunc(in.pages, pagePair{store: st, index: i}, func(a, b pagePair) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.index, b.index))
	})
	return found
}

func (in *incoming) word(c *Column, o Owner, k int) uint64 {
	return wordOf(in.page(&c.regions[o].bits, k/bitsPageWords), k%bitsPageWords)
}

func (in *incoming) row(c *Column, o Owner, i uint32) []byte {
	pg := in.page(&c.regions[o].data, int(i>>c.shift))
	return part(pg, int(i&(1<<c.shift-1))*int(c.stride), int(c.stride))
}

// growth returns the number of bytes of the pages that an image or a delta needs. For a delta, pages that the world already
// has do not count. For a whole image they count: a store could otherwise grow with each image. Every row up to the last in
// use needs memory.
func (in *incoming) growth() (total int) {
	held := func(s *store) int { return len(s.pages) }
	if in.whole {
		held = func(*store) int { return 0 }
	}
	for p, top := range in.tops {
		total += max(0, p.index+1-held(p.store)) * p.pool.bytes
		if c := p.column; c.stride > 0 {
			total += max(0, int(top>>c.shift)+1-held(&c.regions[p.owner].data)) * c.pool.bytes
		}
	}
	return total
}

// tops yields the highest row in use of each store of presence bits, and its page.
func (in *incoming) tops(yield func(p *pagePair, row uint32) bool) {
	var last *store
	for i := range slices.Backward(in.pages) {
		p := &in.pages[i]
		top, ok := p.top()
		if !ok || p.store == last {
			continue
		}
		if last = p.store; !yield(p, top) {
			return
		}
	}
}

// top returns the highest row in use by a page of presence bits. ok is false if there is none, or if it is a page of rows.
func (p *pagePair) top() (row uint32, ok bool) {
	if !p.isBits {
		return 0, false
	}
	_, now := p.contents()
	for i := bitsPageWords - 1; i >= 0; i-- {
		if word := wordOf(now, i); word != 0 {
			return uint32((p.index*bitsPageWords+i)*BlockRows + bits.Len64(word) - 1), true
		}
	}
	return 0, false
}

// useRows makes the rows whose presence bit is new a part of the image. A row of zeros need not be in a received page of rows.
func (in *incoming) useRows(p *pagePair) {
	for k, w := range p.words {
		for set := w.now &^ w.old; set != 0; {
			i := uint32(k*BlockRows + bits.Len64(set) - 1) // the last of its page
			in.image.use(&p.column.regions[p.owner], p.column, i)
			set &^= p.column.pageMask(i)
		}
	}
}

// pageMask returns the rows of row i's block that are in the same page.
func (c *Column) pageMask(i uint32) uint64 {
	perPage := uint32(1) << c.shift
	if c.stride == 0 || perPage >= BlockRows {
		return fullBlock
	}
	return (1<<perPage - 1) << (i % BlockRows &^ (perPage - 1))
}

// keeps reports whether pages may keep the memory of an encoded image. A single page would keep all of it. So most of it must
// be theirs, and the pools must not have as many unused pages.
func (in *incoming) keeps() bool {
	unused := 0
	for _, p := range in.image.pools {
		unused += len(p.free) * p.bytes
	}
	return in.long-unused >= cap(in.owned)-cap(in.owned)/8
}

// keep moves a page of an encoded image to the front of the image's memory, behind the pages that were moved there before. It
// reports false if that is not possible.
func (in *incoming) keep(p *pagePair) bool {
	pg := p.now
	if in.owned == nil || pg.pool != nil || !p.pool.isLong(pg.mem) {
		return false
	}
	from, to := cap(in.owned)-cap(pg.mem), in.moved
	to += int(-uintptr(unsafe.Pointer(&in.owned[to])) % 8) // rows are aligned
	if to > from {
		return false
	}
	in.moved = to + copy(in.owned[to:], pg.mem)
	pg.mem, pg.pool, pg.refs = in.owned[to:in.moved:in.moved], p.pool, 1
	p.pool.made++
	return true
}

// copyRegion gives a region without memory that of a copy of its pages, if an encoded image lists all up to row top. So new memory
// is not zeroed first.
func (in *incoming) copyRegion(r *region, c *Column, top uint32) {
	need := c.pagesFor(top)
	if !in.whole || len(r.data.pages) > 0 || !in.lists(&r.data, 0) {
		return
	}
	first := *in.last(&r.data)
	if first+need > len(in.pages) {
		return
	}
	list := in.pages[first : first+need]
	for i := range list {
		if p := &list[i]; p.store != &r.data || p.index != i || p.now == nil || p.now.pool != nil {
			return
		}
	}
	start, size := list[0].now.mem, need*c.pool.bytes // pages of an encoded image that are listed in a row are adjacent
	r.slab, r.slabEnd = bytes.Clone(start[:size:size]), need
	for i := range list {
		list[i].copied = true
	}
}

// publish makes the new state the image's. As after a save, each new page becomes the base of its live page.
func (in *incoming) publish() {
	if !in.keeps() {
		in.owned = nil
	}
	for p, top := range in.tops { // all of a region's memory at once
		in.copyRegion(&p.column.regions[p.owner], p.column, top)
		in.image.makeRoom(&p.column.regions[p.owner], p.column, top)
	}
	for i := range in.pages {
		p := &in.pages[i]
		if p.isBits {
			in.useRows(p)
		}
		if p.index < len(p.pages) && p.now == in.image.live[p.pages[p.index]].base {
			continue
		}
		if p.now != nil && len(p.now.mem) == p.pool.bytes && (p.now.pool == nil || p.pool.short != nil) && !in.keep(p) {
			read := p.now
			p.now = p.pool.hold(read.mem)
			p.now.hashed, p.now.term = read.hashed, read.term
			if read.pool != nil { // not of an encoded image
				read.release()
			}
		}
		live := &in.image.live[p.pages[p.index]]
		if !p.copied {
			live.fill(p.now.content())
		}
		live.base, p.now = p.now, live.base // release frees the page that was the base
	}
}
