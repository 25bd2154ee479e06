package lockstep

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/peers"
)

// peer is what the server knows of one open connection. It holds the frames up to received, as far as it has said. The
// frames up to sent were put on the reliable channel, each once. What follows goes there too, until there is no more of
// it; then the peer is near: syncs go as datagrams, each with all that follows max(received, sent).
type peer struct {
	open     bool
	seat     int // −1: a spectator
	received ecs.Tick
	opened   ecs.Tick // the state it held when it was opened
	sent     ecs.Tick
	near     bool
	told     ecs.Tick   // what was last promised to it
	flight   [64]flight // what was sent reliably and not acknowledged, oldest first
	flying   int

	live     bool         // it has caught up and plays
	through  ecs.Tick     // its operations are complete up to here
	stalled  int          // see opsMessage
	operated uint32       // number of its last operation that was stamped
	repeated systems.Time // when it was last sent what it was sent before
	heard    systems.Time

	stats    systems.PeerStats
	resync   peers.Resync
	messages int // operations messages that it may still send
	inputs   int // changes of input that it may still make
	orders   int // orders that it may still give, in 1/TickRate
}

// flight is a stretch of frames on the reliable channel, by its last one.
type flight struct {
	last  ecs.Tick
	bytes int
}

// The budgets of a peer. A client sends at most one message and one change of input a tick, at up to 1.1 times the
// pace; what a hitch held up comes at once.
const (
	messagesPerTick = 2
	maxMessages     = 256
	ordersPerSecond = 20
	ordersAtOnce    = 40
)

// refill adds one tick's worth to the budgets.
func (p *peer) refill(ticksPerSecond int) {
	p.messages = min(p.messages+messagesPerTick, maxMessages)
	p.inputs = min(p.inputs+messagesPerTick, maxMessages)
	p.orders = min(p.orders+ordersPerSecond, ordersAtOnce*ticksPerSecond)
}

// Open starts to serve a peer that holds State(have). A peer that is open already has loaded an image: it goes on
// counting its operations.
func (s *Server) Open(id systems.Peer, seatNumber int, have ecs.Tick, now systems.Time, _ systems.Outbox) {
	checks.Seat("lockstep", seatNumber, len(s.seats))
	checks.Held("lockstep", have, s.OldestServable(), s.done)
	p := &s.peers[id]
	again := p.open && p.seat == seatNumber
	if !p.open {
		*p = peer{messages: maxMessages, inputs: maxMessages, orders: ordersAtOnce * s.game.TickRate}
	}
	if seatNumber >= 0 && !again {
		s.seats[seatNumber] = seat{}
		p.operated = 0
	}
	p.open, p.seat, p.opened, p.resync = true, seatNumber, have, peers.InSync
	p.received, p.sent, p.told, p.near, p.flying = have, have, have, false, 0
	p.live, p.through, p.stalled = false, 0, 0
	p.stats.Acked = have
	if seatNumber >= 0 {
		s.court.hashes.Resynced(ecs.Player(seatNumber))
	}
	s.now = max(s.now, now)
	p.heard = now
}

// Close stops to serve a peer.
func (s *Server) Close(id systems.Peer) { s.peers[id] = peer{} }

// Receive takes a message from an open peer.
func (s *Server) Receive(id systems.Peer, ch systems.Channel, message []byte, now systems.Time, out systems.Outbox) error {
	p := &s.peers[id]
	if !p.open || len(message) == 0 {
		return ErrMessage
	}
	s.now = max(s.now, now)
	switch {
	case message[0] == kindOps: // on either channel: where datagrams do not get through, all goes on the other
		return s.receiveOps(id, message, now, out)
	case message[0] == kindHash && ch == systems.Reliable:
		return s.receiveHash(p, message)
	case message[0] == kindResult && ch == systems.Reliable:
		return s.receiveResult(p, message)
	}
	p.stats.Refused++
	return ErrMessage
}

// receiveOps takes how far a peer is, and what its player did.
func (s *Server) receiveOps(id systems.Peer, message []byte, now systems.Time, out systems.Outbox) error {
	p := &s.peers[id]
	if p.messages == 0 {
		p.stats.Refused++
		return nil
	}
	p.messages--
	p.heard = now
	m := &s.scratch.ops
	err := m.read(message, s.done, s.game)
	if err == nil && (m.received > max(s.sync, p.opened) || p.seat < 0 && len(m.ops) > 0) {
		err = ErrMessage
	}
	if err != nil {
		p.stats.Refused++
		return err
	}
	// The last word counts, not the highest: what was sent before an image was loaded may come after it.
	if m.received >= p.opened {
		p.received, p.stats.Acked = m.received, m.received
		p.live, p.stalled = m.live, m.stalled
		p.through = max(p.through, m.executed+ecs.Tick(m.lead))
	}
	for i := range m.ops {
		number := m.first + uint32(i)
		if int32(number-p.operated) <= 0 {
			continue // seen before
		}
		p.operated = number
		s.operate(p, &m.ops[i], out)
	}
	if s.held && p.near && p.received < s.sync && s.released == s.sync && now-p.repeated >= resendHeld {
		p.repeated = now
		s.sendNear(id, out) // while frames wait, nothing follows that would bring what was lost
	}
	return nil
}

// resendHeld is how often a peer is sent the last sync again while the match waits.
const resendHeld = systems.Second / 20

// operate stamps an operation into the running frame.
func (s *Server) operate(p *peer, o *op, out systems.Outbox) {
	player := ecs.Player(p.seat)
	member := s.members.Has(player)
	switch {
	case o.isOrder && (!member || p.orders < s.game.TickRate || s.last.tick > s.done+ecs.Tick(s.game.TickRate)):
		p.stats.Refused++
	case o.isOrder:
		p.orders -= s.game.TickRate
		s.Stamp(image.Order{Kind: image.OrderGame, Player: player, Entity: o.target, Payload: o.payload}, out)
	case p.inputs == 0:
		p.stats.Refused++
	case member:
		p.inputs--
		s.running.change(player, o.in, s.game)
		if s.config.RelayAtOnce && s.relayed < maxNumber {
			s.relay(&stamped{tick: s.done + 1, number: s.relayed, player: player, input: true, in: o.in}, out)
			s.relayed++
		}
	default:
		p.inputs--
		seat := &s.seats[player]
		if in := o.in; seat.waiting {
			seat.held = s.game.Input.MergeLate(seat.held, in)
		} else {
			seat.held, seat.waiting = in, true
		}
	}
}

// relay sends an operation that was stamped to those who are near, and where everything goes over the reliable channel,
// to those who were sent all the frames before.
func (s *Server) relay(o *stamped, out systems.Outbox) {
	s.scratch.message = o.append(s.scratch.message[:0], s.game)
	for id := range s.peers {
		if p := &s.peers[id]; p.open && (p.near || s.config.Reliable && p.sent >= s.sync) {
			out.Send(systems.Peer(id), systems.Reliable, s.scratch.message)
		}
	}
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
func (s *Server) PeerStats(id systems.Peer) systems.PeerStats { return s.peers[id].stats }
