package relay

import (
	"bytes"
	"fmt"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/inputs"
	"tendon/systems/internal/peers"
	"tendon/systems/vote"
)

// Server is the relay's half on the server. World is in State(done); the input sets of ticks (done − backlog, done]
// are in codes. Every open peer has acknowledged some tick in that window and is sent all that follow it, or its flaw
// is set.
type Server struct {
	config  systems.ServerConfig
	world   *ecs.World
	game    *ecs.Game
	seats   []seat
	peers   []peer
	codes   codes
	inputs  []ecs.InputBytes // used in tick done
	before  []ecs.InputBytes // used in the tick before
	orders  rollback.OrderLog
	stamped stampedOrder // the last one
	wanted  []ecs.Order  // asked for by players, not stamped yet
	hashes  hashes
	ring    *rollback.Snapshots
	first   ecs.Tick // ticks after it are known: the tick of the world that NewServer was given, or of what was before it
	done    ecs.Tick
	grid    inputs.Grid // the room's, up to tick done

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

var _ systems.Server = (*Server)(nil)

// NewServer returns the server's half for a world.
func NewServer(c systems.ServerConfig) (systems.Server, error) {
	if err := checks.Server("relay", &c); err != nil {
		return nil, err
	}
	game := c.World.Game()
	if err := checkGame(game); err != nil {
		return nil, err
	}
	s := &Server{config: c, world: c.World, game: game, seats: make([]seat, game.MaxPlayers), peers: make([]peer, c.Peers),
		codes: newCodes(game), inputs: make([]ecs.InputBytes, game.MaxPlayers), before: make([]ecs.InputBytes, game.MaxPlayers),
		ring: rollback.NewSnapshots(2), grid: inputs.Grid{Tick: systems.Second / systems.Time(game.TickRate)}, first: c.World.Tick(), done: c.World.Tick()}
	for p := range s.inputs {
		s.inputs[p] = s.world.InputOf(ecs.Player(p))
		s.seats[p].Use(s.inputs[p])
	}
	s.past()
	return s, nil
}

// World is the match, in the state of the last tick.
func (s *Server) World() *ecs.World { return s.world }

// Done is the last tick computed.
func (s *Server) Done() ecs.Tick { return s.done }

// OldestServable is the oldest tick whose state a peer may hold when it is opened.
func (s *Server) OldestServable() ecs.Tick {
	if s.done < s.first+backlog {
		return s.first
	}
	return s.done - backlog
}

// Stamp enters an order into the match. Stamps never fall: orders are executed in the order in which they were
// stamped. It panics on an order that no peer would take.
func (s *Server) Stamp(o ecs.Order, out systems.Outbox) ecs.Tick {
	checks.Stamp("relay", &o, s.game)
	next := stampedOrder{tick: max(s.done+s.ahead(), s.stamped.tick), order: o}
	if next.tick == s.stamped.tick {
		if next.number = s.stamped.number + 1; next.number == maxOrdersPerTick {
			next.tick, next.number = next.tick+1, 0
		}
	}
	s.stamped = next
	s.stamped.order.Payload = nil // the caller's
	s.orders.Add(next.tick, o)
	s.scratch.message = next.append(s.scratch.message[:0])
	for id := range s.peers {
		if s.peers[id].open {
			out.Send(systems.Peer(id), systems.Reliable, s.scratch.message)
		}
	}
	return next.tick
}

// ahead returns how many ticks ahead of the present an order is stamped: what the slowest peer's acknowledgements
// lag behind, which is its way to here and back, at most 500 ms, at least 2.
func (s *Server) ahead() ecs.Tick {
	lag := ecs.Tick(0)
	for i := range s.peers {
		if p := &s.peers[i]; p.open && s.done > p.acked {
			lag = max(lag, s.done-p.acked)
		}
	}
	return min(max(lag+1, 2), max(2, ecs.Tick(maxAhead/s.grid.Tick)))
}

// Tick computes the next tick from the inputs that are here; what is missing is substituted.
func (s *Server) Tick(due systems.Time) {
	f := s.done + 1
	s.inputs, s.before = s.before, s.inputs
	t := finalTick{inputs: s.inputs}
	joined := s.world.Players()
	for p := range s.seats {
		if joined.Has(ecs.Player(p)) {
			in, altered := s.take(f, ecs.Player(p))
			if s.inputs[p] = in; altered {
				t.altered |= 1 << p
			}
		} else {
			s.inputs[p] = ecs.InputBytes{}
			s.seats[p].vacant(f)
		}
	}
	s.scratch.orders = s.orders.AppendAt(s.scratch.orders[:0], f)
	for i := range s.scratch.orders {
		if o := &s.scratch.orders[i]; o.Kind == ecs.OrderLeave {
			s.seats[o.Player].vacant(f) // also where somebody joins in the same tick
		}
	}
	s.compute(f, &t)
	s.grid.At(due)
}

// Adopt computes the next tick from what is known to have entered it. The error is that of a tick with more orders than
// one can have.
func (s *Server) Adopt(final systems.FinalTick) error {
	checks.Adopt("relay", final.Tick, s.done)
	if len(final.Orders) > maxOrdersPerTick {
		return fmt.Errorf("relay: tick %d has %d orders, at most %d", final.Tick, len(final.Orders), maxOrdersPerTick)
	}
	for i := range final.Orders {
		if kind := final.Orders[i].Kind; !kind.Shared() {
			return fmt.Errorf("relay: tick %d has an order of kind %d, which no client would take", final.Tick, kind)
		}
	}
	s.inputs, s.before = s.before, s.inputs
	copy(s.inputs, final.Inputs)
	for p := range s.seats {
		s.seats[p].Use(s.inputs[p])
	}
	for _, o := range final.Orders {
		s.orders.Add(final.Tick, o)
	}
	s.scratch.orders = s.orders.AppendAt(s.scratch.orders[:0], final.Tick)
	s.stamped = stampedOrder{tick: final.Tick, number: len(final.Orders)}
	s.compute(final.Tick, &finalTick{inputs: s.inputs})
	return nil
}

// compute makes tick f final from s.inputs and s.scratch.orders.
func (s *Server) compute(f ecs.Tick, t *finalTick) {
	t.orders = uint32(rollback.DigestOrders(s.scratch.orders))
	s.codes.add(f, t, s.before, s.game)
	s.world.Step(ecs.TickInputs{Players: s.inputs, Orders: s.scratch.orders})
	s.done = f
	s.orders.DropBefore(s.OldestServable() + 1)
	s.keep(f, t)
	s.config.DecideByServer(s.world)
}

// take returns the input of a player who is in the match.
func (s *Server) take(f ecs.Tick, p ecs.Player) (in ecs.InputBytes, altered bool) {
	in, altered = s.seats[p].Next(f, s.game)
	if s.game.Validate != nil && !s.game.Validate(s.world, p, in) {
		s.seats[p].Use(ecs.InputBytes{})
		return ecs.InputBytes{}, true
	}
	return in, altered
}

// keep saves and hashes the state where somebody needs it.
func (s *Server) keep(f ecs.Tick, t *finalTick) {
	var state *ecs.Snapshot
	if s.config.States || f%checkEvery == 0 {
		state = s.ring.Save(s.world)
	}
	if f%checkEvery == 0 {
		s.hashes.add(f, state.Checksum())
	}
	if s.config.Taken != nil {
		s.config.Taken(systems.FinalTick{Tick: f, Inputs: s.inputs, Late: t.altered, Orders: s.scratch.orders, World: s.world, State: state})
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
		switch {
		case !p.open || p.acked >= s.done:
		case p.acked < s.OldestServable():
			p.resync.Request()
		default:
			s.repeatOrders(systems.Peer(id), out)
			out.Send(systems.Peer(id), systems.Datagram, s.confirmation(p))
		}
	}
}

// confirmation writes as many ticks after the peer's last acknowledged one as fit a datagram. Where not all fit, the
// next confirmation goes on where this one ended, and the one that reaches the present is followed by one that begins
// anew: else a connection on which more ticks are under way than fit would be told no more than those in each round trip.
func (s *Server) confirmation(p *peer) []byte {
	head := confirmHead{first: max(p.acked, p.told) + 1}
	head.count = s.codes.fit(head.first, s.done, systems.MaxDatagram-headBytes)
	head.more = s.done - head.last()
	if p.told = head.last(); head.more == 0 {
		p.told = 0
	}
	if p.seat >= 0 {
		head.margin, head.hasMargin = s.seats[p.seat].PopWorst()
	}
	w := wire.NewWriter(s.scratch.message[:0], systems.MaxDatagram)
	head.append(&w)
	bits := wire.NewBitWriter(w.Bytes(), w.Room())
	for f := head.first; f <= head.last(); f++ {
		s.codes.append(&bits, f)
	}
	s.scratch.message = bits.Bytes()
	return s.scratch.message
}

// receiveInput takes a player's inputs, or a spectator's acknowledgement.
func (s *Server) receiveInput(p *peer, message []byte, now systems.Time) error {
	if !p.budget.AllowMessage(s.done) {
		p.stats.Refused++
		return nil
	}
	m := &s.scratch.input
	err := m.read(message, s.done, s.game)
	if err == nil && (m.received > s.done || p.seat < 0 && len(m.inputs) > 0) {
		err = ErrMessage
	}
	if err != nil {
		p.stats.Refused++
		return err
	}
	// The last word counts, not the highest: what was sent before an image was loaded may come after it. One that was
	// overtaken only makes the next confirmation longer.
	if m.received >= s.OldestServable() {
		p.acked, p.stats.Acked = m.received, m.received
	}
	if p.seat < 0 {
		return nil
	}
	seat := &s.seats[p.seat]
	p.stats.Refused += uint64(seat.Receive(m.received+1, len(m.inputs), s.grid.Arrival(s.done, now), func(i int, f ecs.Tick) bool {
		return seat.Put(f, s.done, m.inputs[i], s.game)
	}))
	return nil
}

func (s *Server) receiveHash(p *peer, message []byte) error {
	var m hashMessage
	if err := m.read(message); err != nil {
		p.stats.Refused++
		return err
	}
	if m.tick <= p.opened || p.resync != peers.InSync {
		return nil // of a state that a resync has replaced or will replace
	}
	switch s.hashes.compare(m.tick, m.sum) {
	case hashEqual:
		p.stats.Checked++
	case hashDiffers:
		p.stats.Checked++
		p.stats.Desyncs++
		p.stats.Differed, p.stats.Claim = m.tick, m.sum
		p.resync.Request()
		p.stats.Expelled = s.strike(p) >= vote.MaxStrikes
	}
	return nil
}

// strike counts that a peer's state differed and returns how often it has: a player's over all connections, until he
// leaves the match, a spectator's on this one.
func (s *Server) strike(p *peer) int {
	if p.seat < 0 {
		return int(p.stats.Desyncs)
	}
	seat := &s.seats[p.seat]
	seat.strikes++
	return seat.strikes
}

// receiveOrder takes an order that a player asks for; it is stamped with the next Send.
func (s *Server) receiveOrder(p *peer, message []byte) error {
	target, payload, err := readRequest(message)
	if p.seat < 0 {
		err = ErrMessage
	}
	if err != nil || !s.world.Players().Has(ecs.Player(p.seat)) || !p.budget.AllowOrder(s.done) {
		p.stats.Refused++
		return err
	}
	s.wanted = append(s.wanted, ecs.Order{Kind: ecs.OrderGame, Player: ecs.Player(p.seat), Entity: target, Payload: bytes.Clone(payload)})
	return nil
}
