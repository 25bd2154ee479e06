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
// as written.
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
}

// maxUsed is the most components a query yields.
const maxUsed = 4

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
}

// next moves to the next block that has matching rows and marks its pages in the columns that are written.
func (c *cursor) next() bool {
	w := c.world
	if c.used[0] == nil {
		for i, d := range c.plan.used {
			c.used[i] = w.column(d)
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
	return n + c.extend(n)
}

// extend adds following blocks to a run of n rows that reaches its block's end, as long as all their rows match and
// memory goes on. It returns how many rows it added.
func (c *cursor) extend(n int) int {
	identity, added := c.world.identity(), 0
	words := identity.regions[c.owner].words
	for k := c.block; k < len(words); k++ {
		if words[k] != ^uint64(0) || c.match(words[k], k) != ^uint64(0) || !c.adjacent(identity, k, n+added) {
			break
		}
		c.enter(identity, k, ^uint64(0))
		c.block = k + 1
		added += blockRows
	}
	return added
}

// adjacent reports whether block k lies right behind a run of n rows in every used column.
func (c *cursor) adjacent(identity *column, k, n int) bool {
	first := uint32(k * blockRows)
	if identity.rowOf(&identity.regions[c.owner], first) != unsafe.Add(c.runSelf, uintptr(n)*unsafe.Sizeof(Entity{})) {
		return false
	}
	for i := range c.plan.used {
		col := c.used[i]
		if col.rowOf(&col.regions[c.owner], first) != unsafe.Add(c.run[i], uintptr(n)*col.info.stride) {
			return false
		}
	}
	return true
}

// at returns what a row yields: the value at p, or p itself as a pointer. P is T or *T as write says.
func at[P any](p unsafe.Pointer, write bool) P {
	if write {
		return *(*P)(unsafe.Pointer(&p))
	}
	return *(*P)(p)
}
