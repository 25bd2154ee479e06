package image

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// Plan is the set of components that a query uses. It belongs to no image.
type Plan struct {
	Used    []*Declaration // components that the query yields, at most four
	Write   [maxUsed]bool  // used components that are written
	With    []*Declaration // entities must have these components
	Without []*Declaration // entities must not have these components
}

const maxUsed = 4

// Writes reports whether the plan writes a component.
func (p *Plan) Writes() bool { return slices.Contains(p.Write[:], true) }

// WritesTo reports whether the plan writes this component.
func (p *Plan) WritesTo(d *Declaration) bool {
	i := slices.Index(p.Used, d)
	return i >= 0 && p.Write[i]
}

// fullBlock is a block in which every row matches.
const fullBlock = ^uint64(0)

// Cursor walks an image's rows upwards, one block at a time. After Next, Bits has a bit for each matching row of the block,
// and Base points at the block's first row in each used column.
type Cursor struct {
	Bits  uint64
	Self  unsafe.Pointer // identity of the block's first row
	Base  [maxUsed]unsafe.Pointer
	image *Image
	plan  *Plan
	owner int
	block int
	used  [maxUsed]*Column

	// After NextRun: the run's first row in each used column, and its identity.
	Run     [maxUsed]unsafe.Pointer
	RunSelf unsafe.Pointer

	limit *RowSet       // rows that may be visited; nil: all
	marks [maxUsed]bool // by used column: its pages are marked
	walk  uint8         // 0 before the first row
	words []uint64      // presence of the owner's entities, by block that is visited; none on the way down
	last  int           // owner that is visited last, and the end of its blocks that are visited
	end   int
	share *Share // blocks that are visited; nil: all
	rest  uint64 // on the way down, rows of the block that are not visited yet
	left  int    // on the way down, blocks of the share that are not visited yet
}

// NewCursor returns a cursor before the first row of an image. With a share, it visits only that and marks no pages; see
// Image.MarkWritten.
func NewCursor(im *Image, p *Plan, share *Share) Cursor {
	return Cursor{image: im, plan: p, share: share}
}

// Share is a range of blocks of an image: blocks [From, To) of those that Image.Blocks counts.
type Share struct {
	From, To int
	Down     bool // visit rows one by one, the highest first
}

// Blocks returns the number of blocks of all owners' rows that have memory.
func (im *Image) Blocks() (n int) {
	identity := im.Identity()
	for owner := range identity.regions {
		n += identity.blocks(owner)
	}
	return n
}

// MarkWritten marks the pages that a whole walk of the plan would mark, and returns the number of rows of that walk.
func (im *Image) MarkWritten(p *Plan) (rows int) {
	c := NewCursor(im, p, nil)
	for c.Next() {
		rows += bits.OnesCount64(c.Bits)
	}
	return rows
}

// locate returns the owner whose blocks contain or end at block n of those that Blocks counts, and the block's number there.
func (im *Image) locate(n int) (owner, block int) {
	for identity := im.Identity(); n > identity.blocks(owner); owner++ {
		n -= identity.blocks(owner)
	}
	return owner, n
}

// Next moves to the next block with matching rows and marks its pages in the columns that are written. It reports false at
// the end.
func (c *Cursor) Next() bool {
	if c.walk != walkUp {
		if c.walk == 0 {
			c.start()
		}
		if c.walk == walkDown {
			return c.nextDown()
		}
	}
	for {
		for c.block < len(c.words) {
			k := c.block
			c.block++
			if set := c.words[k]; set != 0 {
				if set = c.match(set, k); set != 0 {
					c.Bits = set
					c.enter(k, set)
					return true
				}
			}
		}
		if c.owner == c.last {
			return false
		}
		c.owner, c.block = c.owner+1, 0
		c.setWords()
	}
}

// The directions of a cursor.
const (
	walkUp = 1 + iota
	walkDown
)

// Follow points the cursor at the block and the rows at which o is, which walks upwards, instead of Next. All these rows must have the plan's
// components. It marks their pages in the columns that are written.
func (c *Cursor) Follow(o *Cursor) {
	if c.walk == 0 {
		c.start()
	}
	c.owner, c.Bits = o.owner, o.Bits
	c.enter(o.block-1, o.Bits)
}

// start moves the cursor to the first block.
func (c *Cursor) start() {
	im := c.image
	for i, d := range c.plan.Used {
		c.used[i] = im.Column(d)
		if c.plan.Write[i] {
			c.limit, c.marks[i] = im.limit.open, c.share == nil
		}
	}
	c.walk, c.last, c.end = walkUp, len(im.Identity().regions)-1, math.MaxInt
	if s := c.share; s != nil {
		c.owner, c.block = im.locate(s.From)
		c.last, c.end = im.locate(s.To)
		if s.Down {
			c.walk, c.left = walkDown, s.To-s.From
			return
		}
	}
	c.setWords()
}

// setWords sets words to those of the present owner.
func (c *Cursor) setWords() {
	identity := c.image.Identity()
	words := identity.regions[c.owner].words
	end := min(len(words), identity.blocks(c.owner)) // the pages of presence bits are longer
	if c.owner == c.last {
		end = min(end, c.end)
	}
	c.words = words[:end]
}

// nextDown moves to the next lower matching row of the share.
func (c *Cursor) nextDown() bool {
	for c.rest == 0 {
		if c.left == 0 {
			return false
		}
		c.owner, c.block = c.image.locate(c.share.From + c.left)
		c.block, c.left = c.block-1, c.left-1
		c.rest = c.match(c.image.Identity().regions[c.owner].word(c.block), c.block)
	}
	c.Bits = 1 << (bits.Len64(c.rest) - 1)
	c.rest ^= c.Bits
	c.enter(c.block, c.Bits)
	return true
}

// blocks returns the number of blocks of an owner's region that have memory.
func (c *Column) blocks(owner int) int { return len(c.regions[owner].data.mem) << c.shift / BlockRows }

// match returns the rows of set in block k that have the plan's components.
func (c *Cursor) match(set uint64, k int) uint64 {
	if c.limit != nil {
		set &= c.limit.word(Owner(c.owner), k)
	}
	for _, col := range c.used[:len(c.plan.Used)] {
		set &= col.regions[c.owner].word(k)
	}
	for _, d := range c.plan.With {
		set &= c.image.Column(d).regions[c.owner].word(k)
	}
	for _, d := range c.plan.Without {
		set &^= c.image.Column(d).regions[c.owner].word(k)
	}
	return set
}

// word returns presence word k, 0 beyond the region's end.
func (r *region) word(k int) uint64 {
	if k < len(r.words) {
		return r.words[k]
	}
	return 0
}

// enter points the cursor at block k, of which the rows in set are visited.
func (c *Cursor) enter(k int, set uint64) {
	first, identity := uint32(k*BlockRows), c.image.Identity()
	c.Self = identity.rowOf(&identity.regions[c.owner], first)
	for i, col := range c.used[:len(c.plan.Used)] {
		r := &col.regions[c.owner]
		c.Base[i] = col.rowOf(r, first)
		if c.marks[i] {
			c.image.markBlock(r, col, first, set)
		}
	}
}

// markBlock marks those pages of the block at row first that hold a row of set.
func (im *Image) markBlock(r *region, c *Column, first uint32, set uint64) {
	if c.stride == 0 {
		return
	}
	if 1<<c.shift >= BlockRows {
		im.mark(r.data.pages[first>>c.shift])
		return
	}
	perPage := uint32(1) << c.shift
	for i := first; set != 0; i, set = i+perPage, set>>perPage {
		if set&(1<<perPage-1) != 0 {
			im.mark(r.data.pages[i>>c.shift])
		}
	}
}

// NextRun finds the next run of matching rows that are adjacent in memory in every used column. It points Run and RunSelf
// at the first row and returns the run's length, 0 at the end.
func (c *Cursor) NextRun() int {
	if c.Bits == 0 && !c.Next() {
		return 0
	}
	skip := bits.TrailingZeros64(c.Bits)
	n := bits.TrailingZeros64(^(c.Bits >> skip))
	c.RunSelf = unsafe.Add(c.Self, uintptr(skip)*unsafe.Sizeof(Entity{}))
	for i := range c.plan.Used {
		c.Run[i] = unsafe.Add(c.Base[i], uintptr(skip)*c.used[i].stride)
	}
	if skip+n < BlockRows {
		c.Bits &^= (1<<n - 1) << skip
		return n
	}
	c.Bits = 0
	return n + c.extend()
}

// extend adds following blocks to a run that reaches the end of its block, while all their rows match and memory is
// adjacent. It marks their pages in the columns that are written and returns the number of rows added.
func (c *Cursor) extend() int {
	from, end := c.block, len(c.words)
	for c.block < end && c.words[c.block] == fullBlock {
		// The stretch is at most as long as the run so far: blocks after the end of the run are visited again later.
		stretch := min(end, c.block+max(stretchBlocks, c.block-from))
		to := c.follow(c.block, stretch)
		c.block = to
		if to < stretch {
			break
		}
	}
	if c.block == from {
		return 0
	}
	first, until := uint32(from*BlockRows), uint32(c.block*BlockRows)
	for i, marks := range c.marks {
		if marks {
			c.image.markRows(&c.used[i].regions[c.owner], c.used[i], first, until)
		}
	}
	return int(until - first)
}

// stretchBlocks is the number of blocks by which a run is extended first.
const stretchBlocks = 16

// follow returns the first of blocks [from, to) that cannot belong to the run of the block before from, or to.
func (c *Cursor) follow(from, to int) int {
	identity := c.image.Identity()
	self := &identity.regions[c.owner]
	to = self.joinedUntil(identity, from, fullUntil(self.words, from, to))
	for _, col := range c.used[:len(c.plan.Used)] {
		r := &col.regions[c.owner]
		to = r.joinedUntil(col, from, fullUntil(r.words, from, to))
	}
	if len(c.plan.With)+len(c.plan.Without) > 0 || c.limit != nil {
		for k := from; k < to; k++ {
			if c.match(fullBlock, k) != fullBlock {
				to = k
			}
		}
	}
	return to
}

// fullUntil returns the first of blocks [from, to) with a missing row, or to.
func fullUntil(words []uint64, from, to int) int {
	k, to := from, max(from, min(to, len(words)))
	for ; k+4 <= to; k += 4 {
		if four := words[k : k+4]; four[0]&four[1]&four[2]&four[3] != fullBlock {
			break
		}
	}
	for k < to && words[k] == fullBlock {
		k++
	}
	return k
}

// joinedUntil returns the first of blocks [from, to) whose rows are not adjacent in memory to the block before from, or to.
func (r *region) joinedUntil(c *Column, from, to int) int {
	if c.stride == 0 || to == from {
		return to
	}
	end := int(r.joined[(from*BlockRows-1)>>c.shift])
	return min(to, end<<c.shift/BlockRows)
}

// markRows marks the pages that hold rows [first, until) of region r.
func (im *Image) markRows(r *region, c *Column, first, until uint32) {
	if c.stride == 0 {
		return
	}
	for _, number := range r.data.pages[first>>c.shift : (until-1)>>c.shift+1] {
		im.mark(number)
	}
}
