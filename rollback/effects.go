package rollback

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Effects reports the events of ticks that are simulated several times to a view, each once. An event is predicted when
// its tick first emits it. Later it is confirmed, or cancelled if a correction removes it. Irreversible events are only
// reported when they are confirmed.
//
// A Timeline feeds its own Effects. A client without a timeline, which cannot find out by itself which events a tick
// really had, calls Begin, Predicted and Settle. Depth must then reach from the last settled tick to the present: an
// event whose prediction is no longer stored is reported as new when it is confirmed.
type Effects struct {
	rows    Ring[effectRow]
	settled ecs.Tick // ticks ≤ settled are final: see Settle
	waiting []ecs.Effect
	values  []byte // of waiting, one after the other

	predictions, cancelled uint64
}

// maxEffects bounds the effects that wait.
const maxEffects = 1024

// effectRow holds the events of a tick's last simulation.
type effectRow struct {
	events []image.EmittedEvent
	values []byte
}

// NewEffects returns an Effects for the last depth ticks; depth is rounded up to a power of two.
func NewEffects(depth int) *Effects {
	return &Effects{rows: NewRing[effectRow](depth)}
}

// Begin drops all stored events and all that wait for Drain, and takes ticks ≤ f as settled. Call it after a state of
// tick f was loaded.
func (e *Effects) Begin(f ecs.Tick) {
	e.rows.Clear()
	e.settled = f
	e.clear()
}

// Predicted stores the events of a simulation of tick f, the first or another, and reports those that are new and those
// that are gone. It does nothing for a settled tick.
func (e *Effects) Predicted(f ecs.Tick, events []image.EmittedEvent) {
	if f <= e.settled {
		return
	}
	if row, held := e.rows.At(f); len(events) == 0 && (!held || len(row.events) == 0) {
		return // most ticks
	}
	row, held := e.rows.Slot(f)
	if !held {
		row.events = row.events[:0]
	}
	e.cancel(row.events, events)
	for _, now := range events {
		if !now.Irreversible && !has(row.events, now.Key) {
			e.add(now, ecs.EffectPredicted, true)
		}
	}
	row.store(events)
}

// Settle makes the events of tick f final, which may be none. Ticks between the last settled one and f had no events.
// Each event is confirmed; other predicted events of these ticks are cancelled. It does nothing for a settled tick.
func (e *Effects) Settle(f ecs.Tick, events []image.EmittedEvent) {
	if f <= e.settled {
		return
	}
	for k := e.settled + 1; k < f && k <= e.settled+ecs.Tick(e.rows.Depth()); k++ {
		if tick, ok := e.rows.tickAt(k); ok && tick > e.settled && tick < f {
			e.cancel(e.predicted(tick), nil)
		}
	}
	predicted := e.predicted(f)
	e.cancel(predicted, events)
	for _, now := range events {
		e.add(now, ecs.EffectConfirmed, now.Irreversible || !has(predicted, now.Key))
	}
	e.settled = f
}

// predicted returns the stored events of tick f.
func (e *Effects) predicted(f ecs.Tick) []image.EmittedEvent {
	if row, ok := e.rows.At(f); ok {
		return row.events
	}
	return nil
}

// Confirm reports an event of a final tick that was never predicted. A client that predicts nothing uses only Confirm and
// Drain, for which the zero value of Effects suffices.
func (e *Effects) Confirm(ev image.EmittedEvent) { e.add(ev, ecs.EffectConfirmed, true) }

// Drain calls f for each effect in the order in which they came about, and removes them. Values are valid during the
// call. If 1024 effects wait, the next one replaces them all.
func (e *Effects) Drain(present ecs.Tick, f func(ecs.Effect)) {
	at := 0
	for _, effect := range e.waiting {
		size := len(effect.Event.Value)
		effect.Event.Value = e.values[at : at+size : at+size]
		at += size
		effect.Age = present - min(present, effect.Event.Key.Tick)
		f(effect)
	}
	e.clear()
}

// Counts returns how many events were reported as predicted, and how many of them were cancelled. An event that a later
// simulation emits again after it was cancelled counts again.
func (e *Effects) Counts() (predicted, cancelled uint64) { return e.predictions, e.cancelled }

// cancel cancels the predicted events that are not among those that happened.
func (e *Effects) cancel(predicted, happened []image.EmittedEvent) {
	for _, old := range predicted {
		if !old.Irreversible && !has(happened, old.Key) {
			e.add(old, ecs.EffectCancelled, false)
		}
	}
}

// add appends an effect that waits for Drain; first says that it is the first one of its event.
func (e *Effects) add(ev image.EmittedEvent, s ecs.EffectStatus, first bool) {
	if len(e.waiting) >= maxEffects {
		e.clear()
	}
	switch s {
	case ecs.EffectPredicted:
		e.predictions++
	case ecs.EffectCancelled:
		e.cancelled++
	}
	e.values = append(e.values, ev.Value...)
	e.waiting = append(e.waiting, ecs.Effect{Event: ev, Status: s, First: first})
}

func (e *Effects) clear() { e.waiting, e.values = e.waiting[:0], e.values[:0] }

// store copies the events into the row.
func (r *effectRow) store(events []image.EmittedEvent) {
	need := 0
	for _, ev := range events {
		need += len(ev.Value)
	}
	r.events, r.values = r.events[:0], slices.Grow(r.values[:0], need)
	for _, ev := range events {
		from := len(r.values)
		r.values = append(r.values, ev.Value...)
		ev.Value = r.values[from:len(r.values):len(r.values)]
		r.events = append(r.events, ev)
	}
}

func has(events []image.EmittedEvent, key image.EventKey) bool {
	for i := range events {
		if events[i].Key == key {
			return true
		}
	}
	return false
}
