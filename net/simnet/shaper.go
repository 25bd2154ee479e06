package simnet

import (
	"sync"
	"time"
)

// shaper carries packets through conduits in the time of the time package: real, or virtual in a synctest bubble. It
// has no goroutine of its own; one timer is set for the earliest arrival.
//
// Packets leave in the order (arrival, conduit, count in the conduit), which does not depend on how the goroutines that
// send were scheduled. deliver is called with the lock held, must not block, and may swap the parcel's buffer for
// another; D says where a packet goes.
type shaper[D any] struct {
	deliver func(c *conduit, to D, p *parcel[D])
	start   time.Time

	mu      sync.Mutex
	queue   queue
	parcels slots[parcel[D]]
	timer   *time.Timer
	dueAt   Time // what the timer is set for
	armed   bool
	closed  bool
}

// parcel is a packet under way.
type parcel[D any] struct {
	payload []byte
	lane    *lane
	to      D
}

// lane is a conduit in use by a shaper, with its place among those of equal arrival.
type lane struct {
	conduit
	id   uint64 // < 2^24
	sent uint64
}

// countBits is the part of an event's key that counts a lane's packets; it wraps after 10^12.
const countBits = 40

func newShaper[D any](deliver func(*conduit, D, *parcel[D])) *shaper[D] {
	s := &shaper[D]{deliver: deliver, start: time.Now()}
	s.timer = time.AfterFunc(maxDelay, s.expire)
	s.timer.Stop()
	return s
}

// send gives a copy of payload to the lane. The lock is held.
func (s *shaper[D]) send(l *lane, to D, payload []byte) {
	if s.closed {
		return
	}
	now := time.Since(s.start)
	f := l.pass(now, len(payload))
	l.release(&f)
	for _, at := range f.at[:f.copies] {
		ref := s.parcels.take()
		p := &s.parcels.table[ref]
		p.payload, p.lane, p.to = append(p.payload[:0], payload...), l, to
		l.inFlight++
		s.queue.push(event{at: at, key: l.id<<countBits | l.sent&(1<<countBits-1), ref: ref})
		l.sent++
	}
	s.flush(now)
}

// flush delivers what is due and sets the timer. The lock is held.
func (s *shaper[D]) flush(now Time) {
	for len(s.queue) > 0 && s.queue[0].at <= now {
		ref := s.queue.pop().ref
		p := &s.parcels.table[ref]
		p.lane.inFlight--
		s.deliver(&p.lane.conduit, p.to, p)
		var nowhere D
		p.lane, p.to = nil, nowhere // keeps nothing alive that was closed
		s.parcels.give(ref)
	}
	if len(s.queue) == 0 || s.armed && s.dueAt <= s.queue[0].at {
		return // a timer that is early finds nothing and sets itself again
	}
	s.armed, s.dueAt = true, s.queue[0].at
	s.timer.Reset(s.dueAt - now)
}

func (s *shaper[D]) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.armed = false
	s.flush(time.Since(s.start))
}

// close drops what is under way. The lock is held.
func (s *shaper[D]) close() {
	s.closed = true
	s.timer.Stop()
	s.queue, s.parcels = nil, slots[parcel[D]]{}
}
