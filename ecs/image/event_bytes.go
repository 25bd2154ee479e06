package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The events of a tick as bytes, for clients that did not simulate it. A tick without events has no bytes:
//
//	tick       uvarint
//	per event, in the order of emission, to the end:
//	  type     uvarint: position in Game.Events
//	  row      uvarint: of the entity, 0 for none
//	  age      uvarint, unless row is 0: the tick less the entity's birth, modulo 2⁶⁴
//	  ordinal  uvarint
//	  value    as many bytes as the event's type has

// ErrEvents is the error of ReadEvents.
var ErrEvents = errors.New("image: the events are damaged")

// AppendEvents appends the events of one tick as bytes and returns the extended slice. Without events it appends nothing.
// keep selects events; nil selects all.
func AppendEvents(dst []byte, events []EmittedEvent, keep func(*EmittedEvent) bool) []byte {
	any := false
	for i := range events {
		if keep != nil && !keep(&events[i]) {
			continue
		}
		k := &events[i].Key
		if !any {
			dst, any = binary.AppendUvarint(dst, uint64(k.Tick)), true
		}
		dst = binary.AppendUvarint(dst, uint64(k.Type))
		dst = binary.AppendUvarint(dst, uint64(k.Entity.Row))
		if k.Entity.Row != 0 {
			dst = binary.AppendUvarint(dst, uint64(k.Tick-k.Entity.Born))
		}
		dst = binary.AppendUvarint(dst, uint64(k.Ordinal))
		dst = append(dst, events[i].Value...)
	}
	return dst
}

// ReadEvents appends to dst the events that AppendEvents encoded in b, in a world of the same game, and returns the
// extended slice. Their values alias b. Their entities may no longer exist. After an error, dst is as before.
//
// A client that did not simulate the tick shows each event when it is final, as a confirmed Effect with First set.
func (s *Schema) ReadEvents(dst []EmittedEvent, b []byte) ([]EmittedEvent, error) {
	if len(b) == 0 {
		return dst, nil
	}
	r := eventReader{schema: s, rest: b}
	tick, ok := r.uvarint(math.MaxUint64)
	if !ok || len(r.rest) == 0 {
		return dst, fmt.Errorf("%w: no tick, or no event after it", ErrEvents)
	}
	list := dst
	for len(r.rest) > 0 {
		e, err := r.event(Tick(tick))
		if err != nil {
			return dst, fmt.Errorf("%w: event %d: %w", ErrEvents, len(list)-len(dst), err)
		}
		list = append(list, e)
	}
	return list, nil
}

// eventReader is the unread part of encoded events.
type eventReader struct {
	schema *Schema
	rest   []byte
}

// uvarint reads a number. ok is false if it is cut off or larger than most.
func (r *eventReader) uvarint(most uint64) (v uint64, ok bool) {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > most {
		return 0, false
	}
	r.rest = r.rest[n:]
	return v, true
}

func (r *eventReader) event(tick Tick) (e EmittedEvent, err error) {
	number, ok := r.uvarint(math.MaxUint16)
	if !ok || int(number) >= len(r.schema.Events) {
		return e, fmt.Errorf("a type that is not among the game's %d", len(r.schema.Events))
	}
	t := r.schema.Events[number]
	row, ok := r.uvarint(math.MaxUint32)
	var born Tick
	if ok && row != 0 {
		var age uint64
		age, ok = r.uvarint(math.MaxUint64)
		born = tick - Tick(age)
	}
	ordinal, counted := r.uvarint(math.MaxUint16)
	size := int(t.layout.size)
	if !ok || !counted || len(r.rest) < size {
		return e, fmt.Errorf("%q is cut off", t.name)
	}
	value := r.rest[:size:size]
	r.rest = r.rest[size:]
	if err := faultIn(t.layout, value); err != nil {
		return e, fmt.Errorf("%q: %w", t.name, err)
	}
	key := EventKey{Tick: tick, Type: uint16(number), Ordinal: uint16(ordinal), Entity: Entity{Row: uint32(row), Born: born}}
	return EmittedEvent{Key: key, Irreversible: t.irreversible, Value: value}, nil
}
