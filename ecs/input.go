package ecs

import (
	"fmt"
	"math/bits"
	"reflect"
	"unsafe"
)

// Input is a game's input type: all that a player can say in one tick, at most MaxInputBytes of plain data.
//
// A boolean field tagged `tendon:"press"` is a press, an edge that lasts one tick: where an input is missing and the
// last is repeated, presses are cleared; where an input arrives too late, they are merged into the next one.
// A type may take both into its own hands with the methods
//
//	func (in Pad) Predict() Pad             // what to assume one tick after in
//	func (late Pad) MergeLate(next Pad) Pad // next, with what must not be lost of late
type Input[T any] struct{ *inputType }

// AnyInput is an Input of any type, as Game.Input holds it.
type AnyInput interface{ declaredInput() *inputType }

// inputType is what the engine knows of an input type without the type.
type inputType struct {
	name      string
	layout    *layout
	err       error
	predict   func(InputBytes) InputBytes // nil: a prediction is the last input, unchanged
	mergeLate func(late, next InputBytes) InputBytes
}

func (t *inputType) declaredInput() *inputType { return t }

// NewInput declares the game's input type.
func NewInput[T any]() *Input[T] {
	typ := reflect.TypeFor[T]()
	t := &inputType{name: typ.Name()}
	t.layout, t.err = layoutOf("input", typ.Name(), typ)
	if t.err == nil && t.layout.size > MaxInputBytes {
		t.err = &RegistrationError{What: "input", Name: typ.Name(), Type: typ.String(),
			Problem: fmt.Sprintf("is %d bytes; an input has at most %d, use an order for what is larger", t.layout.size, MaxInputBytes)}
	}
	in := &Input[T]{t}
	t.mergeLate = t.mergePresses
	if t.layout != nil && len(t.layout.presses) > 0 {
		t.predict = t.clearPresses
	}
	var zero T
	if _, ok := any(zero).(interface{ Predict() T }); ok {
		t.predict = func(b InputBytes) InputBytes { return in.Pack(any(in.Unpack(b)).(interface{ Predict() T }).Predict()) }
	}
	if _, ok := any(zero).(interface{ MergeLate(T) T }); ok {
		t.mergeLate = func(late, next InputBytes) InputBytes {
			return in.Pack(any(in.Unpack(late)).(interface{ MergeLate(T) T }).MergeLate(in.Unpack(next)))
		}
	}
	return in
}

// Pack returns the packed form of an input.
func (in *Input[T]) Pack(value T) InputBytes {
	var b InputBytes
	copy(b[:], unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)))
	in.layout.scrub(b[:])
	return b
}

// Unpack returns the value of a packed input.
func (in *Input[T]) Unpack(b InputBytes) T {
	var value T
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)), b[:])
	return value
}

// Of returns p's input of the running tick.
func (in *Input[T]) Of(w *World, p Player) T { return *(*T)(w.inputRow(int(p))) }

// Last returns p's input of the tick before, for telling a press from a hold.
func (in *Input[T]) Last(w *World, p Player) T { return *(*T)(w.inputRow(w.game.MaxPlayers + int(p))) }

// clean zeroes what a Go program could not have stored: padding, bytes behind the type, booleans other than 0 and 1.
func (t *inputType) clean(b *InputBytes) {
	clear(b[t.layout.size:])
	t.layout.scrub(b[:])
	for _, o := range t.layout.bools {
		if b[o] > 1 {
			b[o] = 1
		}
	}
}

func (t *inputType) clearPresses(b InputBytes) InputBytes {
	for _, o := range t.layout.presses {
		b[o] = 0
	}
	return b
}

func (t *inputType) mergePresses(late, next InputBytes) InputBytes {
	for _, o := range t.layout.presses {
		next[o] |= late[o]
	}
	return next
}

// core is the engine's own resource: what a tick needs besides the game's data.
type core struct {
	Tick    Tick
	Players uint64 // set of joined players
	Rand    Rand
}

// PlayerSet is a set of players.
type PlayerSet uint64

// Has reports whether p is in the set.
func (s PlayerSet) Has(p Player) bool { return s&(1<<p) != 0 }

// With returns the set with p in it.
func (s PlayerSet) With(p Player) PlayerSet { return s | 1<<p }

// Without returns the set without p.
func (s PlayerSet) Without(p Player) PlayerSet { return s &^ (1 << p) }

// Len returns the number of players in the set.
func (s PlayerSet) Len() int { return bits.OnesCount64(uint64(s)) }

// All returns the players of the set, ascending.
func (s PlayerSet) All() func(yield func(Player) bool) {
	return func(yield func(Player) bool) {
		for rest := uint64(s); rest != 0; rest &= rest - 1 {
			if !yield(Player(bits.TrailingZeros64(rest))) {
				return
			}
		}
	}
}
