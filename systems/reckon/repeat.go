package reckon

import (
	"slices"

	"tendon/ecs"
)

// repeats are the messages to a peer with every record that the peer had not acknowledged. The peer acknowledges the newest
// tick that it has received. If that is the tick of such a message, all records up to it have arrived.
type repeats struct {
	complete [8]ecs.Tick // ticks of the last such messages, newest first, which were the only ones of their ticks
	acked    ecs.Tick    // records up to this tick have arrived
}

const (
	// repeatSeconds bounds the time for which a record is repeated. A new record replaces that of a moving entity each period.
	repeatSeconds = 3
	// repeatRate is the highest rate of repetitions of a record, per second.
	repeatRate = 20
	// repeatsPerTrip is the number of repetitions of a record within a round trip, at most.
	repeatsPerTrip = 4
)

func (r *repeats) note(tick ecs.Tick) {
	copy(r.complete[1:], r.complete[:])
	r.complete[0] = tick
}

func (r *repeats) acknowledge(received ecs.Tick) {
	if received > r.acked && slices.Contains(r.complete[:], received) {
		r.acked = received
	}
}

// repeatRecords writes the last records that a peer has not acknowledged, as far as they fit the message. It reports whether the
// message has all of them then.
func (s *Server) repeatRecords(p *peer, u *updateWriter, head *updateHead) (complete bool) {
	r, done := &p.Own.repeats, s.Done()
	pause := max((done-p.Acked)/repeatsPerTrip, ecs.Tick(s.Game.TickRate/repeatRate))
	if !head.has(headReady) || done < r.complete[0]+pause || u.sent > 0 {
		return false
	}
	for _, slot := range s.motion.recent {
		t := s.motion.entities.At(slot)
		if t.put <= r.acked || t.put == done || !s.relevant(p, t.entity) || !s.motion.replicates(t.entity) {
			continue
		}
		record := t.last.in(t.bytes, p)
		if u.begin(head); !u.add(record) {
			return false
		}
		s.spendRecord(t.entity, len(record))
	}
	return true
}
