package rollback

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Effects reports the events of ticks that are simulated several times to a view, each once. An event is predicted when
// its tick first emits it. Later it is confirmed, or cancelled if a correction removes it. Irreversible events are only
// reported when they are confirmed, and so are other players' events of ecs.NewOwnEvent.
//
// A correction may move an event: it removes the event, and adds the same one in another tick. Two events are the same if
// image.Schema.SameEvent is true. A move counts if both happen between two calls of Drain, and if the new tick is at most 8 from
// the one that was reported first. The event is then neither cancelled nor predicted again, and its effects have the same ID. An
// event that a simulation emits again with the same key is the same event, whatever its value.
//
// A Timeline feeds its own Effects. A client without a timeline, which cannot find out by itself which events a tick
// really had, calls Begin, Predicted and Settle. Depth must then reach from the last settled tick to the present: an
// event whose prediction is no longer stored is reported as new when it is confirmed.
type Effects struct {
	schema  *image.Schema
	seat    int // of the view's player
	rows    Ring[effectRow]
	settled ecs.Tick // ticks ≤ settled are final: see Settle
	waiting []waitingEffect
	values  []byte // of waiting, one after the other
	newest  uint64 // ID
	scratch []predictedEvent

	predictions, cancelled uint64
}

const (
	maxEffects = 1024 // bounds the effects that wait
	maxMove    = 8    // ticks by which a correction moves an event
)

// predictedEvent is an event of a tick's last simulation.
type predictedEvent struct {
	image.EmittedEvent
	id    uint64   // of its effects, 0 if it was not reported
	first ecs.Tick // the tick that it was reported in first
}

// effectRow holds the events of a tick's last simulation.
type effectRow struct {
	events []predictedEvent
	values []byte
}

// waitingEffect is an effect that waits for Drain.
type waitingEffect struct {
	ecs.Effect
	first ecs.Tick // see predictedEvent
	value int      // its place in Effects.values
	void  bool     // it is not reported: its event was moved or removed
}

// NewEffects returns an Effects for the last depth ticks of a game; depth is rounded up to a power of two. seat is that of the
// view's player, −1 for none: see ecs.NewOwnEvent.
func NewEffects(schema *image.Schema, depth, seat int) *Effects {
	return &Effects{schema: schema, rows: NewRing[effectRow](depth), seat: seat}
}

// Begin drops all stored events and all that wait for Drain, and takes ticks ≤ f as settled. Call it after a state of
// tick f was loaded.
func (e *Effects) Begin(f ecs.Tick) {
	e.rows.Clear()
	e.settled = f
	e.newest = max(e.newest, uint64(f)<<20) // another Effects of the match has other IDs
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
	e.scratch = e.scratch[:0]
	for _, now := range events {
		p := predictedEvent{EmittedEvent: now}
		if old := find(row.events, now.Key); old != nil {
			p.id, p.first = old.id, old.first
		} else if e.schema.PredictsEvent(&now, e.seat) {
			e.predict(&p)
		}
		e.scratch = append(e.scratch, p)
	}
	row.store(e.scratch)
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
	e.settled = f
	for _, now := range events {
		e.confirm(now, find(predicted, now.Key))
	}
}

// settleAsPredicted makes tick f final with the events of its last simulation.
func (e *Effects) settleAsPredicted(f ecs.Tick) {
	if f <= e.settled {
		return
	}
	predicted := e.predicted(f)
	e.settled = f
	for i := range predicted {
		e.confirm(predicted[i].EmittedEvent, &predicted[i])
	}
}

// predicted returns the stored events of tick f.
func (e *Effects) predicted(f ecs.Tick) []predictedEvent {
	if row, ok := e.rows.At(f); ok {
		return row.events
	}
	return nil
}

// Confirm reports an event of a final tick that was never predicted. A client that predicts nothing uses only Confirm and
// Drain, for which the zero value of Effects suffices.
func (e *Effects) Confirm(ev image.EmittedEvent) {
	e.add(ev, ecs.EffectConfirmed, 0, ev.Key.Tick)
}

// Drain calls f for each effect in the order in which they came about, and removes them. Values are valid during the
// call. If 1024 effects wait, the next one replaces them all.
func (e *Effects) Drain(present ecs.Tick, f func(ecs.Effect)) {
	for i := range e.waiting {
		if w := &e.waiting[i]; !w.void {
			w.Event.Value = e.valueOf(w)
			w.Age = present - min(present, w.Event.Key.Tick)
			f(w.Effect)
		}
	}
	e.clear()
}

// Counts returns how many events were reported as predicted, and how many of them were cancelled. An event that a later
// simulation emits again after it was cancelled counts again. One that was moved does not.
func (e *Effects) Counts() (predicted, cancelled uint64) { return e.predictions, e.cancelled }

// predict reports a new event as predicted, unless it was moved.
func (e *Effects) predict(p *predictedEvent) {
	if w := e.findWaiting(&p.EmittedEvent, ecs.EffectCancelled, p.Key.Tick); w != nil {
		w.void = true
		e.cancelled--
		p.id, p.first = w.ID, w.first
		return
	}
	e.predictions++
	p.id, p.first = e.add(p.EmittedEvent, ecs.EffectPredicted, 0, p.Key.Tick), p.Key.Tick
}

// cancel cancels those predicted events that were reported and are not among the events that happened, unless they were
// moved.
func (e *Effects) cancel(predicted []predictedEvent, happened []image.EmittedEvent) {
	for i := range predicted {
		old := &predicted[i]
		if old.id == 0 || has(happened, old.Key) {
			continue
		}
		if w := e.findWaiting(&old.EmittedEvent, ecs.EffectPredicted, old.first); w != nil {
			w.void = true
			e.predictions--
			if p := find(e.predicted(w.Event.Key.Tick), w.Event.Key); p != nil && p != old {
				p.id, p.first = old.id, old.first
			}
		} else {
			e.cancelled++
			e.add(old.EmittedEvent, ecs.EffectCancelled, old.id, old.first)
		}
		old.id = 0
	}
}

// confirm reports a final event. old is its prediction, or nil. An event without one may have been predicted for another
// tick.
func (e *Effects) confirm(ev image.EmittedEvent, old *predictedEvent) {
	var id uint64
	if old != nil {
		id = old.id
	}
	if id == 0 && e.schema.PredictsEvent(&ev, e.seat) {
		if w := e.findWaiting(&ev, ecs.EffectCancelled, ev.Key.Tick); w != nil {
			w.void, id = true, w.ID
			e.cancelled--
		} else if p := e.later(&ev); p != nil {
			p.id, id = 0, p.id
		}
	}
	e.add(ev, ecs.EffectConfirmed, id, ev.Key.Tick)
}

// findWaiting returns the waiting effect with this status that reports the same event in the nearest tick, at most maxMove from
// tick, or nil.
func (e *Effects) findWaiting(ev *image.EmittedEvent, s ecs.EffectStatus, tick ecs.Tick) (nearest *waitingEffect) {
	least := ecs.Tick(maxMove + 1)
	for i := max(len(e.waiting)-recent, 0); i < len(e.waiting); i++ {
		w := &e.waiting[i]
		d := distance(w.first, tick)
		if w.Status != s || w.void || d >= least || s == ecs.EffectPredicted && w.first <= e.settled {
			continue
		}
		w.Event.Value = e.valueOf(w)
		if e.schema.SameEvent(&w.Event, ev) {
			nearest, least = w, d
		}
	}
	return nearest
}

// recent is the number of waiting effects that findWaiting searches.
const recent = 128

// later returns the reported event of one of the next maxMove ticks that is the same event, in the nearest tick, or nil.
func (e *Effects) later(ev *image.EmittedEvent) *predictedEvent {
	for f := ev.Key.Tick + 1; f <= ev.Key.Tick+maxMove; f++ {
		list := e.predicted(f)
		for i := range list {
			p := &list[i]
			if p.id != 0 && distance(p.first, ev.Key.Tick) <= maxMove && e.schema.SameEvent(&p.EmittedEvent, ev) {
				return p
			}
		}
	}
	return nil
}

func distance(a, b ecs.Tick) ecs.Tick { return max(a, b) - min(a, b) }

// add appends an effect that waits for Drain, and returns the ID of its event; id is 0 for the first effect of an event.
func (e *Effects) add(ev image.EmittedEvent, s ecs.EffectStatus, id uint64, first ecs.Tick) uint64 {
	if len(e.waiting) >= maxEffects {
		e.clear()
	}
	w := waitingEffect{Effect: ecs.Effect{Event: ev, ID: id, Status: s, First: id == 0}, first: first, value: len(e.values)}
	if w.First {
		e.newest++
		w.ID = e.newest
	}
	e.values = append(e.values, ev.Value...)
	e.waiting = append(e.waiting, w)
	return w.ID
}

func (e *Effects) clear() { e.waiting, e.values = e.waiting[:0], e.values[:0] }

// valueOf returns the value of an effect that waits.
func (e *Effects) valueOf(w *waitingEffect) []byte {
	to := w.value + len(w.Event.Value)
	return e.values[w.value:to:to]
}

// store copies the events into the row.
func (r *effectRow) store(events []predictedEvent) {
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

// find returns the event with this key, or nil.
func find(events []predictedEvent, key image.EventKey) *predictedEvent {
	for i := range events {
		if events[i].Key == key {
			return &events[i]
		}
	}
	return nil
}
