package image

import (
	"fmt"
	"reflect"
)

// InputType describes a game's input without its Go type.
type InputType struct {
	name      string
	layout    *layout
	err       error
	predict   func(InputBytes) InputBytes // nil: the predicted input equals the last one
	mergeLate func(late, next InputBytes) InputBytes
}

// DeclareInput describes an input of type t. predict and mergeLate replace the rules for fields tagged
// `tendon:"press"`. Both are optional.
func DeclareInput(t reflect.Type, predict func(InputBytes) InputBytes, mergeLate func(late, next InputBytes) InputBytes) *InputType {
	in := &InputType{name: t.Name(), predict: predict, mergeLate: mergeLate}
	in.layout, in.err = layoutOf("input", t.Name(), t)
	if in.err == nil && in.layout.size > MaxInputBytes {
		in.err = refusal("input", t.Name(), t, "", fmt.Sprintf("is %d bytes; an input has at most %d, use an order for larger data", in.layout.size, MaxInputBytes))
	}
	if in.predict == nil && in.layout != nil && len(in.layout.presses) > 0 {
		in.predict = in.clearPresses
	}
	if in.mergeLate == nil {
		in.mergeLate = in.mergePresses
	}
	return in
}

// Size returns the bytes of an input that can differ from zero, at most MaxInputBytes. A wire or a recording carries
// no more.
func (t *InputType) Size() int { return int(t.layout.size) }

// Clean returns an input without bytes that no Go program could have stored: padding and bytes after the type are zero, and booleans
// other than 0 are 1. Every input that comes from a wire or a file passes through it.
func (t *InputType) Clean(in InputBytes) InputBytes {
	clear(in[t.layout.size:])
	t.layout.scrub(in[:])
	for _, o := range t.layout.bools {
		if in[o] > 1 {
			in[o] = 1
		}
	}
	return in
}

// Valid reports whether Clean leaves an input as it is.
func (t *InputType) Valid(in InputBytes) bool {
	size := t.layout.size
	_, ok := t.layout.checkRow(in[:size])
	return ok && isZero(in[size:])
}

// Predict returns the predicted input of the tick after the one in which the player's input was last.
func (t *InputType) Predict(last InputBytes) InputBytes {
	if t.predict != nil {
		return t.predict(last)
	}
	return last
}

// MergeLate returns next with the presses of an input that arrived after its own tick.
func (t *InputType) MergeLate(late, next InputBytes) InputBytes { return t.mergeLate(late, next) }

// Describe returns the fields of a packed input.
func (t *InputType) Describe(in InputBytes) []FieldValue { return t.layout.values(in[:t.layout.size]) }

func (t *InputType) clearPresses(b InputBytes) InputBytes {
	for _, o := range t.layout.presses {
		b[o] = 0
	}
	return b
}

func (t *InputType) mergePresses(late, next InputBytes) InputBytes {
	for _, o := range t.layout.presses {
		next[o] |= late[o]
	}
	return next
}
