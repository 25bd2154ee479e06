package events

import (
	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// Hearer is what a server knows of what one peer was told. Every event of ticks ≤ told was sent, or is not for this peer.
type Hearer struct {
	told   ecs.Tick
	heard  ecs.Tick                     // the newest tick ≤ told whose events were sent since Open; 0: none was
	minds  func(*ecs.EmittedEvent) bool // which events it hears of; nil: all
	own    Log                          // what it hears of ticks > opened, if it minds
	opened ecs.Tick
}

// Open begins to tell a peer that holds the state of tick have, of what is in a log that ends with tick done: everything
// up to there, and from then on what it minds; nil: everything.
func (h *Hearer) Open(all Log, have, done ecs.Tick, minds func(*ecs.EmittedEvent) bool) {
	h.told, h.heard, h.opened, h.minds = have, 0, done, minds
	if minds != nil && h.own == nil {
		h.own = make(Log, len(all))
	}
}

// Keep takes note of what the peer minds of what tick f emitted, the world's last.
func (h *Hearer) Keep(f ecs.Tick, w *ecs.World) {
	if h.minds != nil {
		slot := &h.own[f%ecs.Tick(len(h.own))]
		*slot = w.AppendEventsOf((*slot)[:0], h.minds)
	}
}

// Send sends peer id what the ticks since the last Send emitted, a message of a kind for each that emitted anything; of
// those before oldest nothing is kept. The messages are written into scratch.
func (h *Hearer) Send(id systems.Peer, all Log, oldest, done ecs.Tick, kind uint8, scratch *[]byte, out systems.Outbox) {
	for f := max(h.told, oldest) + 1; f <= done; f++ {
		emitted := all.Of(f)
		if h.minds != nil && f > h.opened {
			emitted = h.own.Of(f)
		}
		if len(emitted) == 0 {
			continue
		}
		*scratch = code.AppendEvents((*scratch)[:0], kind, emitted)
		if len(*scratch) > 0 {
			h.heard = f
			out.Send(id, systems.Reliable, *scratch)
		}
	}
	h.told = done
}

// Since returns how long before the end of tick done the newest events were sent, in ticks; 0: none was. That is what
// Heard.Due takes.
func (h *Hearer) Since(done ecs.Tick) uint64 {
	if h.heard == 0 {
		return 0
	}
	return uint64(done-h.heard) + 1
}
