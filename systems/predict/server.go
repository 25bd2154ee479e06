package predict

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/events"
	"tendon/systems/internal/inputs"
	"tendon/systems/lagcomp"
	"tendon/systems/state"
)

// Server is the strategy's half on the server. World is in State(done); ring holds the states of the last ticks up to
// it, and events what they emitted. Each tick takes exactly one input of every player.
type Server struct {
	config  systems.ServerConfig
	limits  Config
	world   *ecs.World
	game    *ecs.Game
	ring    *rollback.Snapshots
	events  events.Log
	changes *state.Changes
	judge   *lagcomp.Judge // nil: all is judged as it is
	hearers *audience      // nil: everybody hears of everything
	seats   []seat
	peers   []peer
	inputs  []ecs.InputBytes // used in tick done
	stamped inputs.Orders
	first   ecs.Tick // the tick of the world that NewServer was given
	done    ecs.Tick
	grid    inputs.Grid // the room's, up to tick done
	// everything is the interest of one who hears of all.
	everything iter.Seq2[ecs.Entity, float32]

	scratch struct {
		orders  []image.Order
		stamps  []byte // payloads of the views in orders
		message []byte
		input   inputMessage
	}
}

// maxOrders bounds the orders of one tick beside the players' views; what is beyond waits for the next. A journal can
// count 255 in all.
const maxOrders = 255 - image.MaxPlayers

var _ systems.Server = (*Server)(nil)

func newServer(c systems.ServerConfig, limits Config) (systems.Server, error) {
	limits, err := limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checks.Server("predict", &c); err != nil {
		return nil, err
	}
	game := c.World.Game()
	s := &Server{config: c, limits: limits, world: c.World, game: game, ring: rollback.NewSnapshots(limits.History),
		seats: make([]seat, game.MaxPlayers), peers: make([]peer, c.Peers), inputs: make([]ecs.InputBytes, game.MaxPlayers),
		first: c.World.Tick(), done: c.World.Tick(), grid: inputs.Grid{Tick: systems.Second / systems.Time(game.TickRate)}}
	s.events = events.NewLog(s.ring.Depth())
	for p := range s.seats {
		s.inputs[p] = s.world.Image().Input(ecs.Player(p))
		s.seats[p].Use(s.inputs[p])
	}
	if s.changes, err = state.NewChanges(game); err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	s.everything = s.changes.All
	first := s.ring.Save(s.world)
	s.changes.Observe(s.world)
	if limits.Interest > 0 {
		if s.hearers, err = newAudience(s.changes, limits.Interest, game.TickRate); err != nil {
			return nil, fmt.Errorf("predict: Config.Interest: %w", err)
		}
		s.hearers.follow(first, s.peers)
	}
	if limits.MaxView > 0 {
		s.world.Image().SetPast(s.ring.At)
		s.judge, err = lagcomp.NewJudge(lagcomp.Config{TickRate: game.TickRate, Cap: limits.MaxView, Past: s.ring.At})
	}
	return s, err
}

// World is the match, in the state of the last tick.
func (s *Server) World() *ecs.World { return s.world }

// Done is the last tick computed.
func (s *Server) Done() ecs.Tick { return s.done }

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
	checks.Stamp("predict", &o, s.game)
	return s.done + 1 + s.stamped.Add(o, maxOrders)
}

// Tick computes the next tick from the inputs that are here; what is missing is substituted.
func (s *Server) Tick(due systems.Time) {
	f, altered := s.done+1, ecs.PlayerSet(0)
	s.scratch.stamps = s.scratch.stamps[:0]
	s.scratch.orders = s.stamped.Next(s.scratch.orders[:0], maxOrders)
	joined := s.world.Players()
	for p := range s.seats {
		if !joined.Has(ecs.Player(p)) {
			s.inputs[p] = ecs.InputBytes{}
			s.seats[p].vacant(f)
		} else if s.take(f, ecs.Player(p)) {
			altered |= 1 << p
		}
	}
	for i := range s.scratch.orders {
		if o := &s.scratch.orders[i]; o.Kind == image.OrderLeave {
			s.seats[o.Player].vacant(f) // also where somebody joins in the same tick
		}
	}
	s.compute(f, altered)
	s.grid.At(due)
}

// take chooses the input of a player who is in the match, and enters what he saw. It reports whether the input is
// another than he sent.
func (s *Server) take(f ecs.Tick, p ecs.Player) (altered bool) {
	seat := &s.seats[p]
	e, altered := seat.take(f, s.game)
	if s.game.Validate != nil && !s.game.Validate(s.world, p, e.in) {
		e.in = ecs.InputBytes{}
		if seat.Use(e.in); !altered {
			seat.altered++
		}
		altered = true
	}
	s.inputs[p] = e.in
	if view := s.view(f, p, e.view); view.Tick > 0 {
		from := len(s.scratch.stamps)
		s.scratch.stamps = image.AppendViewStamp(s.scratch.stamps, view)
		payload := s.scratch.stamps[from:len(s.scratch.stamps):len(s.scratch.stamps)]
		s.scratch.orders = append(s.scratch.orders, image.Order{Kind: image.OrderView, Player: p, Payload: payload})
	}
	return altered
}

// Adopt computes the next tick from what is known to have entered it. Clients are sent states, so every tick will do.
func (s *Server) Adopt(t systems.FinalTick) error {
	checks.Adopt("predict", t.Tick, s.done)
	clear(s.inputs)
	copy(s.inputs, t.Inputs)
	for p := range s.seats {
		s.seats[p].Use(s.inputs[p])
	}
	s.scratch.orders = append(s.scratch.orders[:0], t.Orders...)
	s.compute(t.Tick, 0)
	return nil
}

// compute makes tick f final from s.inputs and s.scratch.orders.
func (s *Server) compute(f ecs.Tick, altered ecs.PlayerSet) {
	s.world.Step(ecs.TickInputs{Players: s.inputs, Orders: s.scratch.orders})
	s.done = f
	s.events.Add(s.world)
	state := s.ring.Save(s.world)
	image.SectionEncode.Enter(s.config.Observer) // what is told of the state begins with what has changed
	s.changes.Observe(s.world)
	if s.hearers != nil {
		s.hearers.follow(state, s.peers)
		for i := range s.peers {
			if p := &s.peers[i]; p.open {
				p.events.Add(s.world)
			}
		}
	}
	image.SectionEncode.Leave(s.config.Observer)
	if s.config.Taken != nil {
		s.config.Taken(systems.FinalTick{Tick: f, Inputs: s.inputs, Late: altered, Orders: s.scratch.orders, World: s.world, State: state})
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
	case message[0] == kindInput: // on either channel: where datagrams do not get through, all goes on the other
		return s.receiveInput(p, message, now)
	case message[0] == kindOrder && ch == systems.Reliable:
		return s.receiveOrder(p, message)
	}
	p.stats.Refused++
	return ErrMessage
}

// receiveInput takes a player's inputs and his acknowledgement, or a spectator's.
func (s *Server) receiveInput(p *peer, message []byte, now systems.Time) error {
	if !p.budget.AllowMessage(s.done) {
		p.stats.Refused++
		return nil
	}
	m := &s.scratch.input
	err := m.read(message, s.done, s.game)
	if err == nil && (m.received > s.done || p.seat < 0 && len(m.done) > 0) {
		err = ErrMessage
	}
	if err == nil {
		err = s.hear(p, m, now)
	}
	if err != nil {
		p.stats.Refused++
		return err
	}
	if p.seat < 0 {
		return nil
	}
	seat := &s.seats[p.seat]
	p.stats.Refused += uint64(seat.Receive(m.received+1-ecs.Tick(m.back), len(m.done), s.grid.Arrival(s.done, now), func(i int, f ecs.Tick) bool {
		return seat.put(f, s.done, m.done[i], s.game)
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
