package rollback

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// Effects turns the events of ticks that are simulated again and again into news a view hears once: an event is
// predicted when a tick first emits it, and later confirmed, or cancelled when a correction takes it away.
// Irreversible events are only ever confirmed.
type Effects struct {
	rows Ring[effectRow]
	told ecs.Tick // ticks ≤ told are settled: see Told
	news News
}

// effectRow holds what a tick emitted when it was last simulated.
type effectRow struct {
	events []image.EmittedEvent
	values []byte
}

// Effect is one piece of news of an event: see ecs.Effect.
type Effect = ecs.Effect

// The statuses of an effect, as in ecs.
const (
	EffectPredicted = ecs.EffectPredicted
	EffectConfirmed = ecs.EffectConfirmed
	EffectCancelled = ecs.EffectCancelled
)

// NewEffects returns a ledger for the last depth ticks, rounded up to a power of two; depth must be at least the
// timeline's.
func NewEffects(depth int) *Effects {
	return &Effects{rows: NewRing[effectRow](depth)}
}

// Reset forgets all ticks and all news.
func (e *Effects) Reset() {
	e.rows.Clear()
	e.told = 0
	e.news.Clear()
}

// Drain calls f with each piece of news in order and forgets them. Values are valid during the call.
func (e *Effects) Drain(present ecs.Tick, f func(Effect)) { e.news.Drain(present, f) }

// Lost returns how many news were dropped because nobody drained them.
func (e *Effects) Lost() uint64 { return e.news.Lost() }

// simulated takes note of what tick f emitted now, and tells what is new and what is gone.
func (e *Effects) simulated(f ecs.Tick, events []image.EmittedEvent) {
	row, held := e.rows.Slot(f)
	if !held {
		row.events = row.events[:0]
	}
	for _, old := range row.events {
		if !old.Irreversible && !has(events, old.Key) {
			e.news.Add(old, EffectCancelled, false)
		}
	}
	for _, now := range events {
		if !now.Irreversible && !has(row.events, now.Key) {
			e.news.Add(now, EffectPredicted, true)
		}
	}
	row.keep(events)
}

// confirm tells that what tick f emitted is final.
func (e *Effects) confirm(f ecs.Tick) {
	row, ok := e.rows.At(f)
	if !ok {
		return
	}
	for _, ev := range row.events {
		e.news.Add(ev, EffectConfirmed, ev.Irreversible)
	}
}

// keep copies the events into the row.
func (r *effectRow) keep(events []image.EmittedEvent) {
	need := 0
	for _, ev := range events {
		need += len(ev.Value)
	}
	if cap(r.values) < need {
		r.values = make([]byte, 0, 2*need)
	}
	r.events, r.values = r.events[:0], r.values[:0]
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
