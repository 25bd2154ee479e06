package image

import (
	"bytes"
	"cmp"
	"encoding/binary"
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
