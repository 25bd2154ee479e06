package ecs

import (
	"fmt"
	"slices"
	"unsafe"

	"tendon/ecs/image"
)

// Event is a type of plain data that systems emit for views: a sound, a hit, a death. Events belong to their tick: a tick
// that is resimulated emits them again, with the same keys.
type Event[T any] struct{ declaration *image.Declaration }

// AnyEvent is an Event of any type, as Game.Events lists them.
type AnyEvent interface{ event() *image.Declaration }

func (t *Event[T]) event() *image.Declaration { return t.declaration }

// Events lists a game's events. The order is part of the game.
func Events(list ...AnyEvent) []AnyEvent { return list }

// NewEvent declares an event that a view may show as predicted and cancel later.
func NewEvent[T any](name string) *Event[T] {
	return &Event[T]{image.DeclareEvent[T](name, image.Reversible)}
}

// NewOwnEvent declares an event that is predicted only for the player who owns its entity: a hit, a shot. The views of all others
// receive the event when its tick is confirmed, because it depends on inputs that their clients do not have yet.
func NewOwnEvent[T any](name string) *Event[T] {
	return &Event[T]{image.DeclareEvent[T](name, image.Own)}
}

// NewIrreversibleEvent declares an event that a view receives only when its tick is confirmed: a death, a score, the end of
// a match.
func NewIrreversibleEvent[T any](name string) *Event[T] {
	return &Event[T]{image.DeclareEvent[T](name, image.Irreversible)}
}

// Private makes the event type private, and returns it. Game.See decides which players receive such an event.
// See is called when the event is emitted, with the entity that it is about. An event about no entity then has no receiver,
// unless See accepts the zero Entity. Spectators receive no private event.
//
//	var drew = ecs.NewEvent[Drew]("drew").Private()
func (t *Event[T]) Private() *Event[T] {
	t.declaration.MakePrivate()
	return t
}

// Emit adds an event to the running tick.
func (t *Event[T]) Emit(w *World, about Entity, value T) {
	w.alone("Event.Emit")
	i := slices.Index(w.image.Schema().Events, t.declaration)
	if i < 0 {
		panic(fmt.Sprintf("ecs: event %q is emitted but not listed: add it to Game.Events", t.declaration.Name()))
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value))
	t.declaration.Scrub(raw)
	log := w.log()
	key := image.EventKey{Tick: w.Tick(), Type: uint16(i), Entity: about, Ordinal: image.OrdinalAfter(log.list, uint16(i), about)}
	to := image.PlayerSet(0)
	if t.declaration.Private() {
		for p := range Player(w.game.MaxPlayers) {
			if w.Sees(int(p), about) {
				to = to.With(p)
			}
		}
	}
	log.values = append(log.values, raw...)
	bytes := log.values[len(log.values)-len(raw) : len(log.values) : len(log.values)]
	log.list = append(log.list, image.EmittedEvent{Key: key, Irreversible: t.declaration.Irreversible(), Private: t.declaration.Private(), To: to, Value: bytes})
}

// Decode returns the value of an event that was emitted as this type. ok is false for an event of another type.
func (t *Event[T]) Decode(g *Game, e image.EmittedEvent) (value T, ok bool) {
	if int(e.Key.Type) >= len(g.Events) || g.Events[e.Key.Type].event() != t.declaration || len(e.Value) != int(unsafe.Sizeof(value)) {
		return value, false
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)), e.Value)
	return value, true
}

// eventLog collects the events of the running tick, and the orders that it refused.
type eventLog struct {
	list     []image.EmittedEvent
	values   []byte
	refusals []Refusal
	state    uint64 // image.Image.StateVersion of the tick
}

func (l *eventLog) reset() { l.list, l.values, l.refusals = l.list[:0], l.values[:0], l.refusals[:0] }

// log returns the events of the last Step. A restore removes them.
func (w *World) log() *eventLog {
	if v := w.image.StateVersion(); w.events.state != v {
		w.events.reset()
		w.events.state = v
	}
	return &w.events
}

// Events returns the events of the last Step in the order of emission. They are valid until the next Step.
func (w *World) Events() []image.EmittedEvent {
	w.alone("World.Events")
	return w.log().list
}

// Effect reports an event to a view. A tick may be simulated many times. A view receives each event once as predicted and
// once more as confirmed or cancelled, and an irreversible event only as confirmed.
//
// A correction may move an event of an entity to another tick, at most 8 from the one that was predicted first. It may also change
// fixed-point and floating-point fields. Such an event is neither cancelled nor predicted again. When it is confirmed, its Event
// has the right tick and value. An event that differs in any other field is another event.
//
// Event.Value is valid during the call that passes the effect. Age is the number of ticks since the event.
//
// An effect with a Verdict reports no event, but the verdict on a match that has ended. It is confirmed, and its Event has no
// type, so Event.Decode reports false.
type Effect struct {
	Event   image.EmittedEvent
	ID      uint64         // of the event: the effects of one event have the same; 0 with a Verdict
	Verdict *image.Verdict // on the result of a match; nil in the effect of an event
	Status  EffectStatus
	First   bool // true for the first effect of this event: one that is confirmed and First was not predicted here
	Age     Tick
}

// EffectStatus is the certainty of an event.
type EffectStatus uint8

// The statuses of an effect.
const (
	EffectPredicted EffectStatus = iota // it may be cancelled
	EffectConfirmed                     // it is final; if it was not predicted, it starts now
	EffectCancelled                     // it did not happen: fade it out
)

// String returns the status as a word.
func (s EffectStatus) String() string {
	return [...]string{"predicted", "confirmed", "cancelled"}[s]
}
