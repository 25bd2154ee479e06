package rollback

import (
	"fmt"
	"math/bits"

	"tendon/ecs"
)

// Ring holds one value of type T for each of some recent ticks. Tick f lies in slot f mod Depth, which stores its
// tick, so that a value is never returned for a tick other than its own. Use NewRing to make one: the zero value holds
// nothing and has no room.
//
// The key may also be another number that grows: the n-th check, the n-th message.
type Ring[T any] struct {
	slots []ringSlot[T] // a power of two of them
	mask  ecs.Tick
}

type ringSlot[T any] struct {
	after ecs.Tick // the tick + 1; 0: the slot is empty
	value T
}

// NewRing returns an empty ring of depth slots; depth is rounded up to a power of two. It panics if depth is below 1.
func NewRing[T any](depth int) Ring[T] {
	if depth < 1 {
		panic(fmt.Sprintf("rollback: NewRing of depth %d, want at least 1", depth))
	}
	n := powerOfTwo(depth)
	return Ring[T]{slots: make([]ringSlot[T], n), mask: ecs.Tick(n - 1)}
}

// Depth returns the number of slots.
func (r *Ring[T]) Depth() int { return len(r.slots) }

// At returns the value of tick f; ok is false if the ring does not hold it. The pointer is valid until the slot is used
// for another tick.
func (r *Ring[T]) At(f ecs.Tick) (value *T, ok bool) {
	i := f & r.mask
	if i >= ecs.Tick(len(r.slots)) {
		return nil, false
	}
	s := &r.slots[i]
	return &s.value, s.after == f+1 && s.after != 0
}

// Slot makes the ring hold tick f and returns its value. If the ring did not hold f, held is false. The value is then that of
// the tick that was in the slot before, so that its memory can be reused.
func (r *Ring[T]) Slot(f ecs.Tick) (value *T, held bool) {
	s := &r.slots[f&r.mask]
	held = s.after == f+1 && s.after != 0
	s.after = f + 1
	return &s.value, held
}

// Put stores the value of tick f, in place of that of the tick in the same slot.
func (r *Ring[T]) Put(f ecs.Tick, value T) {
	s := &r.slots[f&r.mask]
	s.after, s.value = f+1, value
}

// tickAt returns the tick that is in the slot of tick f; ok is false if the slot is empty.
func (r *Ring[T]) tickAt(f ecs.Tick) (tick ecs.Tick, ok bool) {
	after := r.slots[f&r.mask].after
	return after - 1, after != 0
}

// Drop makes the ring hold tick f no longer. The value stays in the slot for reuse.
func (r *Ring[T]) Drop(f ecs.Tick) {
	if s := &r.slots[f&r.mask]; s.after == f+1 {
		s.after = 0
	}
}

// Clear makes the ring hold nothing. The values stay in their slots for reuse.
func (r *Ring[T]) Clear() {
	for i := range r.slots {
		r.slots[i].after = 0
	}
}

// powerOfTwo returns the least power of two that is at least n and at least 1.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }
