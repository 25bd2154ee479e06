package ecs

import (
	"unsafe"

	"tendon/ecs/image"
)

// Input is a game's input type: at most image.MaxInputBytes of plain data per player and tick.
//
// A boolean field tagged `tendon:"press"` is a press, which lasts one tick. In a window of the engine a key that is held is one
// press; see Begin of image.InputType. A predicted input repeats the last one without
// its presses. The presses of an input that arrives too late are merged into the next input. A type may replace both rules
// by methods:
//
//	func (in Pad) Predict() Pad             // the input one tick after in
//	func (late Pad) MergeLate(next Pad) Pad // next with the lasting part of late
type Input[T any] struct{ *image.InputType }

// AnyInput is an Input of any type, as Game.Input holds it. Its methods are those of image.InputType.
type AnyInput interface {
	Size() int
	Numbers() []image.InputNumber
	Clean(in InputBytes) InputBytes
	Valid(in InputBytes) bool
	Begin(last, now InputBytes) InputBytes
	Predict(last InputBytes) InputBytes
	MergeLate(late, next InputBytes) InputBytes
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
	in.InputType = image.DeclareInput[T](predict, mergeLate)
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

// Last returns p's input of the tick before, which distinguishes a press from a hold.
func (in *Input[T]) Last(w *World, p Player) T {
	return *(*T)(w.image.InputRow(w.game.MaxPlayers + int(p)))
}
