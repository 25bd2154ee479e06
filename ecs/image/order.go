package image

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"
	"unsafe"

	"tendon/ecs/fixed"
)

// MaxOrderTypes bounds the number of a game's orders: one byte selects the type of an order.
const MaxOrderTypes = 255

// MaxReasonBytes bounds the reason of a refused order.
const MaxReasonBytes = 80

// Reasons of orders that no game has to refuse.
const (
	ReasonUnknown = "the game has no such order"
	ReasonDamaged = "the data of the order is damaged"
	ReasonTooMany = "too many orders"
	ReasonAbsent  = "the player is not in the match"
)

// ClipReason returns a reason without what follows its first MaxReasonBytes.
func ClipReason(reason string) string {
	if len(reason) <= MaxReasonBytes {
		return reason
	}
	end := MaxReasonBytes
	for end > 0 && !utf8.RuneStart(reason[end]) {
		end--
	}
	return reason[:end]
}

// DeclareOrder describes an order with data of type T.
func DeclareOrder[T any](name string) *Declaration {
	d := declare[T]("order", name)
	if t := reflect.TypeFor[T](); d.err == nil && d.layout.size >= MaxOrderBytes {
		d.err = refusal("order", name, t, "", fmt.Sprintf("is %d bytes; the data of an order has at most %d, give several orders", d.layout.size, MaxOrderBytes-1))
	}
	return d
}

// Valid reports whether the type is plain data.
func (d *Declaration) Valid() bool { return d.err == nil }

// Size returns the number of bytes of a value.
func (d *Declaration) Size() int { return int(d.layout.size) }

// The payload of a game order is the position of its type in Game.Orders as one byte, then the value's bytes without the
// zero bytes at their end. A value has exactly one payload.

// AppendOrder appends the payload of an order of this type, which is at position number in Game.Orders. It zeroes the padding
// of value.
func (d *Declaration) AppendOrder(dst []byte, number int, value []byte) []byte {
	d.Scrub(value)
	return append(append(dst, byte(number)), bytes.TrimRight(value, "\x00")...)
}

// ReadOrder returns the type of an order, as its position in Game.Orders, and the value's bytes without the zero bytes at
// their end. They alias the payload. problem is empty, or the reason why a payload is refused that AppendOrder has not written.
func (s *Schema) ReadOrder(payload []byte) (number int, value []byte, problem string) {
	if len(payload) == 0 || int(payload[0]) >= len(s.Orders) {
		return 0, nil, ReasonUnknown
	}
	number, value = int(payload[0]), payload[1:]
	l := s.Orders[number].layout
	if len(value) > int(l.size) || len(value) > 0 && value[len(value)-1] == 0 {
		return number, nil, ReasonDamaged
	}
	if l.takesAny() {
		return number, value, ""
	}
	var row [MaxOrderBytes]byte
	copy(row[:], value)
	if l.check(row[:l.size]) != nil || !l.emptySlots(row[:l.size]) {
		return number, nil, ReasonDamaged
	}
	return number, value, ""
}

// CheckOrder returns an error for a payload that ReadOrder refuses.
func (s *Schema) CheckOrder(payload []byte) error {
	if _, _, problem := s.ReadOrder(payload); problem != "" {
		return fmt.Errorf("an order of %d bytes is refused: %s: pack it with Order.Pack", len(payload), problem)
	}
	return nil
}

// emptySlots reports whether the slots after the last element of every list are zero.
func (l *layout) emptySlots(row []byte) bool {
	for _, s := range l.lists {
		n := row[s.offset : s.offset+4]
		first := s.count + 1 + (int(n[0])|int(n[1])<<8|int(n[2])<<16|int(n[3])<<24)*s.each
		last := s.count + int(s.most)*s.each
		if first > last {
			continue
		}
		if end := &l.fields[last]; !isZero(row[l.fields[first].offset : end.offset+end.typ.Size()]) {
			return false
		}
	}
	return true
}

// DescribeOrder returns the name and the fields of an order. ok is false for a payload that ReadOrder refuses.
func (s *Schema) DescribeOrder(payload []byte) (r Record, ok bool) {
	number, value, problem := s.ReadOrder(payload)
	if problem != "" {
		return r, false
	}
	row := make([]byte, s.Orders[number].Size())
	copy(row, value)
	return Record{s.Orders[number].name, s.Orders[number].layout.values(row)}, true
}

// OrderText returns the name and the fields of an order in one line, or the bytes of a payload that ReadOrder refuses.
func (s *Schema) OrderText(payload []byte) string {
	r, ok := s.DescribeOrder(payload)
	if !ok {
		return fmt.Sprintf("%q", payload)
	}
	var fields []string
	for _, f := range r.Fields {
		fields = append(fields, strings.TrimPrefix(f.Path+" "+f.Text, " "))
	}
	return strings.TrimSuffix(r.Name+": "+strings.Join(fields, ", "), ": ")
}

// RandomOrder appends the payload of an order of type number in Game.Orders, for tests. Most numbers in it are small, some
// are any number of their type. Most of its entities are of the list.
func (s *Schema) RandomOrder(dst []byte, number int, r *Rand, entities []Entity) []byte {
	row := make([]uint64, MaxOrderBytes/8)
	at := unsafe.Pointer(&row[0])
	d := s.Orders[number]
	randomValue(d.layout.typ, at, r, entities)
	return d.AppendOrder(dst, number, unsafe.Slice((*byte)(at), d.Size()))
}

func randomValue(t reflect.Type, at unsafe.Pointer, r *Rand, entities []Entity) {
	switch {
	case t == reflect.TypeFor[Entity]():
		if e := (*Entity)(at); len(entities) > 0 && r.Chance(7, 8) {
			*e = entities[r.IntN(len(entities))]
		} else {
			*e = Entity{Row: uint32(r.IntN(9)), Born: Tick(r.IntN(9))}
		}
	case t == numType && r.Chance(7, 8):
		*(*fixed.Num)(at) = fixed.FromRatio(int64(r.IntN(1<<14)-1<<13), 1<<7)
	case t.Kind() == reflect.Array:
		for i := range t.Len() {
			randomValue(t.Elem(), unsafe.Add(at, uintptr(i)*t.Elem().Size()), r, entities)
		}
	case t.Kind() == reflect.Struct:
		randomStruct(t, at, r, entities)
	case t.Kind() == reflect.Bool:
		*(*bool)(at) = r.Chance(1, 2)
	default:
		n := r.Uint64()
		if r.Chance(3, 4) {
			n = uint64(r.IntN(9))
		}
		switch {
		case t.Kind() == reflect.Float32 && n < 9:
			n = uint64(math.Float32bits(float32(n)))
		case t.Kind() == reflect.Float64 && n < 9:
			n = math.Float64bits(float64(n))
		}
		f := field{typ: t, form: t.Kind()}
		f.write(at, n)
	}
}

func randomStruct(t reflect.Type, at unsafe.Pointer, r *Rand, entities []Entity) {
	if l, ok := reflect.New(t).Interface().(interface {
		types() (list, elem reflect.Type)
	}); ok {
		if list, elem := l.types(); list == t {
			items := t.Field(2)
			n := r.IntN(items.Type.Len() + 1)
			*(*uint32)(at) = uint32(n)
			for i := range n {
				randomValue(elem, unsafe.Add(at, items.Offset+uintptr(i)*elem.Size()), r, entities)
			}
			return
		}
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "_" {
			randomValue(f.Type, unsafe.Add(at, f.Offset), r, entities)
		}
	}
}
