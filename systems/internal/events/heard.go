package events

import (
	"tendon/ecs"
	"tendon/rollback"
	"tendon/systems/internal/code"
)

// Heard is what a client was told. When the events of tick last are here, so are all of ticks ≤ due: those that were
// predicted and have not come did not happen.
type Heard struct {
	newest ecs.Tick // whose events came
	due    ecs.Tick // of the newest word which events there were
	last   ecs.Tick // the newest tick ≤ due that had any
	list   []ecs.EmittedEvent
}

// Begin begins anew with the state of tick f.
func (h *Heard) Begin(f ecs.Tick) { h.newest, h.due, h.last = f, f, f }

// Receive takes what a tick up to most emitted; ok is false for what no server sends. What came before an image was loaded
// is in there or comes again, and effects pass over what they were told.
func (h *Heard) Receive(message []byte, kind uint8, game *ecs.Game, most ecs.Tick, effects *rollback.Effects) (ok bool) {
	h.list, ok = code.ReadEvents(h.list[:0], message, kind, game)
	if !ok || h.list[0].Key.Tick > most {
		return false
	}
	f := h.list[0].Key.Tick
	h.newest = max(h.newest, f)
	effects.Told(f, h.list)
	h.settle(effects)
	return true
}

// Due takes the word which events there were up to tick f, as Hearer.Since said it then.
func (h *Heard) Due(f ecs.Tick, since uint64, effects *rollback.Effects) {
	h.due, h.last = f, 0
	if since > 0 && since <= uint64(f) {
		h.last = f + 1 - ecs.Tick(since)
	}
	h.settle(effects)
}

// settle cancels what was predicted and did not happen, once all events of the ticks that were heard of are here.
func (h *Heard) settle(effects *rollback.Effects) {
	if h.newest >= h.last {
		effects.Told(h.due, nil)
	}
}
