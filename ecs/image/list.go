package image

import (
	"iter"
	"reflect"
	"slices"
	"unsafe"
)

// List is a bounded list that is part of its row: a component may hold it, unlike a slice. A is the array type that holds
// the elements and sets the bound: ecs.List[Item, [8]Item] holds at most 8. The zero List is empty.
//
// Slots after the last element are zero, so equal lists are equal byte for byte, and == compares them.
type List[T, A any] struct {
	n     uint32
	_     uint32 // keeps items at the same offset on 32-bit targets
	items A
}

// Len returns the number of elements.
func (l *List[T, A]) Len() int { return int(min(l.n, uint32(l.Cap()))) }

// Cap returns the largest number of elements.
func (l *List[T, A]) Cap() int { return int(unsafe.Sizeof(l.items) / max(1, unsafe.Sizeof(*new(T)))) }

func (l *List[T, A]) elements() []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&l.items)), l.Cap())[:l.Len()]
}

// At returns element i, in [0, Len).
func (l *List[T, A]) At(i int) T { return l.elements()[i] }

// Set replaces element i, in [0, Len).
func (l *List[T, A]) Set(i int, value T) { l.elements()[i] = value }

// Append adds an element at the end; it reports false if the list is full.
func (l *List[T, A]) Append(value T) bool {
	n := l.Len()
	if n == l.Cap() {
		return false
	}
	l.n = uint32(n + 1)
	l.Set(n, value)
	return true
}

// RemoveAt removes element i, in [0, Len). The elements after it move up in their order.
func (l *List[T, A]) RemoveAt(i int) {
	elements := l.elements()
	copy(elements[i:], elements[i+1:])
	clear(elements[len(elements)-1:])
	l.n = uint32(len(elements) - 1)
}

// Clear removes all elements.
func (l *List[T, A]) Clear() { *l = List[T, A]{} }

// All returns the elements with their positions. During the loop the list may be changed only by Set.
func (l *List[T, A]) All() iter.Seq2[int, T] { return slices.All(l.elements()) }

// types returns the list's own type and that of its elements, for the layout.
func (l *List[T, A]) types() (list, elem reflect.Type) {
	return reflect.TypeFor[List[T, A]](), reflect.TypeFor[T]()
}
