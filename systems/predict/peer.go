package predict

import (
	"iter"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/events"
	"tendon/systems/internal/peers"
	"tendon/systems/state"
)

// peer is what the server knows of one open connection: what it holds of the state is in sender's books.
type peer struct {
	open   bool
	seat   int // −1: a spectator
	sender *state.Sender
	events events.Sender
	slot   uint64       // of the last snapshot, in intervals between two
	acked  ecs.Tick     // the newest state that it says it holds
	rtt    systems.Time // from a state to the first word of it, smoothed
	hears  iter.Seq2[ecs.Entity, float32]
	waits  bool         // it says that it needs measures
	delay  systems.Time // by how much it says that it shows others later
	stats  systems.PeerStats
	resync peers.Resync
	budget peers.Budget
}

// hear takes note of what a peer says that it holds. An acknowledgement of what was never sent is an error.
func (s *Server) hear(p *peer, m *inputMessage, now systems.Time) error {
	if p.sender.Acked(m.ack) != nil {
		return ErrMessage
	}
	if m.received > p.acked {
		p.acked, p.stats.Acked = m.received, m.received
		if s.grid.Timed {
			sample := max(now-s.grid.Due+systems.Time(s.done-m.received)*s.grid.Tick, 0)
			if p.rtt == 0 {
				p.rtt = sample
			}
			p.rtt += (sample - p.rtt) / 8
		}
	}
	p.delay, p.waits = systems.Time(m.delay)*s.grid.Tick, m.waits
	if m.helpless && p.resync == peers.InSync {
		p.stats.Desyncs++
		p.resync.Request()
	}
	return nil
}

// Open starts to serve a peer that holds State(have).
func (s *Server) Open(id systems.Peer, seatNumber int, have ecs.Tick, _ systems.Time, _ systems.Outbox) {
	checks.Seat("predict", seatNumber, len(s.seats))
	checks.Held("predict", have, s.OldestServable(), s.done)
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
	minds := (func(*image.EmittedEvent) bool)(nil)
	if p.hears = s.everything; s.hearers != nil && seatNumber >= 0 {
		p.hears, minds = s.hearers.of(int(id), seatNumber), s.hearers.minds(int(id), seatNumber)
	}
	p.events.Open(&s.events, have, s.done, minds)
	p.open, p.seat, p.slot, p.acked, p.resync = true, seatNumber, 0, have, peers.InSync
	p.waits = seatNumber >= 0
	p.stats.Acked = have
}

// Close stops to serve a peer.
func (s *Server) Close(id systems.Peer) { s.peers[id] = peer{} }

// Send sends every open peer the events that it was not told of, and a snapshot if one is due.
func (s *Server) Send(_ systems.Time, out systems.Outbox) {
	for i := range s.peers {
		if p := &s.peers[i]; p.open {
			// Also to a peer that needs an image: what happens meanwhile is not in there.
			p.events.Send(systems.Peer(i), &s.events, s.OldestServable(), s.done, kindEvents, &s.scratch.message, out)
			if slot := s.slot(i); slot != p.slot && p.resync == peers.InSync {
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

// sendSnapshot sends what brings a peer up to date.
func (s *Server) sendSnapshot(id systems.Peer, p *peer, out systems.Outbox) {
	head := snapshotHead{events: p.events.Since(s.done)}
	if p.seat >= 0 {
		seat := &s.seats[p.seat]
		head.altered = seat.altered
		if f, ok := seat.lacks(s.done); ok {
			head.lacks = uint64(s.done-f) + 1
		}
		head.margin, head.hasMargin = seat.PopWorst()
	}
	w := wire.NewWriter(s.scratch.message[:0], headBytes)
	head.append(&w)
	s.scratch.message = p.sender.Append(w.Bytes(), systems.MaxDatagram-w.Len(), p.hears)
	out.Send(id, systems.Datagram, s.scratch.message)
}

// Desynced calls f for each peer that needs an image and was not told of since it was opened.
func (s *Server) Desynced(f func(systems.Peer)) {
	for id := range s.peers {
		if p := &s.peers[id]; p.open && p.resync.Report() {
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
