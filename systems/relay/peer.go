package relay

import (
	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/peers"
)

// peer is what the server knows of one open connection. It holds the input sets up to tick acked, as far as it has said.
type peer struct {
	open   bool
	seat   int // −1: a spectator
	acked  ecs.Tick
	told   ecs.Tick // up to where the last confirmation went, if it did not reach the present
	opened ecs.Tick // the state it held when it was opened
	stats  systems.PeerStats
	resync peers.Resync
	budget peers.Budget
}

// Open starts to serve a peer that holds State(have). Orders that it may hold already are sent again.
func (s *Server) Open(id systems.Peer, seatNumber int, have ecs.Tick, now systems.Time, out systems.Outbox) {
	checks.Seat("relay", seatNumber, len(s.seats))
	p := &s.peers[id]
	if !p.open {
		*p = peer{budget: peers.NewBudget(s.game.TickRate)}
	}
	if seatNumber >= 0 && (!p.open || p.seat != seatNumber) {
		s.seats[seatNumber].Forget(s.done)
	}
	p.open, p.seat, p.acked, p.told, p.opened, p.resync = true, seatNumber, have, 0, have, peers.InSync
	p.stats.Acked = have
	for f := have + 1; f <= s.stamped.tick; f++ {
		s.scratch.orders = s.orders.AppendAt(s.scratch.orders[:0], f)
		for i, o := range s.scratch.orders {
			message := stampedOrder{tick: f, number: i, order: o}
			s.scratch.message = message.append(s.scratch.message[:0])
			out.Send(id, systems.Reliable, s.scratch.message)
		}
	}
}

// Close stops to serve a peer.
func (s *Server) Close(id systems.Peer) { s.peers[id] = peer{} }

// Receive takes a message from an open peer.
func (s *Server) Receive(id systems.Peer, ch systems.Channel, message []byte, now systems.Time, _ systems.Outbox) error {
	p := &s.peers[id]
	if !p.open || len(message) == 0 {
		return ErrMessage
	}
	switch {
	case message[0] == kindInput: // on either channel: where datagrams do not get through, all goes on the other
		return s.receiveInput(p, message, now)
	case message[0] == kindHash && ch == systems.Reliable:
		return s.receiveHash(p, message)
	case message[0] == kindOrder && ch == systems.Reliable:
		return s.receiveOrder(p, message)
	}
	p.stats.Refused++
	return ErrMessage
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
	return st
}
