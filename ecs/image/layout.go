package image

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// layout describes a plain type: where its values, its booleans and its padding are. It describes the same bytes on
// every target. A type whose bytes would lie elsewhere on this target has no layout.
type layout struct {
	typ     reflect.Type
	size    uintptr
	fields  []field // leaves, ascending by offset
	padding []span  // ascending, disjoint, not covered by any field
	bools   []uintptr
	presses []uintptr // booleans tagged `tendon:"press"`
	lists   []listSpan
	scalars []scalar // the numbers of a row, in the order of fields
	steps   bool     // a scalar is counted in steps
	floats  bool
	// fingerprint is a hash of every leaf's path, kind and offset, of the presses, and of the steps.
	fingerprint uint64
}

// field is one leaf of a plain type.
type field struct {
	path   string
	typ    reflect.Type
	offset uintptr
	size   uintptr
}

// listSpan is the count of a List in a plain type, and its largest value.
type listSpan struct {
	offset uintptr
	most   uint32
}

// span is the half-open byte range [from, to).
type span struct{ from, to uintptr }

// A RegistrationError reports why a type or a declaration was refused.
type RegistrationError struct {
	Kind    string // "component", "resource", "input" or "event"
	Name    string // the declared name
	Type    string // the Go type
	Field   string // path of the offending field, or ""
	Problem string // a sentence: the fault, and the type to use instead
}

// Error names the type and its field, and the type to use instead.
func (e *RegistrationError) Error() string {
	at := e.Type
	if e.Field != "" {
		at += "." + e.Field
	}
	return fmt.Sprintf("ecs: %s %q: %s: %s", e.Kind, e.Name, at, e.Problem)
}

// layoutOf walks t and returns its layout, or an error that names the field which is not plain data.
func layoutOf(what, name string, t reflect.Type) (*layout, error) {
	l := &layout{typ: t, size: t.Size()}
	walk := layoutWalk{layout: l, what: what, name: name, groups: map[string]int{}}
	if t.Size() > maxRowBytes {
		return nil, walk.refuse("", fmt.Sprintf("is %d bytes, more than %d; split it, so that one write does not copy all of it", t.Size(), maxRowBytes))
	}
	if err := walk.value(t, "", 0, ""); err != nil {
		return nil, err
	}
	if native != target64 {
		if m := misplacedIn(t, "", 0, 0); m != nil {
			return nil, walk.refuse(m.path, m.problem())
		}
	}
	l.findPadding()
	l.fingerprint = l.hash()
	return l, nil
}

// layoutWalk is the state of the recursion over a type.
type layoutWalk struct {
	*layout
	what, name string
	group      string // the declared vector around the present field
	groups     map[string]int
}

func (w layoutWalk) refuse(path, problem string) error {
	return &RegistrationError{Kind: w.what, Name: w.name, Type: w.typ.String(), Field: path, Problem: problem}
}

// value appends the leaves of t, which lies at offset.
func (w layoutWalk) value(t reflect.Type, path string, offset uintptr, tag reflect.StructTag) error {
	if said := tag.Get("tendon"); said != "" && said != "press" && stepOf(tag) == "" {
		return w.refuse(path, fmt.Sprintf("the tag %q is not valid: write press, or step= and a size", said))
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return w.leaf(t, path, offset, tag)
	case reflect.Array:
		return w.array(t, path, offset, tag)
	case reflect.Struct:
		if shape, ok := listShapeOf(t); ok {
			return w.list(t, shape, path, offset, tag)
		}
		return w.structure(t, path, offset, tag)
	}
	return w.refuse(path, notPlain(t))
}

func (w layoutWalk) leaf(t reflect.Type, path string, offset uintptr, tag reflect.StructTag) error {
	w.fields = append(w.fields, field{path: path, typ: t, offset: offset, size: t.Size()})
	switch t.Kind() {
	case reflect.Bool:
		w.bools = append(w.bools, offset)
		if tag.Get("tendon") == "press" {
			w.presses = append(w.presses, offset)
		}
	case reflect.Float32, reflect.Float64:
		w.floats = true
	}
	return w.scalar(t, path, offset, tag)
}

func (w layoutWalk) array(t reflect.Type, path string, offset uintptr, tag reflect.StructTag) error {
	elem := t.Elem()
	if t.Len() == 0 || elem.Size() == 0 { // has no bytes, but must be plain all the same
		return w.discarding().value(elem, path+"[0]", 0, "")
	}
	for i := range t.Len() {
		if err := w.value(elem, path+"["+strconv.Itoa(i)+"]", offset+uintptr(i)*elem.Size(), tag); err != nil {
			return err
		}
	}
	return nil
}

func (w layoutWalk) structure(t reflect.Type, path string, offset uintptr, tag reflect.StructTag) error {
	if isVector(t) {
		w.group = path
	}
	for i := range t.NumField() {
		f, into := t.Field(i), w
		if stepOf(tag) != "" && stepOf(f.Tag) == "" {
			f.Tag = tag
		}
		if f.Name == "_" { // declared padding: plain, but without a value
			into = w.discarding()
		}
		if err := into.value(f.Type, joinPath(path, f.Name), offset+f.Offset, f.Tag); err != nil {
			return err
		}
	}
	return nil
}

// list appends the count and the slots of a List.
func (w layoutWalk) list(t reflect.Type, shape listShape, path string, offset uintptr, tag reflect.StructTag) error {
	if shape.items.Kind() != reflect.Array || shape.items.Elem() != shape.elem || shape.items.Len() == 0 || shape.elem.Size() == 0 {
		return w.refuse(path, fmt.Sprintf("a list of %s needs the array type of its elements, not %s; use ecs.List[%s, [8]%s] for at most 8",
			shape.elem, shape.items, shape.elem.Name(), shape.elem.Name()))
	}
	w.lists = append(w.lists, listSpan{offset: offset + t.Field(0).Offset, most: uint32(shape.items.Len())})
	if err := w.leaf(t.Field(0).Type, joinPath(path, "Len"), offset+t.Field(0).Offset, ""); err != nil {
		return err
	}
	w.scalars[len(w.scalars)-1].most = uint64(shape.items.Len())
	return w.array(shape.items, path, offset+t.Field(2).Offset, tag)
}

// discarding returns a walk that checks a part of the type without adding leaves.
func (w layoutWalk) discarding() layoutWalk {
	return layoutWalk{layout: &layout{typ: w.typ}, what: w.what, name: w.name, groups: map[string]int{}}
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// notPlain returns the alternative to a type that cannot be in the image.
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
		fmt.Fprintf(&d, "%s %d %d %d;", f.path, f.typ.Kind(), f.offset, f.size)
	}
	fmt.Fprintf(&d, "size %d presses %d", l.size, l.presses)
	for i := range l.scalars {
		if s := &l.scalars[i]; s.step > 0 {
			fmt.Fprintf(&d, " step %d %d", i, s.step)
		}
	}
	return d.Sum64()
}

// scrub zeroes the padding of one value.
func (l *layout) scrub(row []byte) {
	for _, p := range l.padding {
		clear(row[p.from:p.to])
	}
}

// checkRow returns the path of a field with bytes that no Go program could have stored. These are a boolean other
// than 0 or 1, a list longer than its slots, and padding that is not zero.
func (l *layout) checkRow(row []byte) (path string, ok bool) {
	for _, o := range l.bools {
		if row[o] > 1 {
			return l.fieldAt(o).path, false
		}
	}
	for _, s := range l.lists {
		if binary.LittleEndian.Uint32(row[s.offset:]) > s.most {
			return l.fieldAt(s.offset).path, false
		}
	}
	for _, p := range l.padding {
		if !bytes.Equal(row[p.from:p.to], zeros[:p.to-p.from]) {
			return paddingPath, false
		}
	}
	return "", true
}

// paddingPath is the path of bytes that belong to no field.
const paddingPath = "padding"

// fieldAt returns the leaf that covers byte offset, or a nameless field for padding.
func (l *layout) fieldAt(offset uintptr) field {
	for _, f := range l.fields {
		if offset >= f.offset && offset < f.offset+f.size {
			return f
		}
	}
	return field{path: paddingPath, typ: reflect.TypeFor[uint8](), offset: offset, size: 1}
}
