package image

import (
	"math/bits"
	"unsafe"
)

// blockRows is the number of rows that one presence word covers; queries walk the rows block by block.
const blockRows = 64

// BlockRows is the number of rows in a block, which Column.Word counts by.
const BlockRows = blockRows

// Column holds one component type: for each owner a region of rows, cut into pages. Rows that no entity has are zero.
// Rows of one block lie next to each other in memory, and no row ever moves.
type Column struct {
	info    *columnInfo
	regions []region // index = Owner
}

// columnInfo is what a column's regions have in common.
type columnInfo struct {
	name     string
	layout   *layout
	index    int     // position in the image: the column's order in checksums, reports and encodings
	stride   uintptr // bytes per row
	shift    uint8   // log2 of the rows in a page
	pool     *pool   // pages of rows
	single   bool    // one row for ever: a resource
	rounds   bool    // rows are rounded at the end of a tick: by quantise, unless it is nil, and to their steps
	quantise func(row unsafe.Pointer)

	roles roles // zero for resources and the engine's own
}

// pageShift returns log2 of the rows in a page of rows of this size: the most that fit pageBytes, at least one.
func pageShift(stride uintptr) uint8 {
	if stride >= pageBytes {
		return 0
	}
	return uint8(bits.Len(uint(pageBytes/stride)) - 1)
}

// region is one owner's rows of one column. words has a bit for each row that has the component; data holds the rows.
// Both grow by appending pages, in step with the highest row used.
type region struct {
	words []uint64
	bits  store // the pages of words
	data  store // the pages of rows
	// joined is, by page of data, the first page that is not in one piece of memory with it. slab is memory for the
	// pages of data up to slabEnd.
	joined  []uint32
	slab    []byte
	slabEnd int
}

// store is a growing run of pages of the image.
type store struct {
	info  *storeInfo
	pages []uint32         // page number in image.live, ascending
	mem   []unsafe.Pointer // the pages' live memory
}

// storeInfo places a store in the image: which column and owner it belongs to, and which of the two it is.
type storeInfo struct {
	number int // position among the image's stores
	column *columnInfo
	owner  Owner
	isBits bool
	bytes  int   // bytes in a page
	pool   *pool // where its snapshot pages come from
}

// bitsPageWords is the number of presence words in a page: 512 bytes, 4096 rows.
const bitsPageWords = 64

// nothing is where the rows of a component without fields lie.
var nothing uint64

// rowOf returns the memory of row i of region r, which must exist.
func (c *Column) rowOf(r *region, i uint32) unsafe.Pointer {
	if c.info.stride == 0 {
		return unsafe.Pointer(&nothing)
	}
	return unsafe.Add(r.data.mem[i>>c.info.shift], uintptr(i&(1<<c.info.shift-1))*c.info.stride)
}

// has reports whether row i has the component.
func (r *region) has(i uint32) bool {
	k := i / blockRows
	return int(k) < len(r.words) && r.words[k]&(1<<(i%blockRows)) != 0
}

// Owners returns how many owners have rows in the column: one for a resource.
func (c *Column) Owners() int { return len(c.regions) }

// Blocks returns how many blocks of BlockRows rows the owner has.
func (c *Column) Blocks(o Owner) int { return len(c.regions[o].words) }

// Word returns which rows of block k the owner has in the column, one bit per row.
func (c *Column) Word(o Owner, k int) uint64 { return c.regions[o].word(k) }

// Has reports whether row i of the owner has the component.
func (c *Column) Has(o Owner, i uint32) bool { return c.regions[o].has(i) }

// At returns the memory of row i of the owner, which must exist and must not be written.
func (c *Column) At(o Owner, i uint32) unsafe.Pointer { return c.rowOf(&c.regions[o], i) }
