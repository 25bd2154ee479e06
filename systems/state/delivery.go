package state

import (
	"tendon/ecs"
	"tendon/net/wire"
)

// Acked takes what the client says of the bodies that it was sent. On an error nothing is changed.
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

// deliver records the bodies that arrived. Bodies before the newest that have not arrived never will: a client ignores a
// late body.
func (s *Sender) deliver(newest uint64, older uint32) {
	if b := s.body(newest); b != nil {
		sample := float32(s.changes.tick - b.tick)
		if s.rtt == 0 {
			s.rtt = sample
		}
		s.rtt += (sample - s.rtt) / 8
		if newest > s.known+ackedAtOnce {
			s.unsure = newest - ackedAtOnce
		}
		s.known = max(s.known, newest)
		s.arrived(b)
	}
	for i := range min(uint64(32), newest-1) {
		if b := s.body(newest - 1 - i); b != nil {
			if older>>i&1 != 0 {
				s.arrived(b)
			} else {
				s.lost(b)
			}
		}
	}
}

// ackedAtOnce is of how many bodies an acknowledgement speaks.
const ackedAtOnce = 33

// body returns a body that is waited for.
func (s *Sender) body(sequence uint64) *sentBody {
	if b := &s.sent[sequence%sentBodies]; b.open && b.sequence == sequence {
		return b
	}
	return nil
}

func (s *Sender) arrived(b *sentBody) {
	b.open = false
	s.stats.Acked = max(s.stats.Acked, b.tick)
	for _, e := range b.entries {
		it := &s.items[e.item]
		if it.serial != e.serial {
			continue
		}
		if it.phase == leaving {
			s.release(int(e.item))
			continue
		}
		switch {
		case !it.based || b.tick > it.base:
			if it.by != 0 {
				it.older = it.older<<(b.sequence-it.by) | 1<<(b.sequence-it.by-1)
			}
			it.based, it.base, it.by, it.atBase = true, b.tick, b.sequence, e.sends
		case b.sequence < it.by:
			it.older |= 1 << (it.by - b.sequence - 1)
		}
		if it.flight == b.sequence {
			it.flight = 0
		}
	}
}

func (s *Sender) lost(b *sentBody) {
	b.open = false
	s.stats.Lost++
	for _, e := range b.entries {
		if it := &s.items[e.item]; it.serial == e.serial && it.flight == b.sequence {
			it.flight = 0
		}
	}
}

// refuse makes what was in a body that the client could not use come whole; everything, if that is not known any more.
func (s *Sender) refuse(sequence uint64) {
	b := &s.sent[sequence%sentBodies]
	if b.sequence != sequence {
		for i := range s.items {
			s.items[i].unbase()
		}
		return
	}
	for _, e := range b.entries {
		if it := &s.items[e.item]; it.serial == e.serial && it.base < b.tick {
			it.unbase()
		}
	}
	b.open = false
}

// record opens the record of a body that is about to be written.
func (s *Sender) record(sequence uint64, tick ecs.Tick) *sentBody {
	b := &s.sent[sequence%sentBodies]
	if b.open {
		s.lost(b)
	}
	b.sequence, b.tick, b.open, b.entries = sequence, tick, true, b.entries[:0]
	return b
}

// note records that a body brings an item as it is now.
func (s *Sender) note(b *sentBody, i int32) {
	it := &s.items[i]
	if it.waiting && b.tick-it.waits > s.deadline() {
		s.stats.Late++
	}
	it.known, it.flight, it.sentAt, it.claim, it.waiting = true, b.sequence, b.tick, 0, false
	it.sends++
	b.entries = append(b.entries, entry{i, it.serial, it.sends})
}
