package ecs

import (
	"math/bits"
	"unsafe"
)

// Access says which component a query uses and how. T is the component's type, P what a row yields: T for Read, *T
// for Write.
type Access[T, P any] struct {
	component *declaration
	write     bool
}

// Read declares that the component is only read: rows yield its value.
func Read[T any](c *Component[T]) Access[T, T] { return Access[T, T]{component: c.declaration} }

// Write declares that the component is written: rows yield a pointer, and the pages that hold rows of the query count
// as written. In a world that predicts, a query that writes anything yields only the rows it may write; see
// World.SetPredicted.
func Write[T any](c *Component[T]) Access[T, *T] {
	return Access[T, *T]{component: c.declaration, write: true}
}

// Filter narrows a query to entities that have, or lack, components it does not use.
type Filter struct {
	components []AnyComponent
	without    bool
}

// With keeps entities that have all of these.
func With(components ...AnyComponent) Filter { return Filter{components: components} }

// Without keeps entities that have none of these.
func Without(components ...AnyComponent) Filter { return Filter{components: components, without: true} }

// plan is what a query needs to know of its components; it holds no world.
type plan struct {
	used    []*declaration
	write   []bool
	writes  bool // one of write
	with    []*declaration
	without []*declaration
}

func newPlan(filters []Filter) plan {
	var p plan
	for _, f := range filters {
		for _, c := range f.components {
			if f.without {
				p.without = append(p.without, c.declared())
			} else {
				p.with = append(p.with, c.declared())
			}
		}
	}
	return p
}

func (p *plan) use(d *declaration, write bool) {
	p.used = append(p.used, d)
	p.write = append(p.write, write)
	p.writes = p.writes || write
}

// maxUsed is the most components a query yields.
const maxUsed = 4

// fullBlock is a block in which every row matches.
const fullBlock = ^uint64(0)

// cursor walks a world's rows upwards, one block of 64 at a time. After next, bits has a bit for each row of the
// block that matches, and base points to the block's first row in each used column.
type cursor struct {
	bits  uint64
	self  unsafe.Pointer // identity of the block's first row
	base  [maxUsed]unsafe.Pointer
	world *World
	plan  *plan
	owner int
	block int
	used  [maxUsed]*column

	// After nextRun: the run's first row in each used column, and its identity.
	run     [maxUsed]unsafe.Pointer
	runSelf unsafe.Pointer

	limit *RowSet // the rows that may be visited, nil for all
}

// next moves to the next block that has matching rows and marks its pages in the columns that are written.
func (c *cursor) next() bool {
	w := c.world
	if c.used[0] == nil {
		for i, d := range c.plan.used {
			c.used[i] = w.column(d)
		}
		if c.plan.writes {
			c.limit = w.limit.open
		}
	}
	identity := w.identity()
	for ; c.owner < len(identity.regions); c.owner, c.block = c.owner+1, 0 {
		words := identity.regions[c.owner].words
		for c.block < len(words) {
			k := c.block
			c.block++
			if set := words[k]; set != 0 {
				if set = c.match(set, k); set != 0 {
					c.bits = set
					c.enter(identity, k, set)
					return true
				}
			}
		}
	}
	return false
}

// match narrows set to the rows of block k that have what the plan asks for.
func (c *cursor) match(set uint64, k int) uint64 {
	if c.limit != nil {
		set &= c.limit.word(Owner(c.owner), k)
	}
	for i := range c.plan.used {
		set &= c.used[i].regions[c.owner].word(k)
	}
	for _, d := range c.plan.with {
		set &= c.world.column(d).regions[c.owner].word(k)
	}
	for _, d := range c.plan.without {
		set &^= c.world.column(d).regions[c.owner].word(k)
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
func (c *cursor) enter(identity *column, k int, set uint64) {
	first := uint32(k * blockRows)
	c.self = identity.rowOf(&identity.regions[c.owner], first)
	for i, write := range c.plan.write {
		col := c.used[i]
		r := &col.regions[c.owner]
		c.base[i] = col.rowOf(r, first)
		if write {
			c.world.image.markBlock(r, col.info, first, set)
		}
	}
}

// isScattered reports whether the runs of set are so short that the processor would guess their ends wrong: then rows
// are better taken one by one.
func isScattered(set uint64) bool {
	runs := bits.OnesCount64(set &^ (set << 1))
	return runs*4 > bits.OnesCount64(set)
}

// markBlock marks those pages of the block that starts at row first which hold a row of set.
func (im *image) markBlock(r *region, info *columnInfo, first uint32, set uint64) {
	if info.stride == 0 {
		return
	}
	if 1<<info.shift >= blockRows {
		im.mark(r.data.pages[first>>info.shift])
		return
	}
	perPage := uint32(1) << info.shift
	for i := first; set != 0; i, set = i+perPage, set>>perPage {
		if set&(1<<perPage-1) != 0 {
			im.mark(r.data.pages[i>>info.shift])
		}
	}
}

// nextRun finds the next run of consecutive matching rows that lie next to each other in memory in every used column.
// It points run and runSelf at the first row and returns the run's length, 0 at the end.
func (c *cursor) nextRun() int {
	if c.bits == 0 && !c.next() {
		return 0
	}
	skip := bits.TrailingZeros64(c.bits)
	n := bits.TrailingZeros64(^(c.bits >> skip))
	c.runSelf = unsafe.Add(c.self, uintptr(skip)*unsafe.Sizeof(Entity{}))
	for i := range c.plan.used {
		c.run[i] = unsafe.Add(c.base[i], uintptr(skip)*c.used[i].info.stride)
	}
	if skip+n < blockRows {
		c.bits &^= (1<<n - 1) << skip
		return n
	}
	c.bits = 0
	return n + c.extend()
}

// extend adds following blocks to a run that reaches its block's end, as long as all their rows match and memory goes
// on, and marks their pages in the columns that are written. It returns how many rows it added.
func (c *cursor) extend() int {
	from, end := c.block, len(c.world.identity().regions[c.owner].words)
	for c.block < end {
		// A stretch at a time, no longer than what was found: what lies behind the run's end is looked at again later.
		stretch := c.block + max(stretchBlocks, c.block-from)
		to := c.follow(c.block, stretch)
		if c.block = to; to < stretch {
			break
		}
	}
	first, until := uint32(from*blockRows), uint32(c.block*blockRows)
	for i, write := range c.plan.write {
		if write && first < until {
			c.world.image.markRows(&c.used[i].regions[c.owner], c.used[i].info, first, until)
		}
	}
	return int(until - first)
}

// stretchBlocks is how many blocks a run is extended by at first.
const stretchBlocks = 16

// follow returns the first of blocks [from, to) that cannot belong to the run of the block before from, or to.
func (c *cursor) follow(from, to int) int {
	identity := c.world.identity()
	self := &identity.regions[c.owner]
	to = self.joinedUntil(identity.info, from, fullUntil(self.words, from, to))
	for _, col := range c.used[:len(c.plan.used)] {
		r := &col.regions[c.owner]
		to = r.joinedUntil(col.info, from, fullUntil(r.words, from, to))
	}
	if len(c.plan.with)+len(c.plan.without) > 0 || c.limit != nil {
		for k := from; k < to; k++ {
			if c.match(fullBlock, k) != fullBlock {
				to = k
			}
		}
	}
	return to
}

// fullUntil returns the first of blocks [from, to) in which a row is missing, or to.
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

// joinedUntil returns the first of blocks [from, to) whose rows are not in one piece of memory with those of the block
// before from, or to.
func (r *region) joinedUntil(info *columnInfo, from, to int) int {
	if info.stride == 0 || to == from {
		return to
	}
	end := int(r.joined[(from*blockRows-1)>>info.shift])
	return min(to, end<<info.shift/blockRows)
}

// markRows marks the pages that hold rows [first, until) of region r.
func (im *image) markRows(r *region, info *columnInfo, first, until uint32) {
	if info.stride == 0 {
		return
	}
	for _, number := range r.data.pages[first>>info.shift : (until-1)>>info.shift+1] {
		im.mark(number)
	}
}

// pointerBytes is the size of a pointer.
const pointerBytes = unsafe.Sizeof(unsafe.Pointer(nil))

// at returns what a row yields: the value at p, or p itself as a pointer. P is T or *T as write says. Where the sizes
// tell which, the compiler decides, and a loop over rows has no branch for it.
func at[T, P any](p unsafe.Pointer, write bool) P {
	isPointer := unsafe.Sizeof(*new(P)) == pointerBytes && (unsafe.Sizeof(*new(T)) != pointerBytes || write)
	if isPointer {
		return *(*P)(unsafe.Pointer(&p))
	}
	return *(*P)(p)
}
