package image

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

// InputType describes a game's input without its Go type.
type InputType struct {
	declaration *Declaration
	bits        InputBytes // those that an input can have
	numbers     []InputNumber
	predict     func(last InputBytes) InputBytes // nil: the last input without its presses
	mergeLate   func(late, next InputBytes) InputBytes
	holds       bool // the predicted input is the last one
}

// DeclareInput describes an input of type T. predict and mergeLate replace the rules for fields tagged `tendon:"press"`.
// Both are optional.
func DeclareInput[T any](predict func(InputBytes) InputBytes, mergeLate func(late, next InputBytes) InputBytes) *InputType {
	t := reflect.TypeFor[T]()
	in := &InputType{declaration: declare[T]("input", t.Name()), predict: predict, mergeLate: mergeLate}
	d := in.declaration
	if d.err == nil && d.layout.size > MaxInputBytes {
		d.err = refusal("input", t.Name(), t, "", fmt.Sprintf("is %d bytes; an input has at most %d, use an order for larger data", d.layout.size, MaxInputBytes))
	}
	if d.err == nil {
		for i := range in.bits {
			in.bits[i] = 0xff
		}
		in.bits = in.Clean(in.bits)
		for _, f := range d.layout.fields {
			in.numbers = append(in.numbers, InputNumber{int(f.offset), int(f.typ.Size()), f.typ.Kind() == reflect.Bool})
		}
		in.holds = predict == nil && len(d.layout.presses) == 0
	}
	if in.mergeLate == nil {
		in.mergeLate = in.mergePresses
	}
	return in
}

// Size returns the bytes of an input that can differ from zero, at most MaxInputBytes. A wire or a recording carries no
// more.
func (t *InputType) Size() int { return int(t.declaration.layout.size) }

// InputNumber is the position of a number in an input. Numbers are little-endian. A boolean is 0 or 1.
type InputNumber struct {
	Offset, Bytes int
	Bool          bool
}

// Numbers returns the numbers of an input, ascending by offset. All other bytes of an input are zero.
func (t *InputType) Numbers() []InputNumber { return t.numbers }

// Clean returns an input without bytes that no Go program could have stored: padding and bytes after the type are zero, and
// booleans other than 0 are 1. Every input that comes from a wire or a file passes through it.
func (t *InputType) Clean(in InputBytes) InputBytes {
	clear(in[t.declaration.layout.size:])
	t.declaration.layout.scrub(in[:])
	for _, b := range t.declaration.layout.bools {
		o := t.declaration.layout.fields[b].offset
		in[o] = min(in[o], 1)
	}
	return in
}

// Valid reports whether Clean leaves an input as it is.
func (t *InputType) Valid(in InputBytes) bool {
	var more uint64
	for i := 0; i < len(in); i += 8 {
		more |= binary.LittleEndian.Uint64(in[i:]) &^ binary.LittleEndian.Uint64(t.bits[i:])
	}
	return more == 0
}

// Predict returns the predicted input of the tick after the one in which the player's input was last.
func (t *InputType) Predict(last InputBytes) InputBytes {
	if !t.holds {
		last = t.follow(last)
	}
	return last
}

func (t *InputType) follow(last InputBytes) InputBytes {
	if t.predict != nil {
		return t.predict(last)
	}
	for _, o := range t.declaration.layout.presses {
		last[o] = 0
	}
	return last
}

// Begin returns the input of a player whose keys were down as in last, and are down as in now. A press that last has, too, is held
// and does not begin again.
func (t *InputType) Begin(last, now InputBytes) InputBytes {
	for _, o := range t.declaration.layout.presses {
		now[o] &^= last[o]
	}
	return now
}

// MergeLate returns next with the presses of an input that arrived after its own tick.
func (t *InputType) MergeLate(late, next InputBytes) InputBytes { return t.mergeLate(late, next) }

// Describe returns the fields of a packed input.
func (t *InputType) Describe(in InputBytes) []FieldValue {
	return t.declaration.layout.values(in[:t.declaration.layout.size])
}

func (t *InputType) mergePresses(late, next InputBytes) InputBytes {
	for _, o := range t.declaration.layout.presses {
		next[o] |= late[o]
	}
	return next
}
