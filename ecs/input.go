package ecs

import (
	"reflect"
	"unsafe"

	"tendon/ecs/image"
)

// Input is a game's input type: all that a player can say in one tick, at most MaxInputBytes of plain data.
//
// A boolean field tagged `tendon:"press"` is a press, an edge that lasts one tick: where an input is missing and the
// last is repeated, presses are cleared; where an input arrives too late, they are merged into the next one.
// A type may take both into its own hands with the methods
//
//	func (in Pad) Predict() Pad             // what to assume one tick after in
//	func (late Pad) MergeLate(next Pad) Pad // next, with what must not be lost of late
type Input[T any] struct{ *image.InputType }

// AnyInput is an Input of any type, as Game.Input holds it.
type AnyInput interface {
	// Size returns the bytes of an input that can differ from zero: a wire or a recording carries no more.
	Size() int
	// Clean returns an input without bytes that no Go program could have stored. Every input that comes from a wire or a
	// file passes it.
	Clean(in InputBytes) InputBytes
	// Predict returns the predicted input of the tick after the one in which the player's input was last.
	Predict(last InputBytes) InputBytes
	// MergeLate returns next with the presses of an input that arrived after its own tick.
	MergeLate(late, next InputBytes) InputBytes
	// Describe returns the fields of an input.
	Describe(in InputBytes) []image.FieldValue

	declared() *image.InputType
}

func (in *Input[T]) declared() *image.InputType { return in.InputType }

// NewInput declares the game's input type.
func NewInput[T any]() *Input[T] {
	in := &Input[T]{}
	var predict func(InputBytes) InputBytes
	var mergeLate func(late, next InputBytes) InputBytes
	var zero T
	if _, ok := any(zero).(interface{ Predict() T }); ok {
		predict = func(b InputBytes) InputBytes { return in.Pack(any(in.Unpack(b)).(interface{ Predict() T }).Predict()) }
	}
	if _, ok := any(zero).(interface{ MergeLate(T) T }); ok {
		mergeLate = func(late, next InputBytes) InputBytes {
			return in.Pack(any(in.Unpack(late)).(interface{ MergeLate(T) T }).MergeLate(in.Unpack(next)))
		}
	}
	in.InputType = image.DeclareInput(reflect.TypeFor[T](), predict, mergeLate)
	return in
}

// Pack returns the packed form of an input.
func (in *Input[T]) Pack(value T) InputBytes {
	var b InputBytes
	copy(b[:], unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)))
	return in.Clean(b)
}

// Unpack returns the value of a packed input.
func (in *Input[T]) Unpack(b InputBytes) T {
	var value T
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)), b[:])
	return value
}

// Of returns p's input of the running tick.
func (in *Input[T]) Of(w *World, p Player) T { return *(*T)(w.image.InputRow(int(p))) }

// Last returns p's input of the tick before, for telling a press from a hold.
func (in *Input[T]) Last(w *World, p Player) T {
	return *(*T)(w.image.InputRow(w.game.MaxPlayers + int(p)))
}
