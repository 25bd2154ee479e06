package rollback

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// A peer that predicts a part of the match cannot find out by itself what a tick really emitted: the server tells it.
// Begin, Predicted and Told are for such a peer, which has no Timeline. Its ledger is to reach from the last word to the
// present; where the word is late by more, what was predicted first is forgotten, and told as new when it comes.

// Begin forgets all ticks and all news, and counts ticks ≤ f as settled: it is for after a state of tick f was loaded.
func (e *Effects) Begin(f ecs.Tick) {
	e.Reset()
	e.told = f
}

// Predicted takes note of what tick f emitted when it was simulated now, for the first time or again, and tells what is
// new and what is gone. A settled tick stays as it was told.
func (e *Effects) Predicted(f ecs.Tick, events []image.EmittedEvent) {
	if f > e.told {
		e.simulated(f, events)
	}
}

// Told takes the server's word: tick f emitted these events, which may be none, and the ticks since the last word
// emitted nothing. Each event is confirmed, and what was predicted beside them is cancelled. A word that came before is
// passed over.
func (e *Effects) Settle(f ecs.Tick, events []image.EmittedEvent) {
	if f <= e.told {
		return
	}
	for k := e.told + 1; k < f && k <= e.told+ecs.Tick(e.rows.Depth()); k++ {
		if tick, ok := e.rows.tickAt(k); ok && tick > e.told && tick < f {
			e.settle(tick, nil)
		}
	}
	e.settle(f, events)
	e.told = f
}

// settle confirms the events of tick f and cancels what else was predicted in it.
func (e *Effects) settle(f ecs.Tick, events []image.EmittedEvent) {
	var predicted []image.EmittedEvent // none that is known of, where the row is another tick's by now
	if row, ok := e.rows.At(f); ok {
		predicted, row.events = row.events, row.events[:0]
	}
	for _, old := range predicted {
		if !old.Irreversible && !has(events, old.Key) {
			e.news.Add(old, EffectCancelled, false)
		}
	}
	for _, now := range events {
		e.news.Add(now, EffectConfirmed, now.Irreversible || !has(predicted, now.Key))
	}
}
