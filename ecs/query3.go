package ecs

import (
	"iter"
	"math/bits"
	"unsafe"

	"tendon/ecs/image"
)

// Query3 yields the entities that have three components and pass its filters, in the order of their rows. It holds no state
// of any world: declare it once, at package level.
type Query3[A, PA, B, PB, C, PC any] struct{ plan image.Plan }

// NewQuery3 declares a query.
func NewQuery3[A, PA, B, PB, C, PC any](a Access[A, PA], b Access[B, PB], c Access[C, PC], filters ...Filter) *Query3[A, PA, B, PB, C, PC] {
	q := &Query3[A, PA, B, PB, C, PC]{plan: newPlan(filters)}
	q.plan.Use(a.component, a.write)
	q.plan.Use(b.component, b.write)
	q.plan.Use(c.component, c.write)
	return q
}

// Row3 is one entity of a Query3: what was declared Read is a value, what was declared Write a pointer.
type Row3[PA, PB, PC any] struct {
	A PA
	B PB
	C PC

	row
}

// All returns every entity of the query, one by one.
func (q *Query3[A, PA, B, PB, C, PC]) All(w *World) iter.Seq[Row3[PA, PB, PC]] {
	return func(yield func(Row3[PA, PB, PC]) bool) {
		c := w.image.Walk(&q.plan)
		for c.Next() {
			set, self := c.Bits, c.Self
			baseA, baseB, baseC := c.Base[0], c.Base[1], c.Base[2]
			writeA, writeB, writeC := q.plan.Writes(0), q.plan.Writes(1), q.plan.Writes(2)
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
						row{(*Entity)(unsafe.Add(self, i*unsafe.Sizeof(Entity{})))},
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
		c := w.image.Walk(&q.plan)
		for n := c.NextRun(); n > 0; n = c.NextRun() {
			if !yield(Run3[A, B, C]{
				unsafe.Slice((*A)(c.Run[0]), n),
				unsafe.Slice((*B)(c.Run[1]), n),
				unsafe.Slice((*C)(c.Run[2]), n),
				unsafe.Slice((*Entity)(c.RunSelf), n),
			}) {
				return
			}
		}
	}
}
