package verify

import (
	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/peers"
)

// peer is what the server knows of one open connection. It holds State(acked), as far as it has said.
//
// What fits a datagram is a delta from acked, and is repeated, with what is new, until it is acknowledged. What does not
// goes on the reliable channel, each State from the one before: chain is the last, and it will be there when the next
// one comes. A datagram ends the chain: what follows begins at acked again.
type peer struct {
	open     bool
	seat     int // −1: a spectator
	acked    ecs.Tick
	chain    ecs.Tick // newest tick sent on the reliable channel; counts if it is above acked
	sizes    []int    // of the State of tick f on the reliable channel that is not acknowledged, in slot f % len
	underWay int      // their sum, in bytes
	states   int      // their number
	stats    systems.PeerStats
	resync   peers.Resync // a peer that needs an image is sent no State, or the image would take it back
	messages int          // that it may still send
}

// The budget of a peer. A client sends at most one message a tick; what a hitch held up comes at once.
const (
	messagesPerTick = 2
	maxMessages     = 256
)

// The bounds of what is under way to a peer on the reliable channel: bytes, where a single State may be larger, and
// States. What is beyond waits, and the State that then goes out is a fresh one: so a channel that carries less than is
// sent shows the present less often, and not later and later.
const (
	window    = 64 << 10
	maxStates = 128
)

func (p *peer) refill() { p.messages = min(p.messages+messagesPerTick, maxMessages) }

// hear takes note that the peer holds State(f). The last word does not count if it was overtaken: states only move
// forward.
func (p *peer) hear(f ecs.Tick) {
	if f <= p.acked {
		return
	}
	from := p.acked + 1
	if depth := ecs.Tick(len(p.sizes)); f >= depth {
		from = max(from, f+1-depth)
	}
	for k := from; k <= f; k++ {
		size := &p.sizes[k%ecs.Tick(len(p.sizes))]
		if *size > 0 {
			p.underWay -= *size
			p.states--
			*size = 0
		}
	}
	p.acked, p.stats.Acked = f, f
	p.stats.Checked++
}

// Open starts to serve a peer that holds State(have).
func (s *Server) Open(id systems.Peer, seatNumber int, have ecs.Tick, _ systems.Time, _ systems.Outbox) {
	checks.Seat("verify", seatNumber, len(s.seats))
	checks.Held("verify", have, s.OldestServable(), s.done)
	p := &s.peers[id]
	if !p.open {
		*p = peer{messages: maxMessages, sizes: p.sizes}
	}
	if p.sizes == nil {
		p.sizes = make([]int, s.ring.Depth())
	}
	clear(p.sizes)
	p.open, p.seat, p.acked, p.chain, p.underWay, p.states, p.resync = true, seatNumber, have, 0, 0, 0, peers.InSync
	p.stats.Acked = have
}

// Close stops to serve a peer.
func (s *Server) Close(id systems.Peer) { s.peers[id] = peer{sizes: s.peers[id].sizes} }

// Receive takes a message from an open peer, on either channel: where datagrams do not get through, all goes on the
// other.
func (s *Server) Receive(id systems.Peer, _ systems.Channel, message []byte, _ systems.Time, _ systems.Outbox) error {
	p := &s.peers[id]
	if !p.open {
		return ErrMessage
	}
	if p.messages == 0 {
		p.stats.Refused++
		return nil
	}
	p.messages--
	m := &s.scratch.ask
	if m.read(message, s.done, s.game) != nil || !s.sensible(p, m) {
		p.stats.Refused++
		return ErrMessage
	}
	p.hear(m.held)
	if m.lost && p.resync == peers.InSync {
		p.stats.Desyncs++
		p.resync.Request()
	}
	if p.seat >= 0 {
		s.take(p, m)
	}
	return nil
}

// sensible reports whether a client can have meant a message.
func (s *Server) sensible(p *peer, m *askMessage) bool {
	if m.held > s.done {
		return false
	}
	if p.seat < 0 {
		return len(m.asked) == 0
	}
	return m.first <= s.seats[p.seat].newest+1+maxLeap
}

// take queues the commands that are new. Those that came before are answered with the next State.
func (s *Server) take(p *peer, m *askMessage) {
	seat := &s.seats[p.seat]
	seat.hear(m.first)
	for i := range m.asked {
		c := &m.asked[i]
		switch {
		case c.Number <= seat.newest:
		case seat.waiting >= s.limits.MaxOutstanding:
			p.stats.Refused++
			return // a client has no more without answers; if it asks again, so be it
		default:
			s.queue.push(p.seat, *c)
			seat.newest = c.Number
			seat.waiting++
		}
	}
}

// Send sends every open peer the present state.
func (s *Server) Send(_ systems.Time, out systems.Outbox) {
	for id := range s.peers {
		p := &s.peers[id]
		switch {
		case !p.open || p.acked >= s.done || p.resync != peers.InSync:
		case max(p.acked, p.chain) < s.OldestServable():
			p.resync.Request()
		default:
			s.tell(systems.Peer(id), p, out)
		}
	}
}

// tell sends a peer the present state, unless too much is under way to it already.
func (s *Server) tell(id systems.Peer, p *peer, out systems.Outbox) {
	base := max(p.acked, p.chain)
	message := []byte(nil)
	// A chain of States that is short may fit a datagram as one; whether a long one does is not worth finding out.
	fresh := p.acked >= s.OldestServable()
	if !s.limits.Reliable && fresh && (base == p.acked || p.underWay <= 2*systems.MaxDatagram) {
		message = s.state(p, p.acked)
		if message != nil && len(message) <= systems.MaxDatagram {
			p.chain = 0
			out.Send(id, systems.Datagram, message)
			return
		}
	}
	if base >= s.done || !fresh && s.done-p.acked >= ecs.Tick(len(p.sizes)) {
		return
	}
	if base != p.acked || message == nil {
		message = s.state(p, base)
	}
	if message == nil {
		p.resync.Request() // larger than any image is worth
		return
	}
	if p.underWay > 0 && p.underWay+len(message) > window || p.states == maxStates {
		return
	}
	p.chain = s.done
	p.states++
	p.sizes[s.done%ecs.Tick(len(p.sizes))] = len(message)
	p.underWay += len(message)
	s.sendReliable(id, message, out)
}

func (s *Server) sendReliable(id systems.Peer, message []byte, out systems.Outbox) {
	if len(message) <= pieceBytes {
		out.Send(id, systems.Reliable, message)
		return
	}
	for len(message) > 0 {
		n := min(len(message), pieceBytes)
		s.scratch.piece = appendPiece(s.scratch.piece[:0], n < len(message), message[:n])
		message = message[n:]
		out.Send(id, systems.Reliable, s.scratch.piece)
	}
}

// state writes the State for a peer that holds State(base), nil if it is too large.
func (s *Server) state(p *peer, base ecs.Tick) []byte {
	m := &s.scratch.state
	m.base, m.tick, m.answered, m.rejected = base, s.done, 0, nil
	if p.seat >= 0 {
		m.answered, m.rejected = s.seats[p.seat].decided, s.seats[p.seat].rejected
	}
	m.happened = m.happened[:0]
	for f := base + 1; f <= s.done; f++ {
		if emitted := s.events.At(f); len(emitted) > 0 {
			m.happened = append(m.happened, emitted)
		}
	}
	m.delta = s.deltas.of(s.ring, base, s.done)
	if message := m.append(s.scratch.message[:0]); message != nil {
		s.scratch.message = message
		return message
	}
	return nil
}

// Desynced calls f for each peer that needs an image and was not told of since it was opened.
func (s *Server) Desynced(f func(systems.Peer)) {
	for id := range s.peers {
		if p := &s.peers[id]; p.open && p.resync.Report() {
			f(systems.Peer(id))
		}
	}
}

// PeerStats returns what the server knows of an open peer. Every state that a peer acknowledges had the right checksum
// there, so it counts as checked. Refused are its messages that could not be used and its seat's commands that were
// rejected.
func (s *Server) PeerStats(id systems.Peer) systems.PeerStats {
	p := &s.peers[id]
	st := p.stats
	if p.open && p.seat >= 0 {
		st.Refused += s.seats[p.seat].rejects
	}
	return st
}
