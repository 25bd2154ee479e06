package reckon

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/interest"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/events"
	"tendon/systems/internal/inputs"
	"tendon/systems/internal/peers"
	"tendon/systems/motion"
	"tendon/systems/state"
)

// Server is the strategy's half on the server. World is in State(done); ring holds the states of the last ticks up to
// it, and events what they emitted. Each tick takes exactly one input of every player, runs the game's systems, and then
// puts every avatar that a client speaks for where its newest believed record leads. That enters the tick as orders of
// kind image.OrderMotion, so that whoever plays the match again computes the same.
type Server struct {
	config  systems.ServerConfig
	limits  Config
	world   *ecs.World
	game    *ecs.Game
	seat    *ecs.Component[ecs.Seat]
	steered *ecs.Query1[ecs.Seat, ecs.Seat]
	ring    *rollback.Snapshots
	changes *state.Changes
	events  events.Log
	seats   []inputs.Buffer
	altered []uint64 // by seat: ticks that used another input than the player sent
	peers   []peer
	avatars []avatar
	herald  herald
	sets    *interest.Sets   // nil: everybody hears of everything
	inputs  []ecs.InputBytes // used in tick done
	stamped inputs.Orders
	first   ecs.Tick    // the tick of the world that NewServer was given
	done    ecs.Tick    //
	urgent  ecs.Tick    // the last in which something came, went or cannot be taken back
	grid    inputs.Grid // the room's, up to tick done
	counts  ServerCounts

	scratch struct {
		orders   []image.Order
		payloads []byte // of the motions in orders
		message  []byte
		move     moveMessage
		snaps    []claim
	}
}

// The bounds of a tick's orders: a journal can count 255 in all.
const (
	maxPlaced = 127
	maxOrders = 255 - maxPlaced // what is beyond waits for the next tick
)

var _ systems.Server = (*Server)(nil)

func newServer(c systems.ServerConfig, limits Config) (systems.Server, error) {
	if err := checks.Server("reckon", &c); err != nil {
		return nil, err
	}
	game := c.World.Game()
	limits, err := limits.withDefaults(game)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, limits: limits, world: c.World, game: game, ring: rollback.NewSnapshots(limits.History),
		seats: make([]inputs.Buffer, game.MaxPlayers), altered: make([]uint64, game.MaxPlayers), peers: make([]peer, c.Peers),
		inputs: make([]ecs.InputBytes, game.MaxPlayers), first: c.World.Tick(), done: c.World.Tick(),
		grid: inputs.Grid{Tick: systems.Second / systems.Time(game.TickRate)}}
	if s.seat, err = seats(game); err != nil {
		return nil, err
	}
	s.steered = ecs.NewQuery1(ecs.Read(s.seat))
	s.events = events.NewLog(s.ring.Depth())
	for p := range s.seats {
		s.inputs[p] = s.world.Image().Input(ecs.Player(p))
		s.seats[p].Use(s.inputs[p])
	}
	if s.changes, err = state.NewChanges(game); err != nil {
		return nil, fmt.Errorf("reckon: %w", err)
	}
	if limits.Interest > 0 {
		if s.sets, err = interest.New(interest.Config{Radius: limits.Interest, Rate: game.TickRate}); err != nil {
			return nil, fmt.Errorf("reckon: %w", err)
		}
	}
	if s.limits.Remotes.Rules.Parent == nil {
		s.limits.Remotes.Rules.Parent = s.world.Image().Motion
	}
	s.herald.init(s)
	s.herald.observe(nil, s.ring.Save(s.world))
	s.changes.OmitPositions(s.herald.tells)
	s.changes.Observe(s.world)
	s.roster(0)
	return s, nil
}

// World is the match, in the state of the last tick.
func (s *Server) World() *ecs.World { return s.world }

// Done is the last tick computed.
func (s *Server) Done() ecs.Tick { return s.done }

// Counts returns what was counted.
func (s *Server) Counts() ServerCounts { return s.counts }

// OldestServable is the oldest tick whose state is kept.
func (s *Server) OldestServable() ecs.Tick {
	if depth := ecs.Tick(s.ring.Depth()); s.done >= s.first+depth {
		return s.done + 1 - depth
	}
	return s.first
}

// Stamp enters an order into the next tick that has room: clients hear of it in the state, so nobody needs to know
// before. It panics on an order that no peer would take.
func (s *Server) Stamp(o image.Order, _ systems.Outbox) ecs.Tick {
	checks.Stamp("reckon", &o, s.game)
	return s.done + 1 + s.stamped.Add(o, maxOrders)
}

// Tick computes the next tick from the inputs that are here; what is missing is substituted.
func (s *Server) Tick(due systems.Time) {
	f, altered := s.done+1, image.PlayerSet(0)
	s.scratch.orders = s.stamped.Next(s.scratch.orders[:0], maxOrders)
	joined := s.world.Players()
	for p := range s.seats {
		if !joined.Has(ecs.Player(p)) {
			s.inputs[p] = ecs.InputBytes{}
			s.seats[p].Vacant(f)
		} else if s.take(f, ecs.Player(p)) {
			altered |= 1 << p
		}
	}
	for i := range s.scratch.orders {
		if o := &s.scratch.orders[i]; o.Kind == image.OrderLeave {
			s.seats[o.Player].Vacant(f) // also where somebody joins in the same tick
		}
	}
	s.place(due)
	s.compute(f, altered)
	s.grid.At(due)
	s.roster(due)
	s.watch()
	s.herald.tell(due)
}

// take chooses the input of a player who is in the match; it reports whether that is another than he sent.
func (s *Server) take(f ecs.Tick, p ecs.Player) (altered bool) {
	in, altered := s.seats[p].Next(f, s.game)
	if s.game.Validate != nil && !s.game.Validate(s.world, p, in) {
		in, altered = ecs.InputBytes{}, true
		s.seats[p].Use(in)
	}
	if altered {
		s.altered[p]++
	}
	s.inputs[p] = in
	return altered
}

// Adopt computes the next tick from what is known to have entered it. Clients are sent states, so every tick will do.
func (s *Server) Adopt(t systems.FinalTick) error {
	checks.Adopt("reckon", t.Tick, s.done)
	clear(s.inputs)
	copy(s.inputs, t.Inputs)
	for p := range s.seats {
		s.seats[p].Use(s.inputs[p])
	}
	s.scratch.orders = append(s.scratch.orders[:0], t.Orders...)
	s.compute(t.Tick, 0)
	s.roster(0)
	return nil
}

// compute makes tick f final from s.inputs and s.scratch.orders.
func (s *Server) compute(f ecs.Tick, altered image.PlayerSet) {
	before, _ := s.ring.At(s.done)
	s.world.Step(ecs.TickInputs{Players: s.inputs, Orders: s.scratch.orders})
	s.done = f
	s.events.Add(s.world)
	for _, e := range s.world.Events() {
		if e.Irreversible {
			s.urgent = f
		}
	}
	state := s.ring.Save(s.world)
	image.SectionEncode.Enter(s.config.Observer) // what is told of the state begins with what has changed
	if s.herald.observe(before, state) {
		s.urgent = f
	}
	s.changes.Observe(s.world)
	image.SectionEncode.Leave(s.config.Observer)
	if s.config.Taken != nil {
		s.config.Taken(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: f, Inputs: s.inputs, Late: altered, Orders: s.scratch.orders}, World: s.world, State: state})
	}
	s.config.DecideByServer(s.world)
}

// Receive takes a message from an open peer.
func (s *Server) Receive(id systems.Peer, ch systems.Channel, message []byte, now systems.Time, _ systems.Outbox) error {
	p := &s.peers[id]
	if !p.open || len(message) == 0 {
		return ErrMessage
	}
	switch {
	case message[0] == kindMove || p.clock.owns(message): // on either channel: see kindMove of relay
		if !p.budget.AllowMessage(s.done) {
			p.stats.Refused++
			return nil
		}
		if message[0] != kindMove {
			return p.clock.Receive(message, now)
		}
		return s.receiveMove(p, message, now)
	case message[0] == kindOrder && ch == systems.Reliable:
		return s.receiveOrder(p, message)
	}
	p.stats.Refused++
	return ErrMessage
}

// receiveMove takes a player's inputs, records and acknowledgements, or a spectator's acknowledgements.
func (s *Server) receiveMove(p *peer, message []byte, now systems.Time) error {
	m := &s.scratch.move
	clientNow, known := p.clock.remote(now)
	near := p.near
	if known {
		near = motion.StampOf(clientNow)
	}
	err := m.read(message, s.done, near, s.game)
	if err == nil && (m.received > s.done || p.seat < 0 && len(m.done)+len(m.claims) > 0 || p.sender.Acked(m.ack) != nil) {
		err = ErrMessage
	}
	if err != nil {
		p.stats.Refused++
		return err
	}
	p.stats.Acked = max(p.stats.Acked, m.received)
	if m.helpless && p.resync == peers.InSync {
		p.stats.Desyncs++
		p.resync = peers.Needed
	}
	for _, h := range m.anchors {
		s.herald.held(p, h)
	}
	for i := range m.claims {
		s.claim(p, &m.claims[i], clientNow, known, now)
	}
	if p.seat < 0 {
		return nil
	}
	seat := &s.seats[p.seat]
	p.stats.Refused += uint64(seat.Receive(m.received+1, len(m.done), s.grid.Arrival(s.done, now), func(i int, f ecs.Tick) bool {
		return seat.Put(f, s.done, m.done[i], s.game)
	}))
	return nil
}

// receiveOrder takes an order that a player asks for, for the next tick.
func (s *Server) receiveOrder(p *peer, message []byte) error {
	target, payload, err := readRequest(message)
	if p.seat < 0 {
		err = ErrMessage
	}
	if err != nil || !s.world.Players().Has(ecs.Player(p.seat)) || !p.budget.AllowOrder(s.done) {
		p.stats.Refused++
		return err
	}
	s.Stamp(image.Order{Kind: image.OrderGame, Player: ecs.Player(p.seat), Entity: target, Payload: payload}, nil)
	return nil
}
