package image

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// pageBytes is the size that pages approach: small, so that a changed entity copies little, and large enough for a
// short page table.
const pageBytes = 4096

// page is the content of one page at some tick. It does not change while a snapshot holds it, so snapshots share it.
// refs counts the snapshots that hold it, and the live page whose base it is.
type page struct {
	mem    []byte
	pool   *pool // to which it returns
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

// poolBatch is the number of pages that a pool makes first, for rooms with a handful of entities. A pool doubles up
// to poolBatchMax: few, large allocations, and adjacent pages.
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

// content returns a page's bytes: n zeros for nil, a page that was never written.
func (pg *page) content(n int) []byte {
	if pg == nil {
		return zeros[:n]
	}
	return pg.mem
}

// checksum returns the page's part of its column's checksum. It is 0 for a page of zeros: a page that was never
// allocated counts like one that was emptied.
//
// The hash is XXH64: the same bits on every target, and well maintained. XXH3 hashes 24 GB/s and XXH64 10. But only
// changed pages are hashed, once each, and peers compare one tick in sixty. With a tenth of the pages changed, a
// tick costs an eighth of hashing all.
func (pg *page) checksum(salt uint64) uint64 {
	if pg == nil {
		return 0
	}
	if !pg.hashed {
		pg.term = 0
		if !bytes.Equal(pg.mem, zeros[:len(pg.mem)]) {
			pg.term = mix(xxhash.Sum64(pg.mem) ^ salt)
		}
		pg.hashed = true
	}
	return pg.term
}

// mix is the finalizer of SplitMix64, a bijection in which every input bit reaches every output bit (Steele, Lea,
// Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
