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
	running   bool   // a tick or Setup is running
	unordered bool   // see Unordered
	derived   uint64 // see DerivedVersion
	states    uint64 // see StateVersion
}

type pageTable struct {
	stores      []*store // every store of every column, by number
	live        []livePage
	dirty       []uint32 // numbers of the marked pages, each once
	order       []uint32 // numbers of all pages, column by column; see inOrder
	pools       []*pool
	bitPool     *pool
	nextChecked uint32   // next unmarked page that a save compares
	strays      uint64   // pages found changed without a mark
	rounds      bool     // a column has rows that are rounded
	bytes       int      // of live pages
	scratch     []uint64 // see scratchRows
	now         Snapshot // see present
}

// livePage is a page that systems read and write. base is the page that it equalled when it was last saved or restored, nil
// for zeros.
type livePage struct {
	mem    []byte
	base   *page
	salt   uint64
	store  *store
	index  uint32 // position in its store
	marked bool
}

// New returns an image of tick 0 without entities. The schema must have passed Check. Encoded images carry the fingerprint,
// which is the game's. The seed starts the random source. Every peer of a match uses the same.
func New(s *Schema, fingerprint, seed uint64) *Image {
	owners := s.MaxPlayers + 1
	im := &Image{schema: s, fingerprint: fingerprint, pageTable: pageTable{bitPool: &pool{bytes: bitsPageWords * 8}}}
	im.structure.reserved, im.structure.hint = make([][]uint64, owners), make([]uint32, owners)
	im.pools = append(im.pools, im.bitPool)
	infos := columnInfos(s)
	im.columns = make([]Column, len(infos))
	for i, info := range infos {
		info.index, info.pool = i, &pool{bytes: int(info.stride) << info.shift}
		im.rounds = im.rounds || info.rounds
		im.pools = append(im.pools, info.pool)
		n := owners
		if info.single {
			n = 1
		}
		c := &im.columns[i]
		c.info, c.regions = info, make([]region, n)
		for o := range c.regions {
			r := &c.regions[o]
			presence := &storeInfo{number: len(im.stores), column: info, owner: Owner(o), isBits: true, bytes: im.bitPool.bytes, pool: im.bitPool}
			rows := &storeInfo{number: len(im.stores) + 1, column: info, owner: Owner(o), bytes: info.pool.bytes, pool: info.pool}
			r.bits.info, r.data.info = presence, rows
			im.stores = append(im.stores, &r.bits, &r.data)
		}
	}
	for i := range im.columns {
		if c := &im.columns[i]; c.info.single {
			im.growData(&c.regions[0], c.info, 0)
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
	im.live = append(im.live, livePage{mem: mem, salt: s.info.salt(int(index)), store: s, index: index})
}

// salt distinguishes page i of the store from all others in checksums.
func (s *storeInfo) salt(i int) uint64 { return mix(uint64(s.number)<<32 | uint64(i)) }

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
			im.live[number].mem, r.bits.mem[k] = mem, unsafe.Pointer(unsafe.SliceData(mem))
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

// growData gives the region memory for row i and the rest of its block. Memory is allocated in slabs that grow with the
// region. Runs of rows stay long, and no page ever moves. A slab's pages join the image as they are needed.
func (im *Image) growData(r *region, info *columnInfo, i uint32) {
	if info.stride == 0 {
		return
	}
	blockPages := max(1, BlockRows>>info.shift)
	if info.single {
		blockPages = 1
	}
	for have := len(r.data.pages); have<<info.shift <= int(i); have += blockPages {
		if have == r.slabEnd {
			pages := min(max(blockPages, have), max(blockPages, slabPagesMax))
			r.slab, r.slabEnd = wordBytes(make([]uint64, (pages*info.pool.bytes+7)/8)), have+pages
		}
		for range blockPages {
			im.addPage(&r.data, r.slab[:info.pool.bytes:info.pool.bytes])
			r.slab = r.slab[info.pool.bytes:]
			r.joined = append(r.joined, uint32(r.slabEnd))
		}
	}
}

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
func (im *Image) markRow(r *region, info *columnInfo, i uint32) {
	if info.stride != 0 {
		im.mark(r.data.pages[i>>info.shift])
	}
}

// setBit gives row i the component: its presence bit is set and its memory exists.
func (im *Image) setBit(r *region, info *columnInfo, i uint32) {
	if int(i/BlockRows) >= len(r.words) || int(i>>info.shift) >= len(r.data.mem) {
		im.makeRoom(r, info, i)
	}
	im.mark(r.bits.pages[i/(BlockRows*bitsPageWords)])
	r.words[i/BlockRows] |= 1 << (i % BlockRows)
}

func (im *Image) makeRoom(r *region, info *columnInfo, i uint32) {
	if int(i/BlockRows) >= len(r.words) {
		im.growBits(r, i)
	}
	if int(i>>info.shift) >= len(r.data.mem) {
		im.growData(r, info, i)
	}
}

// clearRow removes the component from row i and zeroes its memory.
func (c *Column) clearRow(im *Image, r *region, i uint32) {
	im.mark(r.bits.pages[i/(BlockRows*bitsPageWords)])
	r.words[i/BlockRows] &^= 1 << (i % BlockRows)
	if c.info.stride != 0 {
		im.markRow(r, c.info, i)
		clear(unsafe.Slice((*byte)(c.rowOf(r, i)), c.info.stride))
	}
}

// scrubPage zeroes the padding of a marked page, so that it can be compared.
func (im *Image) scrubPage(p *livePage) {
	info := p.store.info.column
	if p.store.info.isBits || len(info.layout.padding) == 0 {
		return
	}
	for at := 0; at < len(p.mem); at += int(info.stride) {
		info.layout.scrub(p.mem[at:])
	}
}

// changed reports whether a live page differs from its base.
func (p *livePage) changed() bool { return !bytes.Equal(p.mem, p.base.content(len(p.mem))) }
