package events

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems/internal/code"
)

// Receiver receives the events of final ticks on a client.
//
// When the events of tick last have arrived, so have those of all ticks ≤ announced: predicted events of these ticks
// that have not arrived are cancelled.
type Receiver struct {
	newest    ecs.Tick // newest tick whose events have arrived
	announced ecs.Tick // last tick that the server has announced
	last      ecs.Tick // newest tick ≤ announced that had events
	list      []image.EmittedEvent
}

// Begin starts anew with the state of tick f.
func (r *Receiver) Begin(f ecs.Tick) { r.newest, r.announced, r.last = f, f, f }

// Receive passes the events of a message to effects. ok is false for a message that no server sends, and for events of
// a tick later than newest. Events of ticks that are settled already are ignored.
func (r *Receiver) Receive(message []byte, kind uint8, schema *image.Schema, newest ecs.Tick, effects *rollback.Effects) (ok bool) {
	r.list, ok = code.ReadEvents(r.list[:0], message, kind, schema)
	if !ok || r.list[0].Key.Tick > newest {
		return false
	}
	f := r.list[0].Key.Tick
	r.newest = max(r.newest, f)
	effects.Settle(f, r.list)
	r.settle(effects)
	return true
}

// Announced records that the server has announced tick f, with the value that Sender.Since returned for it.
func (r *Receiver) Announced(f ecs.Tick, since uint64, effects *rollback.Effects) {
	r.announced, r.last = f, 0
	if since > 0 && since <= uint64(f) {
		r.last = f + 1 - ecs.Tick(since)
	}
	r.settle(effects)
}

// settle cancels predicted events that did not happen, once all events of the announced ticks have arrived.
func (r *Receiver) settle(effects *rollback.Effects) {
	if r.newest >= r.last {
		effects.Settle(r.announced, nil)
	}
}
