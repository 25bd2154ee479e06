package ecs

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// layout is what the engine knows of a plain type: where its values, its booleans and its padding are. It describes
// the same bytes on every target; a type whose bytes would lie elsewhere on this target has no layout.
type layout struct {
	typ     reflect.Type
	size    uintptr
	align   uintptr
	fields  []field // leaves, ascending by offset
	padding []span  // ascending, disjoint, not covered by any field
	bools   []uintptr
	presses []uintptr // booleans tagged `tendon:"press"`
	floats  bool
	// fingerprint is a hash of every leaf's path, kind and offset.
	fingerprint uint64
}

// field is one leaf of a plain type.
type field struct {
	path   string
	kind   reflect.Kind
	offset uintptr
	size   uintptr
}

// span is the half-open byte range [from, to).
type span struct{ from, to uintptr }

// A RegistrationError says why a type or a declaration was refused.
type RegistrationError struct {
	What    string // "component", "resource", "input" or "event"
	Name    string // the declared name
	Type    string // the Go type
	Field   string // path of the offending field, or ""
	Problem string // a sentence that says what is wrong and what to use
}

func (e *RegistrationError) Error() string {
	at := e.Type
	if e.Field != "" {
		at += "." + e.Field
	}
	return fmt.Sprintf("ecs: %s %q: %s: %s", e.What, e.Name, at, e.Problem)
}

// layoutOf walks t and returns its layout, or an error that names the field which is not plain data.
func layoutOf(what, name string, t reflect.Type) (*layout, error) {
	l := &layout{typ: t, size: t.Size(), align: uintptr(t.Align())}
	walk := layoutWalk{layout: l, what: what, name: name}
	size64, _, err := walk.value(t, "", 0, 0, "")
	if err != nil {
		return nil, err
	}
	if size64 != l.size {
		return nil, walk.refuse("", fmt.Sprintf("is %d bytes on 64-bit targets and %d on this one; put 8-byte fields first and pad the struct to a multiple of 8 with a `_ uint32`", size64, l.size))
	}
	l.findPadding()
	l.fingerprint = l.hash()
	return l, nil
}

// layoutWalk carries what the recursion over a type needs.
type layoutWalk struct {
	*layout
	what, name string
}

func (w layoutWalk) refuse(path, problem string) error {
	return &RegistrationError{What: w.what, Name: w.name, Type: w.typ.String(), Field: path, Problem: problem}
}

// value appends the leaves of t at offset and returns t's size and alignment under 64-bit rules. want is the offset
// that 64-bit rules give.
func (w layoutWalk) value(t reflect.Type, path string, offset, want uintptr, tag reflect.StructTag) (size, align uintptr, err error) {
	if offset != want {
		return 0, 0, w.refuse(path, fmt.Sprintf("lies at byte %d on 64-bit targets and at %d on this one; put 8-byte fields first or pad before it with a `_ uint32`", want, offset))
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		w.leaf(t, path, offset, tag)
		return t.Size(), t.Size(), nil
	case reflect.Array:
		return w.array(t, path, offset, tag)
	case reflect.Struct:
		return w.structure(t, path, offset)
	}
	return 0, 0, w.refuse(path, notPlain(t))
}

func (w layoutWalk) leaf(t reflect.Type, path string, offset uintptr, tag reflect.StructTag) {
	w.fields = append(w.fields, field{path: path, kind: t.Kind(), offset: offset, size: t.Size()})
	switch t.Kind() {
	case reflect.Bool:
		w.bools = append(w.bools, offset)
		if tag.Get("tendon") == "press" {
			w.presses = append(w.presses, offset)
		}
	case reflect.Float32, reflect.Float64:
		w.floats = true
	}
}

func (w layoutWalk) array(t reflect.Type, path string, offset uintptr, tag reflect.StructTag) (size, align uintptr, err error) {
	elem := t.Elem()
	_, align, err = layoutWalk{&layout{typ: w.typ}, w.what, w.name}.value(elem, path+"[]", 0, 0, "")
	if err != nil {
		return 0, 0, err
	}
	for i := range t.Len() {
		at := offset + uintptr(i)*elem.Size()
		s, _, err := w.value(elem, path+"["+strconv.Itoa(i)+"]", at, at, tag)
		if err != nil {
			return 0, 0, err
		}
		size += s
		if s != elem.Size() {
			return 0, 0, w.refuse(path+"[]", fmt.Sprintf("is %d bytes on 64-bit targets and %d on this one; pad it to a multiple of 8", s, elem.Size()))
		}
	}
	return size, align, nil
}

func (w layoutWalk) structure(t reflect.Type, path string, offset uintptr) (size, align uintptr, err error) {
	align = 1
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Name
		if path != "" {
			name = path + "." + f.Name
		}
		if f.Name == "_" { // declared padding: has no value
			size = alignUp(size, uintptr(f.Type.Align())) + f.Type.Size()
			continue
		}
		_, a, err := layoutWalk{&layout{typ: w.typ}, w.what, w.name}.value(f.Type, name, 0, 0, "")
		if err != nil {
			return 0, 0, err
		}
		size = alignUp(size, a)
		s, _, err := w.value(f.Type, name, offset+f.Offset, offset+size, f.Tag)
		if err != nil {
			return 0, 0, err
		}
		size += s
		align = max(align, a)
	}
	return alignUp(size, align), align, nil
}

func alignUp(n, to uintptr) uintptr { return (n + to - 1) / to * to }

// notPlain says what to use instead of a type that may not stand in the image.
func notPlain(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Uint, reflect.Uintptr:
		return t.Kind().String() + " has another size on other targets; use int32, int64, uint32 or uint64"
	case reflect.Slice:
		return "a slice points outside the image; use an array or ecs.List"
	case reflect.String:
		return "a string points outside the image; use a byte array or an index into Game.Assets"
	case reflect.Map:
		return "a map points outside the image and has no order; use ecs.List, or ecs.Derived for an index"
	case reflect.Pointer, reflect.UnsafePointer:
		return "a pointer cannot be rewound; store an ecs.Entity"
	case reflect.Func, reflect.Chan, reflect.Interface:
		return "a " + t.Kind().String() + " cannot be rewound; store a number that selects it"
	}
	return "a " + t.Kind().String() + " is not plain data; use booleans, sized numbers, arrays and structs of them"
}

// findPadding lists the bytes of the type that no leaf covers.
func (l *layout) findPadding() {
	at := uintptr(0)
	for _, f := range l.fields {
		if f.offset > at {
			l.padding = append(l.padding, span{at, f.offset})
		}
		at = f.offset + f.size
	}
	if at < l.size {
		l.padding = append(l.padding, span{at, l.size})
	}
}

func (l *layout) hash() uint64 {
	var d xxhash.Digest
	d.Reset()
	for _, f := range l.fields {
		fmt.Fprintf(&d, "%s %d %d %d;", f.path, f.kind, f.offset, f.size)
	}
	fmt.Fprintf(&d, "size %d", l.size)
	return d.Sum64()
}

// scrub zeroes the padding of one value.
func (l *layout) scrub(row []byte) {
	for _, p := range l.padding {
		clear(row[p.from:p.to])
	}
}

// checkRow reports the path of a field whose bytes no Go program could have stored: a boolean other than 0 or 1, or
// padding that is not zero.
func (l *layout) checkRow(row []byte) (path string, ok bool) {
	for _, o := range l.bools {
		if row[o] > 1 {
			return l.fieldAt(o).path, false
		}
	}
	for _, p := range l.padding {
		for _, b := range row[p.from:p.to] {
			if b != 0 {
				return "padding", false
			}
		}
	}
	return "", true
}

// fieldAt returns the leaf that covers byte offset, or a nameless field for padding.
func (l *layout) fieldAt(offset uintptr) field {
	for _, f := range l.fields {
		if offset >= f.offset && offset < f.offset+f.size {
			return f
		}
	}
	return field{path: "padding", kind: reflect.Uint8, offset: offset, size: 1}
}
