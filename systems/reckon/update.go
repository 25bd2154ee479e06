package reckon

import (
	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/authority"
)

// minWarmupRate is the minimum rate of messages, per second, for a client that does not play yet: its clock needs
// measurements.
const minWarmupRate = 30

// maxUpdates bounds the messages of records for a peer in a tick. Records that do not fit are sent when they are due again.
const maxUpdates = 4

func (s *Server) sendUpdates() {
	s.Serve((*Server).sendUpdate)
	s.motion.out, s.motion.bytes = s.motion.out[:0], s.motion.bytes[:0]
}

// sendUpdate sends a peer the records of the tick, and a body of state if one is due.
func (s *Server) sendUpdate(p *peer) {
	if p.Resync != authority.InSync {
		return
	}
	link, done := &p.Own, s.Done()
	head := s.head(p)
	warmup := ecs.Tick(max(1, s.Game.TickRate/minWarmupRate))
	interval := s.Interval(p, s.settings.StateRate)
	bodyDue := link.body < done && (interval != link.interval || s.urgent > link.body)
	bodyDue = bodyDue || len(link.entered) > 0 && done >= link.body+warmup
	headDue := (len(head.snaps) > 0 || !head.has(headReady)) && done >= link.update+warmup
	u := updateWriter{message: s.Sending.Message[:0], to: p.ID, out: s.Sending.Out}
	s.writeRecords(p, &u, &head)
	complete := s.repeatRecords(p, &u, &head)
	if bodyDue {
		const least = systems.MaxDatagram / 4
		if u.open() && systems.MaxDatagram-len(u.message) < least {
			u.flush()
		}
		head.flags |= headBody
		u.begin(&head)
		u.message[flagsOffset] |= headBody
		u.message = p.Sender.Append(u.message, systems.MaxDatagram-len(u.message), link.relevant)
		link.interval, link.body = interval, done
	} else if headDue {
		u.begin(&head)
	}
	if u.open() {
		if complete && u.sent == 0 {
			link.repeats.note(done)
		}
		link.update = done
		if p.Seat >= 0 {
			s.Seats[p.Seat].PopWorst()
		}
		u.flush()
	}
	s.Sending.Message = u.message
}

func (s *Server) head(p *peer) updateHead {
	h := updateHead{tick: s.Done(), events: p.Events.Since(s.Done()), snaps: s.scratch.snaps[:0]}
	if p.Own.clock.known() {
		h.flags = headReady
	}
	if p.Seat >= 0 {
		h.altered = s.Seats[p.Seat].Altered
		margin, measured := s.Seats[p.Seat].Worst()
		h.margin = margin
		if measured {
			h.flags |= headMargin
		}
		for i := range s.avatars {
			if a := &s.avatars[i]; int(a.player) == p.Seat && a.held {
				h.snaps = append(h.snaps, claim{a.epoch, a.snap})
			}
		}
	}
	s.scratch.snaps = h.snaps
	return h
}

// writeRecords writes the records of the tick that are relevant to a peer. A client whose clock is known is also sent
// records of the entities that have become relevant, at first of all that move.
func (s *Server) writeRecords(p *peer, u *updateWriter, head *updateHead) {
	link := &p.Own
	switch {
	case !head.has(headReady):
	case !link.introduced:
		link.introduced = true
		for _, t := range s.motion.entities.All {
			s.introduce(p, t.entity, u, head)
		}
	default:
		for _, e := range link.entered {
			s.introduce(p, e, u, head)
		}
	}
	for i := range s.motion.out {
		x := &s.motion.out[i]
		if s.relevant(p, x.entity) {
			s.writeRecord(u, head, x.entity, x.in(s.motion.bytes, p))
		}
	}
}

// introduce writes a record of an entity that has become relevant to a peer.
func (s *Server) introduce(p *peer, e ecs.Entity, u *updateWriter, head *updateHead) {
	if record, ok := s.motion.introduction(e, s.Grid.Due); ok && s.relevant(p, e) {
		s.writeRecord(u, head, e, record)
	}
}

// writeRecord adds a record to the message, or to the next one.
func (s *Server) writeRecord(u *updateWriter, head *updateHead, e ecs.Entity, record []byte) {
	if u.sent >= maxUpdates {
		return
	}
	u.begin(head)
	if !u.add(record) {
		u.flush()
		u.begin(head)
		u.add(record)
	}
	s.spendRecord(e, len(record))
}

// spendRecord accounts a record of an entity.
func (s *Server) spendRecord(e ecs.Entity, bytes int) {
	if o := s.ByteObserver(); o != nil {
		s.Step.State.CountMotion(e, bytes, o)
	}
}

// updateWriter writes the messages of an update to a peer.
type updateWriter struct {
	message []byte
	count   int // where the number of records stands; 0: no message is begun
	sent    int // messages so far
	to      systems.Peer
	out     systems.Outbox
}

// flagsOffset is where the flags stand in a message.
const flagsOffset = 5

func (u *updateWriter) open() bool { return u.count > 0 }

// begin writes the head, if no message is begun. Corrected avatars are in the first message only.
func (u *updateWriter) begin(h *updateHead) {
	if u.open() {
		return
	}
	w := wire.NewWriter(u.message[:0], updateBytes)
	h.append(&w)
	h.snaps = h.snaps[:0]
	u.message = w.Bytes()
	u.count = len(u.message)
	u.message = append(u.message, 0)
}

func (u *updateWriter) add(record []byte) bool {
	if len(u.message)+len(record) > systems.MaxDatagram || u.message[u.count] == maxRecords {
		return false
	}
	u.message = append(u.message, record...)
	u.message[u.count]++
	return true
}

func (u *updateWriter) flush() {
	u.out.Send(u.to, systems.Datagram, u.message)
	u.count = 0
	u.sent++
}
