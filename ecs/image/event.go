package image

import "reflect"

// EventType describes an event without its Go type.
type EventType struct {
	name         string
	layout       *layout
	err          error
	irreversible bool
}

// DeclareEvent describes an event of type t.
func DeclareEvent(name string, t reflect.Type, irreversible bool) *EventType {
	e := &EventType{name: name, irreversible: irreversible}
	e.layout, e.err = layoutOf("event", name, t)
	return e
}

// Name returns the declared name.
func (t *EventType) Name() string { return t.name }

// Irreversible reports whether the event is shown only when its tick is confirmed.
func (t *EventType) Irreversible() bool { return t.irreversible }

// Scrub zeroes the padding of a value of the event.
func (t *EventType) Scrub(value []byte) { t.layout.scrub(value) }

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
	Value        []byte
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
