package state

import (
	"tendon/ecs"
	"tendon/net/wire"
)

// Acked processes an acknowledgement of the client. On an error nothing is changed.
func (s *Sender) Acked(a Ack) error {
	newest, refused := wire.Expand16(s.sequence, a.Newest), wire.Expand16(s.sequence, a.Refused)
	if a.Any && (newest == 0 || newest > s.sequence || newest <= 32 && a.Older>>(newest-1) != 0) {
		return ErrAck
	}
	if a.Lost && (refused == 0 || refused > s.sequence) {
		return ErrAck
	}
	if a.Any {
		s.deliver(newest, a.Older)
	}
	if a.Lost && refused > max(s.refused, s.opened) {
		s.refused = refused
		s.refuse(refused)
	}
	return nil
}

// deliver records which deltas arrived. A delta before the newest that has not arrived never will: a client ignores deltas
// that are overtaken.
func (s *Sender) deliver(newest uint64, older uint32) {
	if d := s.awaited(newest); d != nil {
		sample := float32(s.changes.tick - d.tick)
		if s.rtt == 0 {
			s.rtt = sample
		}
		s.rtt += (sample - s.rtt) / 8
		if newest > s.known+ackedAtOnce {
			s.unsure = newest - ackedAtOnce
		}
		s.known = max(s.known, newest)
		s.arrived(d)
	}
	for i := range min(uint64(32), newest-1) {
		if d := s.awaited(newest - 1 - i); d != nil {
			if older>>i&1 != 0 {
				s.arrived(d)
			} else {
				s.lost(d)
			}
		}
	}
}

// ackedAtOnce is the number of deltas that an acknowledgement covers.
const ackedAtOnce = 33

// awaited returns a delta whose acknowledgement is awaited, nil for another.
func (s *Sender) awaited(sequence uint64) *sentDelta {
	if d, ok := s.sent.At(ecs.Tick(sequence)); ok && d.open {
		return d
	}
	return nil
}

func (s *Sender) arrived(d *sentDelta) {
	d.open, d.arrived = false, true
	if s.checkpoints.at(d.sequence).sequence == d.sequence {
		s.learned = max(s.learned, d.sequence)
	}
	s.stats.Acked = max(s.stats.Acked, d.tick)
	for _, e := range d.entries {
		it := s.items.At(int(e.item))
		if it.serial != e.serial {
			continue
		}
		if it.phase == leaving {
			s.release(int(e.item))
			continue
		}
		switch {
		case !it.based || d.tick > it.base:
			if it.by != 0 {
				it.older = it.older<<(d.sequence-it.by) | 1<<(d.sequence-it.by-1)
			}
			it.based, it.base, it.by, it.atBase = true, d.tick, d.sequence, e.sends
		case d.sequence < it.by:
			it.older |= 1 << (it.by - d.sequence - 1)
		}
		if it.flight == d.sequence {
			it.flight = 0
		}
	}
}

func (s *Sender) lost(d *sentDelta) {
	d.open = false
	for _, e := range d.entries {
		if it := s.items.At(int(e.item)); it.serial == e.serial && it.flight == d.sequence {
			it.flight = 0
		}
	}
}

// refuse makes the items of a delta that the client refused be sent whole, or all items if the delta is no longer stored.
func (s *Sender) refuse(sequence uint64) {
	d, ok := s.sent.At(ecs.Tick(sequence))
	if !ok {
		for _, it := range s.items.All {
			it.unbase()
		}
		return
	}
	for _, e := range d.entries {
		if it := s.items.At(int(e.item)); it.serial == e.serial && it.base < d.tick {
			it.unbase()
		}
	}
	d.open = false
}

// record starts the record of a delta that is about to be written.
func (s *Sender) record(sequence uint64, tick ecs.Tick) *sentDelta {
	d, _ := s.sent.Slot(ecs.Tick(sequence))
	if d.open {
		s.lost(d)
	}
	d.arrived = false
	d.sequence, d.tick, d.open, d.entries = sequence, tick, true, d.entries[:0]
	return d
}

// note records that a delta contains the present values of an item.
func (s *Sender) note(d *sentDelta, i int32) {
	it := s.items.At(int(i))
	if it.waiting && d.tick-it.waits > s.deadline() {
		s.stats.Late++
	}
	it.known, it.flight, it.sentAt, it.urgency, it.waiting = true, d.sequence, d.tick, 0, false
	it.sends++
	d.entries = append(d.entries, entry{i, it.serial, it.sends})
}
