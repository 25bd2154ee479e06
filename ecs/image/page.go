package image

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// pageBytes is the size that pages aim at: small enough that a changed entity copies little, large enough that the
// page table stays short.
const pageBytes = 4096

// page is the content of one page at some tick. It never changes while a snapshot holds it, so snapshots share it.
// refs counts the snapshots that hold it plus the live page whose base it is.
type page struct {
	mem    []byte
	refs   int32
	hashed bool
	term   uint64 // this page's share of its column's checksum, valid when hashed
}

// zeros is what a page without content is compared with.
var zeros [max(pageBytes, maxRowBytes)]byte

// maxRowBytes bounds a component's size: a row must be worth copying as a unit.
const maxRowBytes = 16 << 10

// pool hands out pages of one size. It only grows; its pages come back when their last holder lets go.
type pool struct {
	bytes int
	free  []*page
	made  int
}

// take returns a page with one reference and undefined content.
func (p *pool) allocate() *page {
	if n := len(p.free); n > 0 {
		pg := p.free[n-1]
		p.free = p.free[:n-1]
		pg.refs, pg.hashed = 1, false
		return pg
	}
	return p.grow()
}

// poolBatch is the fewest pages that are made at once, for rooms with a handful of entities; a pool doubles up to
// poolBatchMax: fewer, larger allocations, and copies into pages that lie next to each other.
const (
	poolBatch    = 2
	poolBatchMax = 64
)

func (p *pool) grow() *page {
	words, n := (p.bytes+7)/8, min(max(poolBatch, p.made), poolBatchMax)
	mem := make([]uint64, words*n)
	pages := make([]page, n)
	for i := range slices.Backward(pages) { // take then hands them out in the order of their memory
		pages[i].mem = unsafe.Slice((*byte)(unsafe.Pointer(&mem[i*words])), p.bytes)
		p.free = append(p.free, &pages[i])
	}
	p.made += n
	return p.allocate()
}

// drop takes one reference from pg, which may be nil.
func (p *pool) release(pg *page) {
	if pg == nil {
		return
	}
	if pg.refs--; pg.refs == 0 {
		p.free = append(p.free, pg)
	}
}

// content returns a page's bytes, n zero bytes for a page that was never written.
func (pg *page) content(n int) []byte {
	if pg == nil {
		return zeros[:n]
	}
	return pg.mem
}

// share returns the page's share of its column's checksum: 0 for a page of zeros, so that a page which was never
// allocated and one that was emptied count the same.
//
// The hash is XXH64: the same bits on every target, and well kept. XXH3 hashes 24 GB/s where XXH64 hashes 10, but only
// pages that changed are hashed, once each, so a tick in which a tenth of the pages changed costs an eighth of hashing
// everything, and peers compare one tick in sixty.
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

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014):
// a bijection on 64 bits in which every input bit reaches every output bit.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
