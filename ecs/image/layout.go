package image

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs/fixed"
)

// layout describes a plain type: where its values, its booleans and its padding are. It describes the same bytes on every
// target. A type whose bytes would lie elsewhere on this target has no layout.
type layout struct {
	typ     reflect.Type
	size    uintptr
	fields  []field   // leaves, ascending by offset
	padding []span    // ascending, disjoint, not covered by any field
	bools   []int     // positions in fields
	presses []uintptr // booleans tagged `tendon:"press"`
	lists   []listSpan
	private []span // values of fields tagged `tendon:"private"`, or of the whole row: ascending, disjoint
	steps   bool   // a field has a step
	floats  bool
	// fingerprint is a hash of every leaf's path, kind and offset, of the presses, of the steps, and of private.
	fingerprint uint64
}

// field is one leaf of a plain type, and the scalar that a wire carries for it. Integers are sign-extended to 64 bits,
// booleans are 0 and 1, floats are their bits, and values with a step are the number of steps. NaN is carried as 0.
type field struct {
	path   string
	typ    reflect.Type
	offset uintptr
	form   reflect.Kind // the kind of typ, or one of the forms with a step
	shift  uint8        // log2 of step, where that is a power of two
	group  int32        // see Scalar.Group
	most   uint64       // slots of the list that this counts; otherwise 0
	step   int64        // as a fixed.Num; 0 for none
	half   int64
	unit   float64 // step
	// rotation is the number for √½ in the three fields that follow this one, if they are parts of a quaternion; otherwise 0.
	rotation int64
}

// listSpan is a List in a plain type. count is the leaf that holds its number of elements; the leaves of the elements
// follow.
type listSpan struct {
	count  int
	offset uintptr // of count
	most   uint32  // elements
	each   int     // leaves of an element
}

type span struct{ from, to uintptr }

// refusal returns the error for a type or a declaration that is refused. field is the path of the offending field, or "".
// problem is a sentence: the fault, and the type to use instead.
func refusal(kind, name string, t reflect.Type, field, problem string) error {
	return fmt.Errorf("ecs: %s %q: %s: %s", kind, name, joinPath(t.String(), field), problem)
}

// layoutOf walks t and returns its layout, or an error that names the field which is not plain data.
func layoutOf(what, name string, t reflect.Type) (*layout, error) {
	l := &layout{typ: t, size: t.Size()}
	walk := layoutWalk{layout: l, what: what, name: name, groups: map[string]int32{}}
	if t.Size() > maxRowBytes {
		return nil, walk.refuse("", fmt.Sprintf("is %d bytes, more than %d; split it, so that one write does not copy all of it", t.Size(), maxRowBytes))
	}
	if err := walk.value(t, "", 0, ""); err != nil {
		return nil, err
	}
	if nativeAlign != 8 {
		if path, problem := misplacedIn(t, "", 0); problem != "" {
			return nil, walk.refuse(path, problem)
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
	groups     map[string]int32
	private    bool // the present field, or one around it, is private
}

func (w layoutWalk) refuse(path, problem string) error {
	return refusal(w.what, w.name, w.typ, path, problem)
}

// value appends the leaves of t, which lies at offset.
func (w layoutWalk) value(t reflect.Type, path string, offset uintptr, tag string) error {
	if scale, ok := strings.CutPrefix(tag, "rotation="); ok {
		return w.rotation(t, path, offset, scale)
	}
	if tag != "" && tag != "press" && stepOf(tag) == "" {
		return w.refuse(path, fmt.Sprintf("the tag %q is not valid: write press, private, step= and a size, or rotation= and a number", tag))
	}
	if tag == "press" && t.Kind() != reflect.Array && (w.what != "input" || t.Kind() != reflect.Bool) {
		return w.refuse(path, fmt.Sprintf("is a press in %s %s; only a bool of an input is one", w.what, t))
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return w.leaf(t, path, offset, tag)
	case reflect.Array:
		return w.array(t, path, offset, tag)
	case reflect.Struct:
		if l, ok := reflect.New(t).Interface().(interface {
			types() (list, elem reflect.Type)
		}); ok {
			if list, elem := l.types(); list == t { // a struct that embeds a List has its methods, but is none
				return w.list(t, elem, path, offset, tag)
			}
		}
		return w.structure(t, path, offset, tag)
	}
	return w.refuse(path, notPlain(t))
}

func (w layoutWalk) leaf(t reflect.Type, path string, offset uintptr, tag string) error {
	f := field{path: path, typ: t, offset: offset, form: t.Kind()}
	switch t.Kind() {
	case reflect.Bool:
		w.bools = append(w.bools, len(w.fields))
		if tag == "press" {
			w.presses = append(w.presses, offset)
		}
	case reflect.Float32, reflect.Float64:
		w.floats = true
	}
	group := withoutIndexes(cmp.Or(w.group, path))
	if _, ok := w.groups[group]; !ok {
		w.groups[group] = int32(len(w.groups))
	}
	f.group = w.groups[group]
	if err := w.giveStep(&f, tag); err != nil {
		return err
	}
	w.fields = append(w.fields, f)
	if w.private {
		w.hide(span{offset, offset + t.Size()})
	}
	return nil
}

// hide adds a span to private. It lies after those before.
func (l *layout) hide(s span) {
	if n := len(l.private); n > 0 && l.private[n-1].to == s.from {
		l.private[n-1].to = s.to
		return
	}
	l.private = append(l.private, s)
}

// cutPrivate returns a tag without the part "private", and whether it had that part.
func cutPrivate(tag string) (rest string, private bool) {
	first, rest, _ := strings.Cut(tag, ",")
	if first != "private" {
		return tag, false
	}
	return rest, true
}

// withoutIndexes returns a path without its parts in brackets.
func withoutIndexes(path string) string {
	for {
		before, rest, ok := strings.Cut(path, "[")
		if !ok {
			return path
		}
		_, after, _ := strings.Cut(rest, "]")
		path = before + after
	}
}

func (w layoutWalk) array(t reflect.Type, path string, offset uintptr, tag string) error {
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

// maxRotation is the greatest number for √½ in a rotation.
const maxRotation = 1 << 14

// rotation appends the three parts of a quaternion. The leaf before them is the index of the fourth.
func (w layoutWalk) rotation(t reflect.Type, path string, offset uintptr, scale string) error {
	n, err := strconv.ParseInt(scale, 10, 64)
	last := len(w.fields) - 1
	switch {
	case err != nil || n <= 0 || n > maxRotation:
		return w.refuse(path, fmt.Sprintf("has the rotation %q; write the number that stands for √½, from 1 to %d", scale, maxRotation))
	case t.Kind() != reflect.Array || t.Len() != 3 || t.Elem().Kind() < reflect.Int16 || t.Elem().Kind() > reflect.Int64:
		return w.refuse(path, "has a rotation, but is "+t.String()+"; use [3]int16, [3]int32 or [3]int64 for the three smallest parts of a quaternion")
	case last < 0 || w.fields[last].form != reflect.Uint8:
		return w.refuse(path, "has a rotation, but no uint8 before it; put the index of the part that is left out there")
	}
	w.fields[last].rotation = n
	return w.array(t, path, offset, "")
}

func (w layoutWalk) structure(t reflect.Type, path string, offset uintptr, tag string) error {
	if t == reflect.TypeFor[fixed.Vec2]() || t == reflect.TypeFor[fixed.Vec3]() { // axes have similar values
		w.group = path
	}
	for i := range t.NumField() {
		f, into := t.Field(i), w
		own, private := cutPrivate(f.Tag.Get("tendon"))
		if private && w.what != "component" && w.what != "resource" {
			return w.refuse(joinPath(path, f.Name), "is private in "+article(w.what)+"; only fields of components and resources can be")
		}
		into.private = w.private || private
		if stepOf(tag) != "" && stepOf(own) == "" {
			own = tag
		}
		if f.Name == "_" { // declared padding: plain, but without a value
			into = w.discarding()
		}
		if err := into.value(f.Type, joinPath(path, f.Name), offset+f.Offset, own); err != nil {
			return err
		}
	}
	return nil
}

func (w layoutWalk) list(t, elem reflect.Type, path string, offset uintptr, tag string) error {
	count, items := t.Field(0), t.Field(2)
	if items.Type.Kind() != reflect.Array || items.Type.Elem() != elem || items.Type.Len() == 0 || elem.Size() == 0 {
		return w.refuse(path, fmt.Sprintf("a list of %s needs the array type of its elements, not %s; use ecs.List[%s, [8]%s] for at most 8",
			elem, items.Type, elem.Name(), elem.Name()))
	}
	n, at := items.Type.Len(), len(w.lists)
	w.lists = append(w.lists, listSpan{count: len(w.fields), offset: offset + count.Offset, most: uint32(n)})
	if err := w.leaf(count.Type, joinPath(path, "Len"), offset+count.Offset, ""); err != nil {
		return err
	}
	w.fields[len(w.fields)-1].most = uint64(n)
	first := len(w.fields)
	err := w.array(items.Type, path, offset+items.Offset, tag)
	w.lists[at].each = (len(w.fields) - first) / n
	return err
}

// article returns a noun with its article.
func article(noun string) string {
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// discarding returns a walk that checks a part of the type without adding leaves.
func (w layoutWalk) discarding() layoutWalk {
	return layoutWalk{layout: &layout{typ: w.typ}, what: w.what, name: w.name, groups: map[string]int32{}}
}

// joinPath joins two parts of a path, which may be empty.
func joinPath(path, name string) string {
	if path == "" || name == "" {
		return path + name
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

// identity returns the places of all leaves but fixed-point and floating-point numbers.
func (l *layout) identity() (list []span) {
	for i := range l.fields {
		f := &l.fields[i]
		if f.typ == reflect.TypeFor[fixed.Num]() || f.typ.Kind() == reflect.Float32 || f.typ.Kind() == reflect.Float64 {
			continue
		}
		from, to := f.offset, f.offset+f.typ.Size()
		if n := len(list); n > 0 && list[n-1].to == from {
			list[n-1].to = to
		} else {
			list = append(list, span{from, to})
		}
	}
	return list
}

func (l *layout) findPadding() {
	at := uintptr(0)
	for _, f := range l.fields {
		if f.offset > at {
			l.padding = append(l.padding, span{at, f.offset})
		}
		at = f.offset + f.typ.Size()
	}
	if at < l.size {
		l.padding = append(l.padding, span{at, l.size})
	}
}

func (l *layout) hash() uint64 {
	var d xxhash.Digest
	d.Reset()
	for _, f := range l.fields {
		fmt.Fprintf(&d, "%s %d %d %d;", f.path, f.typ.Kind(), f.offset, f.typ.Size())
	}
	fmt.Fprintf(&d, "size %d presses %d", l.size, l.presses)
	for i, f := range l.fields {
		if f.step > 0 {
			fmt.Fprintf(&d, " step %d %d", i, f.step)
		}
		if f.rotation > 0 {
			fmt.Fprintf(&d, " rotation %d %d", i, f.rotation)
		}
	}
	if len(l.private) > 0 {
		fmt.Fprintf(&d, " private %d", l.private)
	}
	return d.Sum64()
}

func (l *layout) scrub(row []byte) {
	for _, p := range l.padding {
		clear(row[p.from:p.to])
	}
}

// check returns an error for a row that no Go program could have stored. Such a row has a boolean other than 0 or 1, a list
// longer than its slots, or padding that is not zero.
func (l *layout) check(row []byte) error {
	for _, b := range l.bools {
		if f := &l.fields[b]; row[f.offset] > 1 {
			return errImpossible(f.path)
		}
	}
	for _, s := range l.lists {
		if binary.LittleEndian.Uint32(row[s.offset:]) > s.most {
			return errImpossible(l.fields[s.count].path)
		}
	}
	for _, p := range l.padding {
		if !isZero(row[p.from:p.to]) {
			return errImpossible(paddingPath)
		}
	}
	return nil
}

// takesAny reports whether check accepts every row.
func (l *layout) takesAny() bool { return len(l.bools)+len(l.lists)+len(l.padding) == 0 }

func errImpossible(path string) error {
	return fmt.Errorf("%s has bytes that no program could have stored", path)
}

// paddingPath is the path of bytes that belong to no field.
const paddingPath = "padding"
