package predict

import (
	"iter"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/peers"
	"tendon/systems/state"
)

// peer is what the server knows of one open connection: what it holds of the state is in sender's books, the events up to
// tick told were sent to it.
type peer struct {
	open   bool
	seat   int // −1: a spectator
	sender *state.Sender
	told   ecs.Tick     // every event of ticks ≤ told was sent, or was not for this peer
	heard  ecs.Tick     // the newest tick ≤ told whose events were sent since the peer was opened; 0: none was
	slot   uint64       // of the last snapshot, in intervals between two
	acked  ecs.Tick     // the newest state that it says it holds
	rtt    systems.Time // from a state to the first word of it, smoothed
	hears  iter.Seq2[ecs.Entity, float32]
	minds  func(*ecs.EmittedEvent) bool // which events it hears of; nil: all
	events [][]byte                     // those of tick f > opened in slot f % len, if it minds
	opened ecs.Tick
	waits  bool         // it says that it needs measures
	delay  systems.Time // by how much it says that it shows others later
	stats  systems.PeerStats
	flaw   peers.Flaw
	budget peers.Budget
}

// hear takes note of what a peer says that it holds. An acknowledgement of what was never sent is an error.
func (s *Server) hear(p *peer, m *inputMessage, now systems.Time) error {
	if p.sender.Acked(m.ack) != nil {
		return ErrMessage
	}
	if m.received > p.acked {
		p.acked, p.stats.Acked = m.received, m.received
		if s.timed {
			sample := max(now-s.due+systems.Time(s.done-m.received)*s.tick, 0)
			if p.rtt == 0 {
				p.rtt = sample
			}
			p.rtt += (sample - p.rtt) / 8
		}
	}
	p.delay, p.waits = systems.Time(m.delay)*s.tick, m.waits
	if m.helpless && p.flaw == peers.Sound {
		p.stats.Desyncs++
		p.flaw.Fault()
	}
	return nil
}

// Open starts to serve a peer that holds State(have).
func (s *Server) Open(id systems.Peer, seatNumber int, have ecs.Tick, _ systems.Time, _ systems.Outbox) {
	checks.Seat("predict", seatNumber, len(s.seats))
	checks.Held(s, "predict", have)
	p := &s.peers[id]
	if !p.open {
		*p = peer{budget: peers.NewBudget(s.game.TickRate)}
	}
	if seatNumber >= 0 && (!p.open || p.seat != seatNumber) {
		s.seats[seatNumber].forget(s.done)
	}
	if p.sender == nil {
		p.sender = state.NewSender(s.changes)
	}
	held, _ := s.ring.At(have)
	p.sender.Open(seatNumber, held)
	if p.hears, p.minds = s.everything, nil; s.hearers != nil && seatNumber >= 0 {
		p.hears, p.minds = s.hearers.of(int(id), seatNumber), s.hearers.minds(int(id), seatNumber)
		p.events = make([][]byte, len(s.events))
	}
	p.opened = s.done
	p.open, p.seat, p.told, p.heard, p.slot, p.acked, p.flaw = true, seatNumber, have, 0, 0, have, peers.Sound
	p.waits = seatNumber >= 0
	p.stats.Acked = have
}

// Close stops to serve a peer.
func (s *Server) Close(id systems.Peer) { s.peers[id] = peer{} }

// Send sends every open peer the events that it was not told of, and a snapshot if one is due.
func (s *Server) Send(_ systems.Time, out systems.Outbox) {
	for i := range s.peers {
		if p := &s.peers[i]; p.open {
			s.sendEvents(systems.Peer(i), p, out)
			if slot := s.slot(i); slot != p.slot && p.flaw == peers.Sound {
				p.slot = slot
				s.sendSnapshot(systems.Peer(i), p, out)
			}
		}
	}
}

// greetings is how many snapshots a second a peer is sent at least that waits: it needs as many measures as it needs, be
// the rate what it may.
const greetings = 20

// slot counts the intervals between snapshots to a peer, from 1 on. Those of different peers begin in different ticks,
// so that a server has the same work in each.
func (s *Server) slot(peer int) uint64 {
	rate, snapshots := uint64(s.game.TickRate), s.limits.SnapshotRate
	if s.peers[peer].waits {
		snapshots = max(snapshots, greetings)
	}
	return (uint64(s.done)*uint64(snapshots)+uint64(peer)*rate/uint64(len(s.peers)))/rate + 1
}

// sendEvents sends what the ticks after p.told emitted, a message for each that emitted anything. Also to a peer that
// needs an image: what happens meanwhile is not in there.
func (s *Server) sendEvents(id systems.Peer, p *peer, out systems.Outbox) {
	for f := max(p.told, s.OldestServable()) + 1; f <= s.done; f++ {
		events := s.events[f%ecs.Tick(len(s.events))]
		if p.minds != nil && f > p.opened {
			events = *p.slotOf(f)
		}
		if len(events) == 0 {
			continue
		}
		s.scratch.message = appendEvents(s.scratch.message[:0], events)
		if len(s.scratch.message) > 0 {
			p.heard = f
			out.Send(id, systems.Reliable, s.scratch.message)
		}
	}
	p.told = s.done
}

// slotOf returns where the events of tick f are kept that the peer hears of.
func (p *peer) slotOf(f ecs.Tick) *[]byte { return &p.events[f%ecs.Tick(len(p.events))] }

// sendSnapshot sends what brings a peer up to date.
func (s *Server) sendSnapshot(id systems.Peer, p *peer, out systems.Outbox) {
	var head snapshotHead
	if p.heard > 0 {
		head.events = uint64(s.done-p.heard) + 1
	}
	if p.seat >= 0 {
		seat := &s.seats[p.seat]
		head.altered = seat.altered
		if f, ok := seat.lacks(s.done); ok {
			head.lacks = uint64(s.done-f) + 1
		}
		head.margin, head.hasMargin = seat.TakeWorst()
	}
	w := wire.NewWriter(s.scratch.message[:0], headBytes)
	head.append(&w)
	s.scratch.message = p.sender.Append(w.Bytes(), systems.MaxDatagram-w.Len(), p.hears)
	out.Send(id, systems.Datagram, s.scratch.message)
}

// Desynced calls f for each peer that needs an image and was not told of since it was opened.
func (s *Server) Desynced(f func(systems.Peer)) {
	for id := range s.peers {
		if p := &s.peers[id]; p.open && p.flaw.Tell() {
			f(systems.Peer(id))
		}
	}
}

// PeerStats returns what the server knows of an open peer.
func (s *Server) PeerStats(id systems.Peer) systems.PeerStats {
	p := &s.peers[id]
	st := p.stats
	if p.open && p.seat >= 0 {
		seat := &s.seats[p.seat]
		st.Substituted, st.Late, st.Margin = seat.Substituted, seat.Late, seat.MeanMargin()
	}
	if p.open && p.sender != nil {
		sent := p.sender.Stats()
		st.Overdue, st.LongestWait = sent.Late, sent.Longest
	}
	return st
}
