package image

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unsafe"

	"tendon/ecs/fixed"
)

// FieldValue is one value of a component, resource, event, order or input, for plots, inspectors and reports.
type FieldValue struct {
	// Path is the field in its type, as in Difference.Field: "Pos.X", "Slots[2].Kind". It is empty if the type itself is a
	// number.
	Path string `json:"path"`
	// Text is the value formatted by fmt; a fixed.Num is a decimal.
	Text string `json:"text"`
	// Number is the value as a float: booleans are 0 and 1, a fixed.Num is its decimal. 64-bit integers beyond 2⁵³ are
	// rounded. It is nil for a float that is NaN or infinite.
	Number *float64 `json:"number"`
}

// Record is one component, resource, event, order or input with its values.
type Record struct {
	Name   string       `json:"name"`
	Fields []FieldValue `json:"fields"` // in the order of declaration; of a list, the elements that it has
}

// Describe returns the entity's components with their fields, in the order of Game.Components. It returns nil if e is not
// in the state.
func (s *Snapshot) Describe(e Entity) (list []Record) {
	if !ExistsAt(s, e) {
		return nil
	}
	list = []Record{}
	for _, c := range s.image.components() {
		if s.has(&c, e.Owner(), e.Row%regionRows) {
			list = append(list, s.record(&c, e.Owner(), e.Row%regionRows))
		}
	}
	return list
}

// DescribeResources returns the resources with their fields, in the order of Game.Resources.
func (s *Snapshot) DescribeResources() (list []Record) {
	if s.Empty() {
		return nil
	}
	list = []Record{}
	for _, c := range s.image.resources() {
		list = append(list, s.record(&c, 0, 0))
	}
	return list
}

func (s *Snapshot) record(c *Column, o Owner, i uint32) Record {
	return Record{c.name, c.layout.values(unsafe.Slice((*byte)(s.row(c, o, i)), c.stride))}
}

// values returns the fields of a row, without those of elements that its lists do not have.
func (l *layout) values(row []byte) (list []FieldValue) {
	list = []FieldValue{}
	for i := range l.fields {
		if !l.isEmptySlot(row, i) {
			list = append(list, l.fields[i].value(row))
		}
	}
	return list
}

// isEmptySlot reports whether field i belongs to an element that its list does not have.
func (l *layout) isEmptySlot(row []byte, i int) bool {
	for _, s := range l.lists {
		first, n := s.count+1, int(binary.LittleEndian.Uint32(row[s.offset:]))
		if i >= first+n*s.each && i < first+int(s.most)*s.each {
			return true
		}
	}
	return false
}

func (f *field) value(row []byte) FieldValue {
	value := f.load(row[f.offset : f.offset+f.typ.Size()])
	v, number := FieldValue{Path: f.path, Text: fmt.Sprint(value.Interface())}, 0.0
	switch {
	case f.typ == numType:
		number = fixed.Num(value.Int()).Float()
	case value.CanInt():
		number = float64(value.Int())
	case value.CanUint():
		number = float64(value.Uint())
	case value.CanFloat():
		number = value.Float()
	case value.Bool():
		number = 1
	}
	if !math.IsNaN(number) && !math.IsInf(number, 0) {
		v.Number = &number
	}
	return v
}

// load returns a field's bytes as a value of its type.
func (f *field) load(raw []byte) reflect.Value {
	value := reflect.New(f.typ)
	copy(unsafe.Slice((*byte)(value.UnsafePointer()), f.typ.Size()), raw)
	return value.Elem()
}

// FieldRef is one field of one component or resource. At reads it without a search by name. It belongs to one game.
type FieldRef struct {
	of    *Declaration
	field *field
}

// Resource reports whether the field belongs to a resource, and so to no entity.
func (r FieldRef) Resource() bool { return r.of.kind == "resource" }

// FindField returns the field of a path: the name of the component or resource, a dot, and the field as in
// Difference.Field, for example "body.Pos.X". The error lists the choices.
func (s *Schema) FindField(path string) (FieldRef, error) {
	var names []string
	for _, d := range s.declared() {
		names = append(names, d.name)
		rest, ok := strings.CutPrefix(path, d.name)
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		rest = strings.TrimPrefix(rest, ".")
		var paths []string
		for k := range d.layout.fields {
			if f := &d.layout.fields[k]; f.path == rest {
				return FieldRef{d, f}, nil
			}
			paths = append(paths, d.layout.fields[k].path)
		}
		return FieldRef{}, fmt.Errorf("ecs: %s %q has no field %q: choose among %s", d.kind, d.name, rest, few(paths))
	}
	return FieldRef{}, fmt.Errorf("ecs: no component or resource has the name that starts %q: choose among %s", path, few(names))
}

func few(names []string) string {
	const most = 24
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// At returns the field's value of e in a state. ok is false if e is not in the state or lacks the component. e is ignored
// for a resource.
func (r FieldRef) At(s *Snapshot, e Entity) (v FieldValue, ok bool) {
	if r.field == nil || s.Empty() {
		return v, false
	}
	var row unsafe.Pointer
	if r.Resource() {
		row = s.row(s.image.Column(r.of), 0, 0)
	} else if row = s.Row(r.of, e); row == nil {
		return v, false
	}
	return r.field.value(unsafe.Slice((*byte)(row), r.of.layout.size)), true
}
