package events

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// Log stores the encoded events of recent ticks, as World.AppendEvents writes them. Use NewLog to make one.
type Log struct{ ticks rollback.Ring[[]byte] }

// NewLog returns a log of the last depth ticks; depth is rounded up to a power of two.
func NewLog(depth int) Log { return Log{rollback.NewRing[[]byte](depth)} }

// Add stores the events of the world's last tick.
func (l *Log) Add(w *ecs.World) { l.addOf(w, nil) }

// addOf stores the events of the world's last tick that pass a filter, all without one.
func (l *Log) addOf(w *ecs.World, filter func(*image.EmittedEvent) bool) {
	events, _ := l.ticks.Slot(w.Tick())
	*events = image.AppendEvents((*events)[:0], w.Events(), filter)
}

// At returns the events of tick f. It is empty if there were none, and for a tick that is not stored.
func (l *Log) At(f ecs.Tick) []byte {
	if events, ok := l.ticks.At(f); ok {
		return *events
	}
	return nil
}

// Sender sends the events of final ticks to one peer.
//
// Invariant: each event of a tick ≤ sent was sent to the peer or does not pass its filter.
type Sender struct {
	sent     ecs.Tick
	newest   ecs.Tick                       // the newest tick ≤ sent with events that were sent since Open; 0: none
	filter   func(*image.EmittedEvent) bool // which events the peer receives; nil: all
	filtered Log                            // events of ticks > opened that pass the filter
	opened   ecs.Tick
}

// Open starts with a peer that holds the state of tick have. all is the server's log, whose last tick is done. The peer
// receives all events of ticks in (have, done], and of later ticks those that pass the filter. A nil filter passes all.
func (s *Sender) Open(all *Log, have, done ecs.Tick, filter func(*image.EmittedEvent) bool) {
	s.sent, s.newest, s.opened, s.filter = have, 0, done, filter
	if filter != nil && s.filtered.ticks.Depth() != all.ticks.Depth() {
		s.filtered = NewLog(all.ticks.Depth())
	}
}

// Add selects the peer's events of the world's last tick. Call it after each tick.
func (s *Sender) Add(w *ecs.World) {
	if s.filter != nil {
		s.filtered.addOf(w, s.filter)
	}
}

// Send sends peer id the events of the ticks since the last Send, one reliable message of this kind for each tick that
// has events. Events of ticks ≤ oldest are no longer stored and are skipped. The messages are written into scratch.
func (s *Sender) Send(id systems.Peer, all *Log, oldest, done ecs.Tick, kind uint8, scratch *[]byte, out systems.Outbox) {
	for f := max(s.sent, oldest) + 1; f <= done; f++ {
		emitted := all.At(f)
		if s.filter != nil && f > s.opened {
			emitted = s.filtered.At(f)
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
// argument of Receiver.Announced.
func (s *Sender) Since(done ecs.Tick) uint64 {
	if s.newest == 0 {
		return 0
	}
	return uint64(done-s.newest) + 1
}
