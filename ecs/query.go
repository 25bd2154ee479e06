package ecs

import (
	"iter"
	"math/bits"
	"unsafe"

	"tendon/ecs/image"
)

// Query yields the entities that have some components and pass its filters, in the order of their rows. Query1 to Query4
// are queries of one to four components. A query holds no state of any world. Declare it once, at package level.
//
// Each component has three type parameters: the component's type A, its type in a Row, PA, and its type in a Run, SA. PA is
// A for Read and *A for Write. SA is []A. All three are struct{} for a component that the query does not have.
type Query[A, PA, SA, B, PB, SB, C, PC, SC, D, PD, SD any] struct{ plan image.Plan }

// none stands for a component that a query does not have.
type none = struct{}

// Queries by the number of their components.
type (
	Query1[A, PA any]                      = Query[A, PA, []A, none, none, none, none, none, none, none, none, none]
	Query2[A, PA, B, PB any]               = Query[A, PA, []A, B, PB, []B, none, none, none, none, none, none]
	Query3[A, PA, B, PB, C, PC any]        = Query[A, PA, []A, B, PB, []B, C, PC, []C, none, none, none]
	Query4[A, PA, B, PB, C, PC, D, PD any] = Query[A, PA, []A, B, PB, []B, C, PC, []C, D, PD, []D]
)

// NewQuery1 declares a query of one component.
func NewQuery1[A, PA any](a Access[A, PA], filters ...Filter) *Query1[A, PA] {
	return &Query1[A, PA]{newPlan(filters, a.use)}
}

// NewQuery2 declares a query of two components.
func NewQuery2[A, PA, B, PB any](a Access[A, PA], b Access[B, PB], filters ...Filter) *Query2[A, PA, B, PB] {
	return &Query2[A, PA, B, PB]{newPlan(filters, a.use, b.use)}
}

// NewQuery3 declares a query of three components.
func NewQuery3[A, PA, B, PB, C, PC any](a Access[A, PA], b Access[B, PB], c Access[C, PC], filters ...Filter) *Query3[A, PA, B, PB, C, PC] {
	return &Query3[A, PA, B, PB, C, PC]{newPlan(filters, a.use, b.use, c.use)}
}

// NewQuery4 declares a query of four components.
func NewQuery4[A, PA, B, PB, C, PC, D, PD any](a Access[A, PA], b Access[B, PB], c Access[C, PC], d Access[D, PD], filters ...Filter) *Query4[A, PA, B, PB, C, PC, D, PD] {
	return &Query4[A, PA, B, PB, C, PC, D, PD]{newPlan(filters, a.use, b.use, c.use, d.use)}
}

// Row is one entity of a query. A is the query's first component, B its second, C its third and D its fourth. Each is a
// value for Read and a pointer for Write.
type Row[PA, PB, PC, PD any] struct {
	A PA
	B PB
	rest[PC, PD]

	self *Entity
}

// rest is the second half of a row: structs of at most four fields stay in registers. D precedes C, because a field of zero
// size at the end of a struct takes padding.
type rest[PC, PD any] struct {
	D PD
	C PC
}

// Entity returns the entity of the row.
func (r Row[PA, PB, PC, PD]) Entity() Entity { return *r.self }

// All returns the entities of the query one by one. It is the fastest loop over scattered rows. It walks a bit mask of each
// block of 64 rows, and the compiler inlines the body of the loop.
func (q *Query[A, PA, SA, B, PB, SB, C, PC, SC, D, PD, SD]) All(w *World) iter.Seq[Row[PA, PB, PC, PD]] {
	return func(yield func(Row[PA, PB, PC, PD]) bool) {
		c := image.NewCursor(w.image, &q.plan, w.share(&q.plan))
		for c.Next() {
			set, self := c.Bits, c.Self
			baseA, baseB, baseC, baseD := c.Base[0], c.Base[1], c.Base[2], c.Base[3]
			writeA, writeB, writeC, writeD := q.plan.Write[0], q.plan.Write[1], q.plan.Write[2], q.plan.Write[3]
			for ; set != 0; set &= set - 1 {
				i := uintptr(bits.TrailingZeros64(set))
				if !yield(Row[PA, PB, PC, PD]{
					at[A, PA](unsafe.Add(baseA, i*unsafe.Sizeof(*new(A))), writeA),
					at[B, PB](unsafe.Add(baseB, i*unsafe.Sizeof(*new(B))), writeB),
					rest[PC, PD]{
						at[D, PD](unsafe.Add(baseD, i*unsafe.Sizeof(*new(D))), writeD),
						at[C, PC](unsafe.Add(baseC, i*unsafe.Sizeof(*new(C))), writeC),
					},
					(*Entity)(unsafe.Add(self, i*unsafe.Sizeof(Entity{}))),
				}) {
					return
				}
			}
		}
	}
}

// Run is a run of entities in consecutive rows. Its slices alias the image: slices of components declared Read must not be
// written, and none may be kept.
type Run[SA, SB, SC, SD any] struct {
	A        SA
	B        SB
	C        SC
	D        SD
	Entities []Entity
}

// Runs returns the entities of the query a run at a time: the inner loop is an ordinary loop over slices. It is up to 1.3 times as
// fast as All where rows are full. All is faster where most runs have fewer than about twenty rows, up to six times where half
// of the rows match.
func (q *Query[A, PA, SA, B, PB, SB, C, PC, SC, D, PD, SD]) Runs(w *World) iter.Seq[Run[SA, SB, SC, SD]] {
	return func(yield func(Run[SA, SB, SC, SD]) bool) {
		c := image.NewCursor(w.image, &q.plan, w.share(&q.plan))
		for n := c.NextRun(); n > 0; n = c.NextRun() {
			if !yield(Run[SA, SB, SC, SD]{
				slice[A, SA](c.Run[0], n),
				slice[B, SB](c.Run[1], n),
				slice[C, SC](c.Run[2], n),
				slice[D, SD](c.Run[3], n),
				unsafe.Slice((*Entity)(c.RunSelf), n),
			}) {
				return
			}
		}
	}
}

// share returns the rows that the query may yield in the running system, nil for all.
func (w *World) share(p *image.Plan) *image.Share {
	if w.scope == nil {
		return nil
	}
	return w.scope.of(p)
}

// Access names a component that a query uses, and whether the query reads or writes it. T is the component's type. P is the
// type in a row: T for Read, *T for Write.
type Access[T, P any] struct{ use use }

type use struct {
	component *image.Declaration
	write     bool
}

// Read declares that the query only reads the component: rows have its value.
func Read[T any](c *Component[T]) Access[T, T] {
	return Access[T, T]{use{c.declaration, false}}
}

// Write declares that the query writes the component: rows have a pointer to its value. The pages that hold rows of the
// query count as written. In a world that predicts some rows, a query that writes anything yields only those; see
// image.Image.SetPredicted.
func Write[T any](c *Component[T]) Access[T, *T] {
	return Access[T, *T]{use{c.declaration, true}}
}

// Filter narrows a query by components that the query does not yield.
type Filter struct {
	components []AnyComponent
	without    bool
}

// With keeps entities that have all of these components.
func With(components ...AnyComponent) Filter { return Filter{components: components} }

// Without keeps entities that have none of these components.
func Without(components ...AnyComponent) Filter { return Filter{components: components, without: true} }

func newPlan(filters []Filter, uses ...use) (p image.Plan) {
	for i, u := range uses {
		p.Used, p.Write[i] = append(p.Used, u.component), u.write
	}
	for _, f := range filters {
		list := &p.With
		if f.without {
			list = &p.Without
		}
		for _, c := range f.components {
			*list = append(*list, c.declared())
		}
	}
	return p
}

const pointerBytes = unsafe.Sizeof(unsafe.Pointer(nil))

// at returns the part of a row: the value at p, or p itself as a pointer. P is T or *T as write says. The compiler decides
// where the sizes differ, so a loop over rows has no branch. A type of zero size has one value, and p may be nil.
func at[T, P any](p unsafe.Pointer, write bool) P {
	if unsafe.Sizeof(*new(P)) == 0 {
		return *new(P)
	}
	isPointer := unsafe.Sizeof(*new(P)) == pointerBytes && (unsafe.Sizeof(*new(T)) != pointerBytes || write)
	if isPointer {
		return *(*P)(unsafe.Pointer(&p))
	}
	return *(*P)(p)
}

// slice returns the part of a run: n values from p on. S is []T, or none for a component that the query does not have.
func slice[T, S any](p unsafe.Pointer, n int) S {
	if unsafe.Sizeof(*new(S)) == 0 {
		return *new(S)
	}
	values := unsafe.Slice((*T)(p), n)
	return *(*S)(unsafe.Pointer(&values))
}
