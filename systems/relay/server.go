package relay

import (
	"bytes"
	"fmt"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
)

// Server is the relay's half on the server. World is in State(done); the input sets of ticks (done − backlog, done]
// are in used. Every open peer has acknowledged some tick in that window and is sent all that follow it.
type Server struct {
	config systems.ServerConfig
	world  *ecs.World
	game   *ecs.Game
	seats  []seat
	peers  []peer
	used   *rollback.InputLog
	late   []ecs.PlayerSet        // by tick & (backlog − 1), like used
	proofs []rollback.OrderDigest // the same
	orders rollback.OrderLog
	wanted []ecs.Order // asked for by players, not stamped yet
	hashes hashes
	ring   *rollback.Ring
	done   ecs.Tick
	due    systems.Time // when tick done was due
	tickNs systems.Time // length of a tick

	scratch struct {
		orders  []ecs.Order
		message []byte
		input   inputMessage
	}
}

// backlog is how many ticks of input sets the server keeps: how far behind a peer may be and still be served.
const backlog = 1024

// maxAhead bounds how far ahead of the present an order is stamped: 500 ms.
const maxAhead = systems.Second / 2

// checkEvery is the interval of checksum comparisons, in ticks.
const checkEvery = 60

// peer is what the server knows of one open connection.
type peer struct {
	open   bool
	seat   int // −1: a spectator
	acked  ecs.Tick
	opened ecs.Tick
	stats  systems.PeerStats
	flaw   bool // the peer needs an image and the room has not been told yet
	orders int  // order requests that may still come this second
	refill systems.Time
}

// ordersPerSecond is how many orders a player may ask for in a second.
const ordersPerSecond = 10

var _ systems.Server = (*Server)(nil)

// NewServer returns the server's half for a world.
func NewServer(c systems.ServerConfig) (systems.Server, error) {
	if c.World == nil || c.Peers < 1 {
		return nil, fmt.Errorf("relay: NewServer wants a World and Peers ≥ 1, has Peers = %d", c.Peers)
	}
	game := c.World.Game()
	s := &Server{config: c, world: c.World, game: game, seats: make([]seat, game.MaxPlayers), peers: make([]peer, c.Peers),
		used: rollback.NewInputLog(game.MaxPlayers, backlog), late: make([]ecs.PlayerSet, backlog),
		proofs: make([]rollback.OrderDigest, backlog), ring: rollback.NewRing(2),
		tickNs: systems.Second / systems.Time(game.TickRate), done: c.World.Tick()}
	row, marks := s.used.Row(s.done)
	for p := range row {
		row[p], marks[p] = s.world.InputOf(ecs.Player(p)), rollback.Confirmed
	}
	return s, nil
}

// World is the match, in the state of the last tick.
func (s *Server) World() *ecs.World { return s.world }

// OldestServable is the oldest tick whose state a peer may hold when it is opened.
func (s *Server) OldestServable() ecs.Tick {
	if s.done < backlog-2 {
		return 0
	}
	return s.done - (backlog - 2)
}

// Open starts to serve a peer that holds State(have).
func (s *Server) Open(id systems.Peer, seatNumber int, have ecs.Tick, now systems.Time, out systems.Outbox) {
	p := &s.peers[id]
	*p = peer{open: true, seat: seatNumber, acked: have, opened: have, stats: p.stats, orders: ordersPerSecond, refill: now}
	p.stats.Acked = have
	for f := have + 1; f <= s.done+ecs.Tick(maxAhead/s.tickNs)+1; f++ {
		s.scratch.orders = s.orders.AppendAt(s.scratch.orders[:0], f)
		for _, o := range s.scratch.orders {
			out.Send(id, systems.Reliable, s.stamped(f, o))
		}
	}
}

// Close stops to serve a peer.
func (s *Server) Close(id systems.Peer) { s.peers[id] = peer{} }

// Receive takes a message from an open peer.
func (s *Server) Receive(id systems.Peer, ch systems.Channel, message []byte, now systems.Time) error {
	p := &s.peers[id]
	if !p.open || len(message) == 0 {
		return ErrMessage
	}
	switch message[0] {
	case kindInput:
		return s.receiveInput(p, message, now)
	case kindHash:
		return s.receiveHash(p, message)
	case kindOrder:
		return s.receiveOrder(p, message, now)
	}
	return ErrMessage
}

func (s *Server) receiveInput(p *peer, message []byte, now systems.Time) error {
	m := &s.scratch.input
	if err := m.read(message, s.done, s.game); err != nil {
		p.stats.Refused++
		return err
	}
	if m.received > p.acked && m.received <= s.done {
		p.acked, p.stats.Acked = m.received, m.received
	}
	if p.seat < 0 {
		return nil
	}
	st := &s.seats[p.seat]
	for i := range m.inputs {
		f := m.first + ecs.Tick(i)
		switch {
		case f+inputWindow/2 <= s.done: // so old that nothing of it matters any more
		case f >= s.done+inputWindow/2:
			p.stats.Refused++
		default:
			early := float64(f) - float64(s.done) - float64(now-s.due)/float64(s.tickNs)
			st.put(f, s.done, m.inputs[i], early, s.game)
		}
	}
	return nil
}

func (s *Server) receiveHash(p *peer, message []byte) error {
	var m hashMessage
	if err := m.read(message); err != nil {
		p.stats.Refused++
		return err
	}
	if m.tick <= p.opened {
		return nil // of the state before a resync
	}
	switch s.hashes.compare(m.tick, m.sum) {
	case hashEqual:
		p.stats.Checked++
	case hashDiffers:
		p.stats.Checked++
		p.stats.Desyncs++
		p.flaw = true
	}
	return nil
}

// Stamp enters an order into the match.
func (s *Server) Stamp(o ecs.Order, out systems.Outbox) ecs.Tick {
	f := s.done + s.ahead()
	if o.Kind == ecs.OrderJoin && int(o.Player) < len(s.seats) {
		s.seats[o.Player].vacate()
	}
	s.orders.Add(f, o)
	message := s.stamped(f, o)
	for id := range s.peers {
		if s.peers[id].open {
			out.Send(systems.Peer(id), systems.Reliable, message)
		}
	}
	return f
}

// ahead returns how many ticks ahead of the present an order is stamped: what the slowest peer's acknowledgements
// lag behind, at most 500 ms, at least 2.
func (s *Server) ahead() ecs.Tick {
	lag := ecs.Tick(0)
	for i := range s.peers {
		if p := &s.peers[i]; p.open {
			lag = max(lag, s.done-p.acked)
		}
	}
	return min(max(lag+1, 2), max(2, ecs.Tick(maxAhead/s.tickNs)))
}

func (s *Server) stamped(f ecs.Tick, o ecs.Order) []byte {
	w := wire.NewWriter(s.scratch.message[:0], systems.MaxReliable)
	w.U8(kindStamped)
	w.Uvarint(uint64(f))
	appendOrder(&w, o)
	s.scratch.message = w.Bytes()
	return s.scratch.message
}

// Tick computes the next tick from the inputs that are here; what is missing is substituted.
func (s *Server) Tick(due systems.Time) {
	f := s.done + 1
	inputs, marks := s.used.Row(f)
	var late ecs.PlayerSet
	joined := s.world.Players()
	for p := range s.seats {
		inputs[p], marks[p] = ecs.InputBytes{}, rollback.Confirmed
		if !joined.Has(ecs.Player(p)) {
			continue
		}
		in, substituted := s.seats[p].take(f, s.game)
		if s.game.Validate != nil && !s.game.Validate(s.world, ecs.Player(p), in) {
			in = ecs.InputBytes{}
		}
		inputs[p] = in
		if substituted {
			late |= 1 << p
			marks[p] = rollback.Substituted
		}
	}
	s.scratch.orders = s.orders.AppendAt(s.scratch.orders[:0], f)
	s.late[f%backlog], s.proofs[f%backlog] = late, rollback.DigestOrders(s.scratch.orders)
	s.world.Step(ecs.TickInputs{Players: inputs, Orders: s.scratch.orders})
	s.done, s.due = f, due
	s.orders.DropBefore(s.OldestServable())
	s.keep(f, inputs, late)
}

// keep saves and hashes the state where somebody needs it.
func (s *Server) keep(f ecs.Tick, inputs []ecs.InputBytes, late ecs.PlayerSet) {
	if s.config.Taken == nil && f%checkEvery != 0 {
		return
	}
	state := s.ring.Save(s.world)
	if f%checkEvery == 0 {
		s.hashes.add(f, state.Checksum())
	}
	if s.config.Taken != nil {
		s.config.Taken(systems.FinalTick{Tick: f, Inputs: inputs, Late: late, Orders: s.scratch.orders, World: s.world, State: state})
	}
}

// Send sends every open peer the ticks it has not acknowledged.
func (s *Server) Send(now systems.Time, out systems.Outbox) {
	for i := range s.wanted {
		s.Stamp(s.wanted[i], out)
		s.wanted[i] = ecs.Order{}
	}
	s.wanted = s.wanted[:0]
	for id := range s.peers {
		p := &s.peers[id]
		if !p.open || p.acked >= s.done {
			continue
		}
		if p.acked < s.OldestServable() {
			p.flaw = true
			continue
		}
		out.Send(systems.Peer(id), systems.Datagram, s.confirmation(p))
	}
}

// confirmation writes as many ticks after the peer's last acknowledged one as fit a datagram.
func (s *Server) confirmation(p *peer) []byte {
	head := confirmHead{first: p.acked + 1, count: int(min(s.done-p.acked, maxConfirms)), server: s.done}
	if p.seat >= 0 {
		if st := &s.seats[p.seat]; st.hasMargin {
			head.hasMargin, head.marginTick, head.margin = true, st.marginTick, st.margin
			st.hasMargin = false
		}
	}
	for {
		fits := s.writeTicks(&head)
		if fits == head.count {
			return s.scratch.message
		}
		head.count = fits
	}
}

// writeTicks writes a confirmation and returns how many of its ticks fitted.
func (s *Server) writeTicks(head *confirmHead) int {
	w := wire.NewWriter(s.scratch.message[:0], systems.MaxDatagram)
	head.append(&w)
	bits := wire.NewBitWriter(w.Bytes(), w.Room())
	before, _ := s.used.Row(head.first - 1)
	for i := range head.count {
		f := head.first + ecs.Tick(i)
		inputs, _ := s.used.Row(f)
		t := finalTick{inputs: inputs, late: s.late[f%backlog], orders: s.proofs[f%backlog]}
		t.append(&bits, before, s.game)
		if bits.Err() != nil {
			s.scratch.message = bits.Bytes()
			return i
		}
		before = inputs
	}
	s.scratch.message = bits.Bytes()
	return head.count
}

// Desynced calls f for each peer whose checksum differed since the last call.
func (s *Server) Desynced(f func(systems.Peer)) {
	for id := range s.peers {
		if p := &s.peers[id]; p.open && p.flaw {
			p.flaw = false
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
		st.Substituted, st.Late, st.Margin = seat.substituted, seat.lateInputs, seat.meanMargin
	}
	return st
}

// receiveOrder takes an order that a player asks for; it is stamped with the next Send.
func (s *Server) receiveOrder(p *peer, message []byte, now systems.Time) error {
	r := wire.NewReader(message)
	r.U8()
	o := readOrder(&r)
	if r.Close() != nil || o.Kind != ecs.OrderGame || p.seat < 0 {
		p.stats.Refused++
		return ErrMessage
	}
	if now-p.refill >= systems.Second {
		p.orders, p.refill = ordersPerSecond, now
	}
	if p.orders == 0 {
		p.stats.Refused++
		return nil
	}
	p.orders--
	o.Player, o.Payload = ecs.Player(p.seat), bytes.Clone(o.Payload)
	s.wanted = append(s.wanted, o)
	return nil
}
