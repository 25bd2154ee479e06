package ecs

import (
	"iter"
	"math/bits"
	"unsafe"
)

// Query3 yields the entities that have three components and pass its filters, in the order of their rows. It holds no state
// of any world: declare it once, at package level.
type Query3[A, PA, B, PB, C, PC any] struct{ plan plan }

// NewQuery3 declares a query.
func NewQuery3[A, PA, B, PB, C, PC any](a Access[A, PA], b Access[B, PB], c Access[C, PC], filters ...Filter) *Query3[A, PA, B, PB, C, PC] {
	q := &Query3[A, PA, B, PB, C, PC]{plan: newPlan(filters)}
	q.plan.use(a.component, a.write)
	q.plan.use(b.component, b.write)
	q.plan.use(c.component, c.write)
	return q
}

// Row3 is one entity of a Query3: what was declared Read is a value, what was declared Write a pointer.
type Row3[PA, PB, PC any] struct {
	A PA
	B PB
	C PC

	self *Entity
}

// Entity returns the entity of the row.
func (r Row3[PA, PB, PC]) Entity() Entity { return *r.self }

// All returns every entity of the query, one by one.
func (q *Query3[A, PA, B, PB, C, PC]) All(w *World) iter.Seq[Row3[PA, PB, PC]] {
	return func(yield func(Row3[PA, PB, PC]) bool) {
		c := cursor{world: w, plan: &q.plan}
		for c.next() {
			set, self := c.bits, c.self
			baseA, baseB, baseC := c.base[0], c.base[1], c.base[2]
			writeA, writeB, writeC := q.plan.write[0], q.plan.write[1], q.plan.write[2]
			scattered := isScattered(set)
			for set != 0 {
				i := uintptr(bits.TrailingZeros64(set))
				end := i + 1
				if !scattered {
					end = i + uintptr(bits.TrailingZeros64(^(set >> i)))
				}
				set &= fullBlock << end
				for ; i < end; i++ {
					if !yield(Row3[PA, PB, PC]{
						at[A, PA](unsafe.Add(baseA, i*unsafe.Sizeof(*new(A))), writeA),
						at[B, PB](unsafe.Add(baseB, i*unsafe.Sizeof(*new(B))), writeB),
						at[C, PC](unsafe.Add(baseC, i*unsafe.Sizeof(*new(C))), writeC),
						(*Entity)(unsafe.Add(self, i*unsafe.Sizeof(Entity{}))),
					}) {
						return
					}
				}
			}
		}
	}
}

// Run3 is a run of entities in consecutive rows. The slices alias the image: those declared Read must not be
// written, none may be kept.
type Run3[A, B, C any] struct {
	A        []A
	B        []B
	C        []C
	Entities []Entity
}

// Runs returns every entity of the query, a run at a time: the inner loop is an ordinary loop over slices.
func (q *Query3[A, PA, B, PB, C, PC]) Runs(w *World) iter.Seq[Run3[A, B, C]] {
	return func(yield func(Run3[A, B, C]) bool) {
		c := cursor{world: w, plan: &q.plan}
		for n := c.nextRun(); n > 0; n = c.nextRun() {
			if !yield(Run3[A, B, C]{
				unsafe.Slice((*A)(c.run[0]), n),
				unsafe.Slice((*B)(c.run[1]), n),
				unsafe.Slice((*C)(c.run[2]), n),
				unsafe.Slice((*Entity)(c.runSelf), n),
			}) {
				return
			}
		}
	}
}
