package authority

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// eventTicks is the minimum number of ticks whose events are kept. A peer receives the events of the ticks after its state. That
// state may be older than History, since Keep keeps it.
const eventTicks = 512

// eventLog stores the encoded events of recent ticks, as image.AppendEvents writes them.
type eventLog struct{ rollback.Ring[[]byte] }

// add stores the events of the world's last tick that pass a filter, all without one.
func (l *eventLog) add(w *ecs.World, filter func(*image.EmittedEvent) bool) {
	events, _ := l.Slot(w.Tick())
	*events = image.AppendEvents((*events)[:0], w.Events(), filter)
}

// Of returns the events of tick f. It is empty if there were none, and for a tick that is not stored.
func (l *eventLog) Of(f ecs.Tick) []byte {
	if events, ok := l.At(f); ok {
		return *events
	}
	return nil
}

// peerEvents sends the events of final ticks to one peer.
//
// Invariant: each event of a tick ≤ sent was sent to the peer or does not pass its filter.
type peerEvents struct {
	sent     ecs.Tick
	newest   ecs.Tick                       // the newest tick ≤ sent with events that were sent since open; 0: none
	filter   func(*image.EmittedEvent) bool // which events the peer receives; nil: all
	filtered eventLog                       // events of ticks > opened that pass the filter
	opened   ecs.Tick
}

// open starts with a peer that holds the state of tick have. The last tick of the log is done. The peer receives all events of
// ticks in (have, done], and of later ticks those that pass the filter. A nil filter passes all.
func (s *peerEvents) open(all *eventLog, have, done ecs.Tick, filter func(*image.EmittedEvent) bool) {
	s.sent, s.newest, s.opened, s.filter = have, 0, done, filter
	if filter != nil && s.filtered.Depth() != all.Depth() {
		s.filtered = eventLog{rollback.NewRing[[]byte](all.Depth())}
	}
}

// add selects the peer's events of the world's last tick.
func (s *peerEvents) add(w *ecs.World) {
	if s.filter != nil {
		s.filtered.add(w, s.filter)
	}
}

// send sends peer id the events of the ticks since the last send, one reliable message of this kind for each tick that has
// events. Events of ticks that are no longer stored are skipped. The messages are written into scratch.
func (s *peerEvents) send(id systems.Peer, all *eventLog, done ecs.Tick, kind uint8, scratch *[]byte, out systems.Outbox) {
	for f := max(s.sent, done-min(done, ecs.Tick(all.Depth()))) + 1; f <= done; f++ {
		emitted := all.Of(f)
		if s.filter != nil && f > s.opened {
			emitted = s.filtered.Of(f)
		}
		if len(emitted) == 0 {
			continue
		}
		*scratch = code.AppendEvents((*scratch)[:0], kind, emitted)
		if len(*scratch) > 0 {
			s.newest = f
			out.Send(id, systems.Reliable, *scratch)
		}
	}
	s.sent = done
}

// Since returns 1 + the age in ticks, at tick done, of the newest events that were sent; 0 if none were. It is the
// argument of predictor.Mirror.SettleEvents.
func (s *peerEvents) Since(done ecs.Tick) uint64 {
	if s.newest == 0 {
		return 0
	}
	return uint64(done-s.newest) + 1
}
