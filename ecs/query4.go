package ecs

import (
	"iter"
	"math/bits"
	"unsafe"
)

// Query4 yields the entities that have four components and pass its filters, in the order of their rows. It holds no state
// of any world: declare it once, at package level.
type Query4[A, PA, B, PB, C, PC, D, PD any] struct{ plan plan }

// NewQuery4 declares a query.
func NewQuery4[A, PA, B, PB, C, PC, D, PD any](a Access[A, PA], b Access[B, PB], c Access[C, PC], d Access[D, PD], filters ...Filter) *Query4[A, PA, B, PB, C, PC, D, PD] {
	q := &Query4[A, PA, B, PB, C, PC, D, PD]{plan: newPlan(filters)}
	q.plan.use(a.component, a.write)
	q.plan.use(b.component, b.write)
	q.plan.use(c.component, c.write)
	q.plan.use(d.component, d.write)
	return q
}

// Row4 is one entity of a Query4: what was declared Read is a value, what was declared Write a pointer.
type Row4[PA, PB, PC, PD any] struct {
	A PA
	B PB
	C PC
	D PD

	self *Entity
}

// Entity returns the entity of the row.
func (r Row4[PA, PB, PC, PD]) Entity() Entity { return *r.self }

// All returns every entity of the query, one by one.
func (q *Query4[A, PA, B, PB, C, PC, D, PD]) All(w *World) iter.Seq[Row4[PA, PB, PC, PD]] {
	return func(yield func(Row4[PA, PB, PC, PD]) bool) {
		c := cursor{world: w, plan: &q.plan}
		for c.next() {
			set, self := c.bits, c.self
			baseA, baseB, baseC, baseD := c.base[0], c.base[1], c.base[2], c.base[3]
			writeA, writeB, writeC, writeD := q.plan.write[0], q.plan.write[1], q.plan.write[2], q.plan.write[3]
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
						(*Entity)(unsafe.Add(self, i*unsafe.Sizeof(Entity{}))),
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
		c := cursor{world: w, plan: &q.plan}
		for n := c.nextRun(); n > 0; n = c.nextRun() {
			if !yield(Run4[A, B, C, D]{
				unsafe.Slice((*A)(c.run[0]), n),
				unsafe.Slice((*B)(c.run[1]), n),
				unsafe.Slice((*C)(c.run[2]), n),
				unsafe.Slice((*D)(c.run[3]), n),
				unsafe.Slice((*Entity)(c.runSelf), n),
			}) {
				return
			}
		}
	}
}
