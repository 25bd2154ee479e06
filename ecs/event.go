package ecs

import (
	"bytes"
	"reflect"
	"unsafe"
)

// Event is a type of plain data that systems emit for the view: a sound, a hit, a death. Events belong to their tick:
// a resimulated tick emits them again, and the key tells whether an event is the one that was shown before.
type Event[T any] struct{ *eventType }

// AnyEvent is an Event of any type, as Game.Events lists them.
type AnyEvent interface{ declaredEvent() *eventType }

type eventType struct {
	name         string
	id           int // position among the process's event declarations
	layout       *layout
	err          error
	irreversible bool
}

func (t *eventType) declaredEvent() *eventType { return t }

var eventDeclarations int

// Events lists a game's events. The order is part of the game.
func Events(list ...AnyEvent) []AnyEvent { return list }

// NewEvent declares an event that a view may show as predicted and cancel later.
func NewEvent[T any](name string) *Event[T] { return newEvent[T](name, false) }

// NewIrreversibleEvent declares an event that a view is told of only when its tick is confirmed: a death, a score,
// the end of a match.
func NewIrreversibleEvent[T any](name string) *Event[T] { return newEvent[T](name, true) }

func newEvent[T any](name string, irreversible bool) *Event[T] {
	t := &eventType{name: name, id: eventDeclarations, irreversible: irreversible}
	eventDeclarations++
	t.layout, t.err = layoutOf("event", name, reflect.TypeFor[T]())
	return &Event[T]{t}
}

// EventKey identifies an event in a match, however often its tick is simulated.
type EventKey struct {
	Tick    Tick
	Type    uint16 // position in Game.Events
	Ordinal uint16 // how many events of this type and entity the tick had before
	Entity  Entity // whom it is about, or zero
}

// EmittedEvent is one event of a tick. Value aliases the world's buffer: it is valid until the next Step.
type EmittedEvent struct {
	Key          EventKey
	Irreversible bool
	Value        []byte
}

// Emit adds an event to the running tick.
func (t *Event[T]) Emit(w *World, about Entity, value T) {
	log := &w.events
	number := w.game.eventNumber(t.eventType)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value))
	t.layout.scrub(raw)
	key := EventKey{Tick: w.Tick(), Type: number, Entity: about}
	for i := range log.list {
		if k := &log.list[i].Key; k.Type == number && k.Entity == about {
			key.Ordinal++
		}
	}
	from := len(log.values)
	log.values = append(log.values, raw...)
	log.list = append(log.list, EmittedEvent{Key: key, Irreversible: t.irreversible})
	log.ends = append(log.ends, [2]int{from, len(log.values)})
}

// Decode returns the value of an event that was emitted as this type; ok is false for an event of another type.
func (t *Event[T]) Decode(g *Game, e EmittedEvent) (value T, ok bool) {
	if int(e.Key.Type) >= len(g.Events) || g.Events[e.Key.Type].declaredEvent() != t.eventType || len(e.Value) != int(unsafe.Sizeof(value)) {
		return value, false
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)), e.Value)
	return value, true
}

// eventLog collects the events of the running tick. Values stand in one buffer; list's slices are set when asked for,
// since the buffer may move while it grows.
type eventLog struct {
	list   []EmittedEvent
	ends   [][2]int
	values []byte
}

func (l *eventLog) reset() { l.list, l.ends, l.values = l.list[:0], l.ends[:0], l.values[:0] }

// Events returns the events of the last Step in the order of emission. They are valid until the next Step.
func (w *World) Events() []EmittedEvent {
	for i, e := range w.events.ends {
		w.events.list[i].Value = w.events.values[e[0]:e[1]:e[1]]
	}
	return w.events.list
}

// SameValue reports whether two events carry the same bytes.
func (e EmittedEvent) SameValue(other EmittedEvent) bool { return bytes.Equal(e.Value, other.Value) }
