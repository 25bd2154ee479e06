package ecs

import (
	"math/bits"
	"unsafe"

	"tendon/ecs/image"
)

// Access names a component that a query uses, and whether the query reads or writes it. T is the component's type. P
// is the type in a row: T for Read, *T for Write.
type Access[T, P any] struct {
	component *image.Declaration
	write     bool
}

// Read declares that the query only reads the component: rows have its value.
func Read[T any](c *Component[T]) Access[T, T] { return Access[T, T]{component: c.declaration} }

// Write declares that the query writes the component: rows have a pointer to its value. The pages that hold rows of
// the query count as written. In a world that predicts some rows, a query that writes anything yields only those;
// see image.Image.SetPredicted.
func Write[T any](c *Component[T]) Access[T, *T] {
	return Access[T, *T]{component: c.declaration, write: true}
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

// use adds the component to a plan.
func (a Access[T, P]) use(p *image.Plan) { p.Use(a.component, a.write) }

func newPlan(filters []Filter, uses ...func(*image.Plan)) (p image.Plan) {
	for _, use := range uses {
		use(&p)
	}
	for _, f := range filters {
		for _, c := range f.components {
			if f.without {
				p.Without(c.declared())
			} else {
				p.With(c.declared())
			}
		}
	}
	return p
}

// fullBlock is a block in which every row matches.
const fullBlock = ^uint64(0)

// isScattered reports whether the runs of set are so short that the processor mispredicts their ends. Rows are then
// visited one by one.
func isScattered(set uint64) bool {
	runs := bits.OnesCount64(set &^ (set << 1))
	return runs*4 > bits.OnesCount64(set)
}

// pointerBytes is the size of a pointer.
const pointerBytes = unsafe.Sizeof(unsafe.Pointer(nil))

// at returns the part of a row: the value at p, or p itself as a pointer. P is T or *T as write says. The compiler
// decides where the sizes differ, so a loop over rows has no branch. A type of zero size has one value, and p may be
// nil.
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

// slice returns the part of a run: n values from p on. S is []T, or None for a component that the query does not
// have.
func slice[T, S any](p unsafe.Pointer, n int) S {
	if unsafe.Sizeof(*new(S)) == 0 {
		return *new(S)
	}
	values := unsafe.Slice((*T)(p), n)
	return *(*S)(unsafe.Pointer(&values))
}
