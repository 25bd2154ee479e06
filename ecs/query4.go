package ecs

import (
	"iter"
	"math/bits"
	"unsafe"

	"tendon/ecs/image"
)

// Query4 yields the entities that have four components and pass its filters, in the order of their rows. It holds no state
// of any world: declare it once, at package level.
type Query4[A, PA, B, PB, C, PC, D, PD any] struct{ plan image.Plan }

// NewQuery4 declares a query.
func NewQuery4[A, PA, B, PB, C, PC, D, PD any](a Access[A, PA], b Access[B, PB], c Access[C, PC], d Access[D, PD], filters ...Filter) *Query4[A, PA, B, PB, C, PC, D, PD] {
	q := &Query4[A, PA, B, PB, C, PC, D, PD]{plan: newPlan(filters)}
	q.plan.Use(a.component, a.write)
	q.plan.Use(b.component, b.write)
	q.plan.Use(c.component, c.write)
	q.plan.Use(d.component, d.write)
	return q
}

// Row4 is one entity of a Query4: what was declared Read is a value, what was declared Write a pointer.
type Row4[PA, PB, PC, PD any] struct {
	A PA
	B PB
	C PC
	D PD

	row
}

// All returns every entity of the query, one by one.
func (q *Query4[A, PA, B, PB, C, PC, D, PD]) All(w *World) iter.Seq[Row4[PA, PB, PC, PD]] {
	return func(yield func(Row4[PA, PB, PC, PD]) bool) {
		c := w.image.Walk(&q.plan)
		for c.Next() {
			set, self := c.Bits, c.Self
			baseA, baseB, baseC, baseD := c.Base[0], c.Base[1], c.Base[2], c.Base[3]
			writeA, writeB, writeC, writeD := q.plan.Writes(0), q.plan.Writes(1), q.plan.Writes(2), q.plan.Writes(3)
			scattered := isScattered(set)
			for set != 0 {
				i := uintptr(bits.TrailingZeros64(set))
				end := i + 1
				if !scattered {
					end = i + uintptr(bits.TrailingZeros64(^(set >> i)))
				}
				set &= fullBlock << end
				for ; i < end; i++ {
					if !yield(Row4[PA, PB, PC, PD]{
						at[A, PA](unsafe.Add(baseA, i*unsafe.Sizeof(*new(A))), writeA),
						at[B, PB](unsafe.Add(baseB, i*unsafe.Sizeof(*new(B))), writeB),
						at[C, PC](unsafe.Add(baseC, i*unsafe.Sizeof(*new(C))), writeC),
						at[D, PD](unsafe.Add(baseD, i*unsafe.Sizeof(*new(D))), writeD),
						row{(*Entity)(unsafe.Add(self, i*unsafe.Sizeof(Entity{})))},
					}) {
						return
					}
				}
			}
		}
	}
}

// Run4 is a run of entities in consecutive rows. The slices alias the image: those declared Read must not be
// written, none may be kept.
type Run4[A, B, C, D any] struct {
	A        []A
	B        []B
	C        []C
	D        []D
	Entities []Entity
}

// Runs returns every entity of the query, a run at a time: the inner loop is an ordinary loop over slices.
func (q *Query4[A, PA, B, PB, C, PC, D, PD]) Runs(w *World) iter.Seq[Run4[A, B, C, D]] {
	return func(yield func(Run4[A, B, C, D]) bool) {
		c := w.image.Walk(&q.plan)
		for n := c.NextRun(); n > 0; n = c.NextRun() {
			if !yield(Run4[A, B, C, D]{
				unsafe.Slice((*A)(c.Run[0]), n),
				unsafe.Slice((*B)(c.Run[1]), n),
				unsafe.Slice((*C)(c.Run[2]), n),
				unsafe.Slice((*D)(c.Run[3]), n),
				unsafe.Slice((*Entity)(c.RunSelf), n),
			}) {
				return
			}
		}
	}
}
