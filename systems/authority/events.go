package authority

import (
	"iter"
	"sort"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// Bounds of an eventLog. A peer receives the events of the ticks after its state, which on a slow line is up to maxKept ticks old.
const (
	eventTicks = 512      // ticks whose events are kept in any case
	eventBytes = 64 << 10 // with them, of those and older events
)

// eventLog stores the encoded events of recent ticks, as image.AppendEvents writes them.
type eventLog struct {
	ticks []eventTick // those with events, ascending
	first int         // index in ticks of the oldest that is stored
	bytes []byte
}

type eventTick struct {
	tick ecs.Tick
	end  int // of its events in bytes
}

// start returns where the events of an index in ticks begin in bytes.
func (l *eventLog) start(i int) int {
	if i == 0 {
		return 0
	}
	return l.ticks[i-1].end
}

// add stores the events of tick now that pass a filter, all without one.
func (l *eventLog) add(now ecs.Tick, events []image.EmittedEvent, filter func(*image.EmittedEvent) bool) {
	before := len(l.bytes)
	if l.bytes = image.AppendEvents(l.bytes, events, filter); len(l.bytes) > before {
		l.ticks = append(l.ticks, eventTick{now, len(l.bytes)})
	}
	for l.first < len(l.ticks) {
		age := now - l.ticks[l.first].tick
		if age <= eventTicks || age <= maxKept && len(l.bytes)-l.start(l.first) <= eventBytes {
			break
		}
		l.first++
	}
	if dropped := l.start(l.first); dropped > len(l.bytes)/2 {
		l.ticks = append(l.ticks[:0], l.ticks[l.first:]...)
		l.bytes = append(l.bytes[:0], l.bytes[dropped:]...)
		for i := range l.ticks {
			l.ticks[i].end -= dropped
		}
		l.first = 0
	}
}

// clear makes the log empty.
func (l *eventLog) clear() { l.ticks, l.first, l.bytes = l.ticks[:0], 0, l.bytes[:0] }

// Between yields the ticks in (after, to] with stored events, ascending, and their events.
func (l *eventLog) Between(after, to ecs.Tick) iter.Seq2[ecs.Tick, []byte] {
	return func(yield func(ecs.Tick, []byte) bool) {
		i := l.first + sort.Search(len(l.ticks)-l.first, func(i int) bool { return l.ticks[l.first+i].tick > after })
		for ; i < len(l.ticks) && l.ticks[i].tick <= to; i++ {
			if !yield(l.ticks[i].tick, l.bytes[l.start(i):l.ticks[i].end]) {
				return
			}
		}
	}
}

// peerEvents sends the events of final ticks to one peer.
//
// Invariant: each event of a tick ≤ sent was sent to the peer or does not pass its filter.
type peerEvents struct {
	sent     ecs.Tick
	newest   ecs.Tick                       // the newest tick ≤ sent with events that were sent since open; 0: none
	filter   func(*image.EmittedEvent) bool // which events the peer receives; nil: all
	filtered eventLog                       // events of ticks > opened that pass the filter and were not sent
	opened   ecs.Tick
}

// open starts with a peer that holds the state of tick have. The last tick of the log of all events is done. The peer receives all events of
// ticks in (have, done], and of later ticks those that pass the filter. A nil filter passes all.
func (s *peerEvents) open(have, done ecs.Tick, filter func(*image.EmittedEvent) bool) {
	s.sent, s.newest, s.opened, s.filter = have, 0, done, filter
	s.filtered.clear()
}

// add selects the peer's events of tick now.
func (s *peerEvents) add(now ecs.Tick, events []image.EmittedEvent) {
	if s.filter != nil {
		s.filtered.add(now, events, s.filter)
	}
}

// send sends peer id the events of the ticks since the last send, one reliable message of this kind for each tick that has
// events. Events of ticks that are no longer stored are skipped. The messages are written into scratch. bytes is their size.
func (s *peerEvents) send(id systems.Peer, all *eventLog, done ecs.Tick, kind uint8, scratch *[]byte, out systems.Outbox) (bytes int) {
	if s.filter == nil {
		bytes = s.sendBetween(id, all, s.sent, done, kind, scratch, out)
	} else {
		bytes = s.sendBetween(id, all, s.sent, min(s.opened, done), kind, scratch, out)
		bytes += s.sendBetween(id, &s.filtered, s.sent, done, kind, scratch, out)
		s.filtered.clear()
	}
	s.sent = done
	return bytes
}

func (s *peerEvents) sendBetween(id systems.Peer, log *eventLog, after, to ecs.Tick, kind uint8, scratch *[]byte, out systems.Outbox) (bytes int) {
	for f, emitted := range log.Between(after, to) {
		*scratch = code.AppendEvents((*scratch)[:0], kind, emitted)
		if len(*scratch) > 0 {
			s.newest = f
			out.Send(id, systems.Reliable, *scratch)
			bytes += len(*scratch)
		}
	}
	return bytes
}

// Since returns 1 + the age in ticks, at tick done, of the newest events that were sent; 0 if none were. It is the
// argument of predictor.Mirror.SettleEvents.
func (s *peerEvents) Since(done ecs.Tick) uint64 {
	if s.newest == 0 {
		return 0
	}
	return uint64(done-s.newest) + 1
}
