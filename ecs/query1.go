package ecs

import (
	"iter"
	"math/bits"
	"unsafe"

	"tendon/ecs/image"
)

// Query1 yields the entities that have one component and pass its filters, in the order of their rows. It holds no state
// of any world: declare it once, at package level.
type Query1[A, PA any] struct{ plan image.Plan }

// NewQuery1 declares a query.
func NewQuery1[A, PA any](a Access[A, PA], filters ...Filter) *Query1[A, PA] {
	q := &Query1[A, PA]{plan: newPlan(filters)}
	q.plan.Use(a.component, a.write)
	return q
}

// Row1 is one entity of a Query1: what was declared Read is a value, what was declared Write a pointer.
type Row1[PA any] struct {
	A PA

	row
}

// All returns every entity of the query, one by one.
func (q *Query1[A, PA]) All(w *World) iter.Seq[Row1[PA]] {
	return func(yield func(Row1[PA]) bool) {
		c := w.image.Walk(&q.plan)
		for c.Next() {
			set, self := c.Bits, c.Self
			baseA := c.Base[0]
			writeA := q.plan.Writes(0)
			scattered := isScattered(set)
			for set != 0 {
				i := uintptr(bits.TrailingZeros64(set))
				end := i + 1
				if !scattered {
					end = i + uintptr(bits.TrailingZeros64(^(set >> i)))
				}
				set &= fullBlock << end
				for ; i < end; i++ {
					if !yield(Row1[PA]{
						at[A, PA](unsafe.Add(baseA, i*unsafe.Sizeof(*new(A))), writeA),
						row{(*Entity)(unsafe.Add(self, i*unsafe.Sizeof(Entity{})))},
					}) {
						return
					}
				}
			}
		}
	}
}

// Run1 is a run of entities in consecutive rows. The slices alias the image: those declared Read must not be
// written, none may be kept.
type Run1[A any] struct {
	A        []A
	Entities []Entity
}

// Runs returns every entity of the query, a run at a time: the inner loop is an ordinary loop over slices.
func (q *Query1[A, PA]) Runs(w *World) iter.Seq[Run1[A]] {
	return func(yield func(Run1[A]) bool) {
		c := w.image.Walk(&q.plan)
		for n := c.NextRun(); n > 0; n = c.NextRun() {
			if !yield(Run1[A]{
				unsafe.Slice((*A)(c.Run[0]), n),
				unsafe.Slice((*Entity)(c.RunSelf), n),
			}) {
				return
			}
		}
	}
}
