package image

import (
	"bytes"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// pageBytes is the size that pages approach: small, so that a changed entity copies little, and large enough for a short
// page table.
const pageBytes = 4096

// shortBytes are the sizes that short pages approach. Many owners use only the first rows of a page. A page of which only the
// first bytes were ever used is copied, compared and stored as a short one.
var shortBytes = [...]int{512, 128}

// page is the content of one page at some tick. It does not change while a snapshot holds it, so snapshots share it. refs
// counts the snapshots that hold it, and the live page whose base it is.
type page struct {
	mem    []byte // the start of the content; the rest is zero
	pool   *pool  // to which it returns; nil: the memory is borrowed, and references are not counted
	refs   int32
	hashed bool
	term   uint64 // this page's part of its column's checksum, valid when hashed
}

// zeros is compared with pages that may be empty.
var zeros [max(pageBytes, maxRowBytes)]byte

// maxRowBytes bounds a component's size, because a row is copied as a unit.
const maxRowBytes = 16 << 10

// pool allocates pages of one size. It only grows. A page returns to it with its last reference.
type pool struct {
	bytes int
	whole int   // bytes of the content of a page, of which its memory is the start
	short *pool // of shorter pages; nil if these are the shortest
	free  []*page
	made  int
}

// allocate returns a page with one reference and undefined content.
func (p *pool) allocate() *page {
	if n := len(p.free); n > 0 {
		pg := p.free[n-1]
		p.free = p.free[:n-1]
		pg.refs, pg.hashed = 1, false
		return pg
	}
	return p.grow()
}

// poolBatch is the number of pages that a pool makes first, for rooms with a handful of entities. A pool doubles up to
// poolBatchMax: few, large allocations, and adjacent pages.
const (
	poolBatch    = 2
	poolBatchMax = 64
)

func (p *pool) grow() *page {
	words, n := (p.bytes+7)/8, min(max(poolBatch, p.made), poolBatchMax)
	mem := make([]uint64, words*n)
	pages := make([]page, n)
	for i := range slices.Backward(pages) { // allocate then returns them in the order of their memory
		pages[i].mem = unsafe.Slice((*byte)(unsafe.Pointer(&mem[i*words])), p.bytes)
		pages[i].pool = p
		p.free = append(p.free, &pages[i])
	}
	p.made += n
	return p.allocate()
}

// release removes one reference from a page, which may be nil.
func (pg *page) release() {
	if pg == nil {
		return
	}
	if pg.refs--; pg.refs == 0 {
		pg.pool.free = append(pg.pool.free, pg)
	}
}

// newPool returns a pool of pages of 1<<shift rows of stride bytes.
func newPool(stride uintptr, shift uint8) *pool {
	p := &pool{bytes: int(stride) << shift, whole: int(stride) << shift}
	if stride == 0 {
		return p
	}
	last := p
	for _, size := range shortBytes {
		if few := rowsShift(size, stride); few < shift {
			last.short = &pool{bytes: int(stride) << few, whole: p.whole}
			last, shift = last.short, few
		}
	}
	return p
}

// rowsShift returns log2 of the number of rows in a page of at most size bytes. It is a power of two, and at least one row.
func rowsShift(size int, stride uintptr) uint8 {
	return uint8(bits.Len(uint(max(1, uintptr(size)/stride))) - 1)
}

// least returns the pool of the smallest pages that hold n bytes.
func (p *pool) least(n int) *pool {
	for p.short != nil && n <= p.short.bytes {
		p = p.short
	}
	return p
}

// isLong reports whether content, which is a whole page, has no shorter form.
func (p *pool) isLong(content []byte) bool {
	return p.short == nil || !isZero(content[p.short.bytes:])
}

// hold returns a page with one reference and a copy of content, which is a whole page.
func (p *pool) hold(content []byte) *page {
	for !p.isLong(content) {
		p = p.short
	}
	pg := p.allocate()
	copy(pg.mem, content)
	return pg
}

// content returns the start of a page's bytes. The rest is zero. It is empty for nil, a page that was never written.
func (pg *page) content() []byte {
	if pg == nil {
		return nil
	}
	return pg.mem
}

// part returns n bytes of a page, at an offset. content is the start of the page. The n bytes lie within it or after it.
func part(content []byte, at, n int) []byte {
	if at < len(content) {
		return content[at : at+n]
	}
	return zeros[:n]
}

// extend returns at least n bytes of a page. content is the start of the page. The result may use wide, whose bytes are zero.
func extend(content []byte, n int, wide *[pageBytes]byte) []byte {
	switch {
	case len(content) >= n:
		return content
	case len(content) == 0: // rows as large as pages have no short form
		return zeros[:n]
	}
	copy(wide[:], content)
	return wide[:n]
}

// isContent reports whether the start of a page's content and b, which may be longer, are equal apart from trailing zeros.
func isContent(start, b []byte) bool {
	n := min(len(start), len(b))
	return bytes.Equal(start[:n], b[:n]) && isZero(start[n:]) && isZero(b[n:])
}

// checksum returns the page's part of its column's checksum. It is 0 for a page of zeros: a page that was never allocated
// counts like one that was emptied.
//
// The hash is XXH64: the same bits on every target, and well maintained. XXH3 hashes 24 GB/s and XXH64 10. But only changed
// pages are hashed, once each, and peers compare one tick in sixty. With a tenth of the pages changed, a tick costs an
// eighth of hashing all.
func (pg *page) checksum(salt uint64) uint64 {
	if pg == nil {
		return 0
	}
	if !pg.hashed {
		pg.term = 0
		if !bytes.Equal(pg.mem, zeros[:len(pg.mem)]) {
			pg.term = mix(pg.hash() ^ salt)
		}
		pg.hashed = true
	}
	return pg.term
}

// hash returns the XXH64 of the whole content.
func (pg *page) hash() uint64 {
	if pg.pool == nil || pg.pool.whole == len(pg.mem) {
		return xxhash.Sum64(pg.mem)
	}
	var d xxhash.Digest
	d.Reset()
	d.Write(pg.mem)
	d.Write(zeros[:pg.pool.whole-len(pg.mem)])
	return d.Sum64()
}

// mix is the finalizer of SplitMix64, a bijection in which every input bit reaches every output bit (Steele, Lea, Flood,
// "Fast Splittable Pseudorandom Number Generators", 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// BlockRows is the number of rows in a block: those of one presence word. Queries walk the rows block by block.
const BlockRows = 64

// Column holds one component type, or a resource as a single row: for each owner a region of rows, cut into pages. Rows
// without an entity are zero. Rows of one block are adjacent in memory, and no row ever moves.
type Column struct {
	*Declaration
	index   int      // position in the image: the column's order in checksums, reports and encodings
	stride  uintptr  // bytes per row
	shift   uint8    // log2 of the rows in a page
	pool    *pool    // pages of rows
	single  bool     // one row: a resource
	rounds  bool     // rows are rounded at the end of a tick: by their Quantise role and to their steps
	regions []region // index = Owner
}

// region is one owner's rows of one column. words has a bit for each row that has the component. data holds the rows. Both
// grow by pages, with the highest row used.
type region struct {
	words []uint64
	bits  store // the pages of words
	data  store // the pages of rows
	// joined is, by page of data, the first page that is not adjacent in memory. slab is memory for the pages of data up to
	// slabEnd.
	joined  []uint32
	slab    []byte
	slabEnd int
}

// store is a growing sequence of pages of the image: the presence bits or the rows of one column and owner.
type store struct {
	number int // position among the image's stores
	column *Column
	owner  Owner
	isBits bool
	pool   *pool            // source of its snapshot pages
	pages  []uint32         // page number in image.live, ascending
	mem    []unsafe.Pointer // the pages' live memory
}

// bitsPageWords is the number of presence words in a page: 512 bytes, 4096 rows.
const bitsPageWords = 64

// shortWords is the number of presence words in a short page: 512 rows.
const shortWords = 8

// nothing is the memory of every row of a component without fields.
var nothing uint64

// rowOf returns the memory of row i of region r. The row must exist.
func (c *Column) rowOf(r *region, i uint32) unsafe.Pointer {
	if c.stride == 0 {
		return unsafe.Pointer(&nothing)
	}
	return unsafe.Add(r.data.mem[i>>c.shift], uintptr(i&(1<<c.shift-1))*c.stride)
}

// has reports whether row i has the component.
func (r *region) has(i uint32) bool {
	k := i / BlockRows
	return int(k) < len(r.words) && r.words[k]&(1<<(i%BlockRows)) != 0
}

// Words returns the presence words of the owner, one per block of BlockRows rows. They must not be written.
func (c *Column) Words(o Owner) []uint64 { return c.regions[o].words }

// Word returns presence word k of the owner, 0 beyond its last block.
func (c *Column) Word(o Owner, k int) uint64 { return c.regions[o].word(k) }

// Has reports whether row i of the owner has the component.
func (c *Column) Has(o Owner, i uint32) bool { return c.regions[o].has(i) }

// At returns the memory of row i of the owner, which must exist and must not be written.
func (c *Column) At(o Owner, i uint32) unsafe.Pointer { return c.rowOf(&c.regions[o], i) }
