package image

import (
	"math/bits"
	"unsafe"
)

// BlockRows is the number of rows in a block: those of one presence word. Queries walk the rows block by block.
const BlockRows = 64

// Column holds one component type: for each owner a region of rows, cut into pages. Rows without an entity are zero.
// Rows of one block are adjacent in memory, and no row ever moves.
type Column struct {
	info    *columnInfo
	regions []region // index = Owner
}

// columnInfo is the part of a column that its regions share.
type columnInfo struct {
	name   string
	layout *layout
	index  int     // position in the image: the column's order in checksums, reports and encodings
	stride uintptr // bytes per row
	shift  uint8   // log2 of the rows in a page
	pool   *pool   // pages of rows
	single bool    // one row: a resource
	rounds bool    // rows are rounded at the end of a tick: by their Quantise role and to their steps
	roles  roles   // zero for resources and the engine's own columns
}

// pageShift returns log2 of the rows in a page: the most that fit pageBytes, at least one.
func pageShift(stride uintptr) uint8 {
	if stride >= pageBytes {
		return 0
	}
	return uint8(bits.Len(uint(pageBytes/stride)) - 1)
}

// region is one owner's rows of one column. words has a bit for each row that has the component. data holds the
// rows. Both grow by pages, with the highest row used.
type region struct {
	words []uint64
	bits  store // the pages of words
	data  store // the pages of rows
	// joined is, by page of data, the first page that is not adjacent in memory. slab is memory for the pages of data
	// up to slabEnd.
	joined  []uint32
	slab    []byte
	slabEnd int
}

// store is a growing sequence of pages of the image.
type store struct {
	info  *storeInfo
	pages []uint32         // page number in image.live, ascending
	mem   []unsafe.Pointer // the pages' live memory
}

// storeInfo is the place of a store in the image: its column, its owner, and whether it holds presence bits or rows.
type storeInfo struct {
	number int // position among the image's stores
	column *columnInfo
	owner  Owner
	isBits bool
	bytes  int   // bytes in a page
	pool   *pool // source of its snapshot pages
}

// bitsPageWords is the number of presence words in a page: 512 bytes, 4096 rows.
const bitsPageWords = 64

// nothing is the memory of every row of a component without fields.
var nothing uint64

// rowOf returns the memory of row i of region r. The row must exist.
func (c *Column) rowOf(r *region, i uint32) unsafe.Pointer {
	if c.info.stride == 0 {
		return unsafe.Pointer(&nothing)
	}
	return unsafe.Add(r.data.mem[i>>c.info.shift], uintptr(i&(1<<c.info.shift-1))*c.info.stride)
}

// has reports whether row i has the component.
func (r *region) has(i uint32) bool {
	k := i / BlockRows
	return int(k) < len(r.words) && r.words[k]&(1<<(i%BlockRows)) != 0
}

// Owners returns the number of owners in the column: one for a resource.
func (c *Column) Owners() int { return len(c.regions) }

// Words returns the presence words of the owner, one per block of BlockRows rows. They must not be written.
func (c *Column) Words(o Owner) []uint64 { return c.regions[o].words }

// Word returns presence word k of the owner, 0 beyond its last block.
func (c *Column) Word(o Owner, k int) uint64 { return c.regions[o].word(k) }

// Has reports whether row i of the owner has the component.
func (c *Column) Has(o Owner, i uint32) bool { return c.regions[o].has(i) }

// At returns the memory of row i of the owner, which must exist and must not be written.
func (c *Column) At(o Owner, i uint32) unsafe.Pointer { return c.rowOf(&c.regions[o], i) }
