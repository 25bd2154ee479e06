package ecs

import (
	"iter"
	"math/bits"
	"unsafe"

	"tendon/ecs/image"
)

// Query2 yields the entities that have two components and pass its filters, in the order of their rows. It holds no state
// of any world: declare it once, at package level.
type Query2[A, PA, B, PB any] struct{ plan image.Plan }

// NewQuery2 declares a query.
func NewQuery2[A, PA, B, PB any](a Access[A, PA], b Access[B, PB], filters ...Filter) *Query2[A, PA, B, PB] {
	q := &Query2[A, PA, B, PB]{plan: newPlan(filters)}
	q.plan.Use(a.component, a.write)
	q.plan.Use(b.component, b.write)
	return q
}

// Row2 is one entity of a Query2: what was declared Read is a value, what was declared Write a pointer.
type Row2[PA, PB any] struct {
	A PA
	B PB

	row
}

// All returns every entity of the query, one by one.
func (q *Query2[A, PA, B, PB]) All(w *World) iter.Seq[Row2[PA, PB]] {
	return func(yield func(Row2[PA, PB]) bool) {
		c := w.image.Walk(&q.plan)
		for c.Next() {
			set, self := c.Bits, c.Self
			baseA, baseB := c.Base[0], c.Base[1]
			writeA, writeB := q.plan.Writes(0), q.plan.Writes(1)
			scattered := isScattered(set)
			for set != 0 {
				i := uintptr(bits.TrailingZeros64(set))
				end := i + 1
				if !scattered {
					end = i + uintptr(bits.TrailingZeros64(^(set >> i)))
				}
				set &= fullBlock << end
				for ; i < end; i++ {
					if !yield(Row2[PA, PB]{
						at[A, PA](unsafe.Add(baseA, i*unsafe.Sizeof(*new(A))), writeA),
						at[B, PB](unsafe.Add(baseB, i*unsafe.Sizeof(*new(B))), writeB),
						row{(*Entity)(unsafe.Add(self, i*unsafe.Sizeof(Entity{})))},
					}) {
						return
					}
				}
			}
		}
	}
}

// Run2 is a run of entities in consecutive rows. The slices alias the image: those declared Read must not be
// written, none may be kept.
type Run2[A, B any] struct {
	A        []A
	B        []B
	Entities []Entity
}

// Runs returns every entity of the query, a run at a time: the inner loop is an ordinary loop over slices.
func (q *Query2[A, PA, B, PB]) Runs(w *World) iter.Seq[Run2[A, B]] {
	return func(yield func(Run2[A, B]) bool) {
		c := w.image.Walk(&q.plan)
		for n := c.NextRun(); n > 0; n = c.NextRun() {
			if !yield(Run2[A, B]{
				unsafe.Slice((*A)(c.Run[0]), n),
				unsafe.Slice((*B)(c.Run[1]), n),
				unsafe.Slice((*Entity)(c.RunSelf), n),
			}) {
				return
			}
		}
	}
}
