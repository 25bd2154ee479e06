package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// EventKey identifies an event in a match, however often its tick is simulated.
type EventKey struct {
	Tick    Tick
	Type    uint16 // position in Game.Events
	Ordinal uint16 // events of this type and entity that precede it in the tick
	Entity  Entity // the entity that the event concerns, or zero
}

// EmittedEvent is one event of a tick. Value aliases the world's buffer: it is valid until the next Step.
type EmittedEvent struct {
	Key          EventKey
	Irreversible bool
	Private      bool      // only the players in To receive it
	To           PlayerSet // set by World.Step: a client that received the event does not know it
	Value        []byte
}

// KnownEvents appends to dst the events that a viewer receives, a seat or −1 for a spectator, and returns the extended slice. Their
// ordinals count only these events.
func KnownEvents(dst, events []EmittedEvent, viewer int) []EmittedEvent {
	from := len(dst)
	for _, e := range events {
		if e.Private && (viewer < 0 || !e.To.Has(Player(viewer))) {
			continue
		}
		e.Key.Ordinal = OrdinalAfter(dst[from:], e.Key.Type, e.Key.Entity)
		dst = append(dst, e)
	}
	return dst
}

// OrdinalAfter returns the ordinal of an event of a type about an entity that follows these events of its tick.
func OrdinalAfter(events []EmittedEvent, kind uint16, about Entity) (n uint16) {
	for i := range events {
		if k := &events[i].Key; k.Type == kind && k.Entity == about {
			n++
		}
	}
	return n
}

// DescribeEvent returns an event's name and fields; ok is false for an event that is not one of the game's.
func (s *Schema) DescribeEvent(e EmittedEvent) (r Record, ok bool) {
	if int(e.Key.Type) >= len(s.Events) {
		return r, false
	}
	t := s.Events[e.Key.Type]
	if len(e.Value) != int(t.layout.size) {
		return r, false
	}
	return Record{t.name, t.layout.values(e.Value)}, true
}

// SameEvent reports whether two events may be one event that a correction has moved to another tick. They have the same type
// and the same entity, and all their fields are equal except fixed-point and floating-point numbers. An event without an entity
// is never the same as another.
func (s *Schema) SameEvent(a, b *EmittedEvent) bool {
	if a.Key.Type != b.Key.Type || a.Key.Entity != b.Key.Entity || a.Key.Entity == (Entity{}) || len(a.Value) != len(b.Value) {
		return false
	}
	for _, x := range s.Events[a.Key.Type].identity {
		if string(a.Value[x.from:x.to]) != string(b.Value[x.from:x.to]) {
			return false
		}
	}
	return true
}

// PredictsEvent reports whether the view of the player with this seat receives an event before its tick is confirmed.
func (s *Schema) PredictsEvent(e *EmittedEvent, seat int) bool {
	if e.Irreversible || int(e.Key.Type) >= len(s.Events) || s.Events[e.Key.Type].event != Own {
		return !e.Irreversible
	}
	p, ok := e.Key.Entity.Owner().Player()
	return ok && int(p) == seat
}

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
	r := reader{rest: b}
	tick := r.uvarint(math.MaxUint64)
	if r.failed || len(r.rest) == 0 {
		return dst, fmt.Errorf("%w: no tick, or no event after it", ErrEvents)
	}
	list := dst
	for len(r.rest) > 0 {
		e, err := s.readEvent(&r, Tick(tick))
		if err != nil {
			return dst, fmt.Errorf("%w: event %d: %w", ErrEvents, len(list)-len(dst), err)
		}
		list = append(list, e)
	}
	return list, nil
}

func (s *Schema) readEvent(r *reader, tick Tick) (e EmittedEvent, err error) {
	number := r.uvarint(math.MaxUint16)
	if r.failed || int(number) >= len(s.Events) {
		return e, fmt.Errorf("a type that is not among the game's %d", len(s.Events))
	}
	t := s.Events[number]
	e.Key = EventKey{Tick: tick, Type: uint16(number)}
	if e.Key.Entity.Row = uint32(r.uvarint(math.MaxUint32)); e.Key.Entity.Row != 0 {
		e.Key.Entity.Born = tick - Tick(r.uvarint(math.MaxUint64))
	}
	e.Key.Ordinal, e.Irreversible, e.Private = uint16(r.uvarint(math.MaxUint16)), t.Irreversible(), t.private
	size := int(t.layout.size)
	if r.failed || len(r.rest) < size {
		return e, fmt.Errorf("%q is cut off", t.name)
	}
	e.Value, r.rest = r.rest[:size:size], r.rest[size:]
	if err := t.layout.check(e.Value); err != nil {
		return e, fmt.Errorf("%q: %w", t.name, err)
	}
	return e, nil
}
