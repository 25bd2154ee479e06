package image

import (
	"bytes"
	"unsafe"
)

// Image is all simulated state of a world: the columns of its components and resources, cut into pages. Two images in the
// same state are equal byte for byte, whatever their history. Rows that are not in use are zero, and padding is zeroed
// before a save.
//
// A page that is not marked equals its base. A page is marked before it is written.
type Image struct {
	schema      *Schema
	fingerprint uint64 // the game's, for encoded images
	columns     []Column
	byID        []*Column // index = Declaration.id
	observer    Observer  // nil: sections are not observed
	pageTable

	structure structure
	limit     limit
	sight     sight
	placings  []placing // of the last tick
	incoming  incoming
	running   bool // a tick or Setup is running
	unordered bool // see Unordered
	predicted ComponentSet
	derived   uint64 // see DerivedVersion
	states    uint64 // see StateVersion
}

type pageTable struct {
	stores      []*store // every store of every column, by number
	live        []livePage
	dirty       []uint32 // numbers of the marked pages, each once
	order       []uint32 // numbers of all pages, column by column; see inOrder
	pools       []*pool
	nextChecked uint32   // next unmarked page that a save compares
	strays      uint64   // pages found changed without a mark
	rounds      bool     // a column has rows that are rounded
	bytes       int      // of live pages
	scratch     []uint64 // see scratchRows
	redacted    []uint64 // scratch: a page of Snapshot.Redact
	now         Snapshot // see present
}

// livePage is a page that systems read and write. base is the page that it equalled when it was last saved or restored, nil
// for zeros.
type livePage struct {
	mem    []byte // the start of its memory, whose rest is zero and was never used
	base   *page
	salt   uint64
	store  *store
	index  uint32 // position in its store
	marked bool
	padded bool // its rows have padding
}

// New returns an image of tick 0 without entities. The schema must have passed Check. Encoded images carry the fingerprint,
// which is the game's. The seed starts the random source. Every peer of a match uses the same.
func New(s *Schema, fingerprint, seed uint64) *Image {
	im := &Image{schema: s, fingerprint: fingerprint, columns: newColumns(s), predicted: s.Predicted()}
	owners := s.MaxPlayers + 1
	im.structure.reserved.words, im.structure.hint = make([][]uint64, owners), make([]uint32, owners)
	bits := newPool(8, rowsShift(bitsPageWords*8, 8))
	bits.short = &pool{bytes: shortWords * 8, whole: bits.whole}
	im.pools = append(im.pools, bits, bits.short)
	for i := range im.columns {
		c := &im.columns[i]
		im.rounds = im.rounds || c.rounds
		im.pools = append(im.pools, c.pool)
		for p := c.pool.short; p != nil; p = p.short {
			im.pools = append(im.pools, p)
		}
		if c.single {
			c.regions = make([]region, 1)
		} else {
			c.regions = make([]region, owners)
		}
		for o := range c.regions {
			r, n := &c.regions[o], len(im.stores)
			r.bits = store{number: n, column: c, owner: Owner(o), isBits: true, pool: bits}
			r.data = store{number: n + 1, column: c, owner: Owner(o), pool: c.pool}
			im.stores = append(im.stores, &r.bits, &r.data)
		}
		if c.single {
			im.growData(&c.regions[0], c, 0)
		}
	}
	for i, d := range s.declared() {
		for len(im.byID) <= d.id {
			im.byID = append(im.byID, nil)
		}
		im.byID[d.id] = &im.columns[engineColumns+i]
	}
	im.writeCore().Rand = *NewRand(seed)
	im.invalidate()
	return im
}

func (im *Image) addPage(s *store, mem []byte) {
	index := uint32(len(s.pages))
	im.bytes += len(mem)
	s.pages = append(s.pages, uint32(len(im.live)))
	s.mem = append(s.mem, unsafe.Pointer(unsafe.SliceData(mem)))
	im.live = append(im.live, livePage{mem: mem[:s.pool.least(0).bytes:len(mem)], salt: s.salt(int(index)), store: s, index: index,
		padded: !s.isBits && len(s.column.layout.padding) > 0})
}

// salt distinguishes page i of the store from all others in checksums.
func (s *store) salt(i int) uint64 { return mix(uint64(s.number)<<32 | uint64(i)) }

// inOrder returns the numbers of all pages, column by column and upwards: the order in which their memory is walked.
func (im *Image) inOrder() []uint32 {
	if len(im.order) != len(im.live) {
		im.order = im.order[:0]
		for _, st := range im.stores {
			im.order = append(im.order, st.pages...)
		}
	}
	return im.order
}

func (im *Image) growBits(r *region, i uint32) {
	need := (int(i)/BlockRows/bitsPageWords + 1) * bitsPageWords
	if need <= len(r.words) {
		return
	}
	if need > cap(r.words) {
		words := make([]uint64, len(r.words), max(need, 2*cap(r.words)))
		copy(words, r.words)
		r.words = words
		for k, number := range r.bits.pages {
			mem := wordBytes(words[k*bitsPageWords : (k+1)*bitsPageWords])
			im.live[number].mem, r.bits.mem[k] = mem[:len(im.live[number].mem)], unsafe.Pointer(unsafe.SliceData(mem))
		}
		im.now.table = im.now.table[:0]
	}
	for len(r.words) < need {
		from := len(r.words)
		r.words = r.words[:from+bitsPageWords]
		im.addPage(&r.bits, wordBytes(r.words[from:]))
	}
}

// slabPagesMax bounds the pages that are allocated together: a growing region wastes at most 256 KiB.
const slabPagesMax = 64

// growData gives the region memory for row i and the rest of its block. Memory is allocated in slabs that are large enough
// for the row and grow with the region. Runs of rows stay long, and no page ever moves. A slab's pages join the image as they
// are needed.
func (im *Image) growData(r *region, c *Column, i uint32) {
	if c.stride == 0 {
		return
	}
	blockPages := c.blockPages()
	need := c.pagesFor(i)
	for have := len(r.data.pages); have < need; have += blockPages {
		if have == r.slabEnd {
			pages := max(need-have, min(have, slabPagesMax))
			r.slab, r.slabEnd = wordBytes(make([]uint64, (pages*c.pool.bytes+7)/8)), have+pages
		}
		for range blockPages {
			im.addPage(&r.data, r.slab[:c.pool.bytes:c.pool.bytes])
			r.slab = r.slab[c.pool.bytes:]
			r.joined = append(r.joined, uint32(r.slabEnd))
		}
	}
}

// blockPages returns the number of pages that are added to a region at once.
func (c *Column) blockPages() int {
	if c.single {
		return 1
	}
	return max(1, BlockRows>>c.shift)
}

// pagesFor returns the number of pages of a region with row i.
func (c *Column) pagesFor(i uint32) int { return (int(i)>>c.shift/c.blockPages() + 1) * c.blockPages() }

func wordBytes(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}

// mark notes that a live page is about to be written.
func (im *Image) mark(number uint32) {
	if p := &im.live[number]; !p.marked {
		p.marked = true
		im.dirty = append(im.dirty, number)
	}
}

// markRow marks the page that holds row i of region r.
func (im *Image) markRow(r *region, c *Column, i uint32) {
	if c.stride != 0 {
		im.mark(r.data.pages[i>>c.shift])
	}
}

// setBit gives row i the component: its presence bit is set and its memory exists.
func (im *Image) setBit(r *region, c *Column, i uint32) {
	im.use(r, c, i)
	im.mark(r.bits.pages[i/(BlockRows*bitsPageWords)])
	r.words[i/BlockRows] |= 1 << (i % BlockRows)
}

// use makes row i of a column a part of the image, with its presence bit.
func (im *Image) use(r *region, c *Column, i uint32) {
	if int(i/BlockRows) >= len(r.words) || int(i>>c.shift) >= len(r.data.mem) {
		im.makeRoom(r, c, i)
	}
	word := int(i / BlockRows)
	im.live[r.bits.pages[word/bitsPageWords]].use((word%bitsPageWords + 1) * 8)
	if c.stride > 0 {
		im.live[r.data.pages[i>>c.shift]].use((int(i&(1<<c.shift-1)) + 1) * int(c.stride))
	}
}

// use makes at least the first n bytes part of the page's start.
func (p *livePage) use(n int) {
	if n > len(p.mem) {
		p.mem = p.mem[:p.store.pool.least(n).bytes]
	}
}

func (im *Image) makeRoom(r *region, c *Column, i uint32) {
	if int(i/BlockRows) >= len(r.words) {
		im.growBits(r, i)
	}
	if int(i>>c.shift) >= len(r.data.mem) {
		im.growData(r, c, i)
	}
}

// clearRow removes the component from row i and zeroes its memory.
func (c *Column) clearRow(im *Image, r *region, i uint32) {
	im.mark(r.bits.pages[i/(BlockRows*bitsPageWords)])
	r.words[i/BlockRows] &^= 1 << (i % BlockRows)
	if c.stride != 0 {
		im.markRow(r, c, i)
		clear(unsafe.Slice((*byte)(c.rowOf(r, i)), c.stride))
	}
}

// scrub zeroes the padding of a marked page, so that it can be compared.
func (p *livePage) scrub() {
	c := p.store.column
	for at := 0; at < len(p.mem); at += int(c.stride) {
		c.layout.scrub(p.mem[at:])
	}
}

// changed reports whether a live page differs from its base.
func (p *livePage) changed() bool {
	if p.base != nil && len(p.base.mem) == len(p.mem) {
		return !bytes.Equal(p.base.mem, p.mem)
	}
	return !isContent(p.base.content(), p.mem)
}
