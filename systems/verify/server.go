package verify

import (
	"bytes"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/events"
)

// Server is the strategy's half on the server. World is in State(done); ring holds the states of the last ticks up to
// it, and events what they emitted. The commands in queue came since tick done and are decided on in the next.
type Server struct {
	config  systems.ServerConfig
	limits  Config
	world   *ecs.World
	game    *ecs.Game
	ring    *rollback.Snapshots
	events  events.Log
	seats   []seat
	peers   []peer
	queue   queue
	stamped []image.Order // for the next tick
	inputs  []ecs.InputBytes
	first   ecs.Tick // the tick of the world that NewServer was given
	done    ecs.Tick
	deltas  deltas

	rehearsal *rehearsal // nil until there is something to rehearse

	scratch struct {
		orders  []image.Order
		numbers []uint64 // the commands that orders were, 0 for those that were stamped
		ask     askMessage
		state   stateMessage
		message []byte
		piece   []byte
	}
}

var _ systems.Server = (*Server)(nil)

func newServer(c systems.ServerConfig, limits Config) (systems.Server, error) {
	limits, err := limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checks.Server("verify", &c); err != nil {
		return nil, err
	}
	game := c.World.Game()
	s := &Server{config: c, limits: limits, world: c.World, game: game, ring: rollback.NewSnapshots(limits.History),
		seats: make([]seat, game.MaxPlayers), peers: make([]peer, c.Peers), inputs: make([]ecs.InputBytes, game.MaxPlayers),
		first: c.World.Tick(), done: c.World.Tick()}
	s.events = events.NewLog(s.ring.Depth())
	before := uint64(s.done) * numbersPerTick
	for p := range s.seats {
		s.seats[p] = seat{first: 1, newest: before, decided: before, held: s.world.Image().Input(ecs.Player(p)), inputs: limits.InputBurst, orders: limits.OrderBurst * game.TickRate}
	}
	s.ring.Save(s.world)
	return s, nil
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

// Stamp enters an order into the next tick: clients simulate nothing, so nobody needs to hear of it before. It panics
// on an order that no peer would take.
func (s *Server) Stamp(o image.Order, _ systems.Outbox) ecs.Tick {
	checks.Stamp("verify", &o, s.game)
	o.Payload = bytes.Clone(o.Payload) // the caller's
	s.stamped = append(s.stamped, o)
	return s.done + 1
}

// Tick decides on the commands that have come, and computes the next tick.
func (s *Server) Tick(systems.Time) {
	present := s.present()
	s.scratch.orders = append(s.scratch.orders[:0], s.stamped...)
	s.scratch.numbers = append(s.scratch.numbers[:0], make([]uint64, len(s.stamped))...)
	for p := range s.seats {
		s.seats[p].begin(present.Has(ecs.Player(p)), s.game, &s.limits)
	}
	for i := range s.queue.list {
		s.decide(&s.queue.list[i], present)
	}
	for p := range s.seats {
		s.seats[p].decided = s.seats[p].newest
		s.inputs[p] = s.input(ecs.Player(p))
	}
	s.decideOrders()
	s.compute()
	s.queue.reset()
	for i := range s.peers {
		s.peers[i].refill()
	}
}

// present returns the players who are in the match before the next tick and not about to leave.
func (s *Server) present() ecs.PlayerSet {
	set := s.world.Players()
	for i := range s.stamped {
		if o := &s.stamped[i]; o.Kind == image.OrderLeave {
			set &^= 1 << o.Player
		}
	}
	return set
}

// decide lets a command take effect in the next tick, or rejects it.
func (s *Server) decide(w *waiting, present ecs.PlayerSet) {
	seat, c, p := &s.seats[w.seat], &w.command, ecs.Player(w.seat)
	why := Accepted
	switch {
	case !present.Has(p):
		why = ReasonAbsent
	case c.Kind == CommandInput:
		why = s.decideInput(seat, p, c.Input)
	case len(s.scratch.orders) >= maxOrders || !seat.mayOrder(s.game.TickRate):
		why = ReasonRate
	default:
		s.scratch.orders = append(s.scratch.orders, image.Order{Kind: image.OrderGame, Player: p, Entity: c.Target, Payload: c.Order})
		s.scratch.numbers = append(s.scratch.numbers, c.Number)
	}
	seat.waiting--
	if why != Accepted {
		seat.reject(c.Number, why)
	}
}

// decideOrders rejects the orders that the game refuses. s.scratch.numbers are the commands they were, 0 for others'.
func (s *Server) decideOrders() {
	if s.game.Order == nil || s.game.ValidateOrder == nil || len(s.scratch.orders) == len(s.stamped) {
		return
	}
	if s.rehearsal == nil {
		s.rehearsal = newRehearsal(s.game)
	}
	state, _ := s.ring.At(s.done)
	verdict := s.rehearsal.of(state, ecs.TickInputs{Players: s.inputs, Orders: s.scratch.orders})
	kept := s.scratch.orders[:0]
	for i, o := range s.scratch.orders {
		if o.Kind == image.OrderGame {
			ok := verdict[0]
			verdict = verdict[1:]
			if number := s.scratch.numbers[i]; !ok && number > 0 {
				s.seats[o.Player].reject(number, ReasonInvalid)
				continue
			}
		}
		kept = append(kept, o)
	}
	s.scratch.orders = kept
}

// decideInput makes an input the one that the player holds. If he said something else in this tick before, no press of
// that is lost; then what comes of both must be allowed as well.
func (s *Server) decideInput(seat *seat, p ecs.Player, in ecs.InputBytes) Reason {
	if !seat.mayChange() {
		return ReasonRate
	}
	held := in
	if seat.said {
		held = s.game.Input.MergeLate(seat.held, in)
	}
	if !s.allowed(p, in) || held != in && !s.allowed(p, held) {
		return ReasonInvalid
	}
	seat.held, seat.said = held, true
	return Accepted
}

func (s *Server) allowed(p ecs.Player, in ecs.InputBytes) bool {
	return s.game.Validate == nil || s.game.Validate(s.world, p, in)
}

// input returns the input of a player for the next tick. One that was allowed when he began to hold it and is not any
// more does nothing for as long as that is so: systems never see an input that the game refuses.
func (s *Server) input(p ecs.Player) ecs.InputBytes {
	seat := &s.seats[p]
	if !seat.said && seat.held != (ecs.InputBytes{}) && !s.allowed(p, seat.held) {
		return ecs.InputBytes{}
	}
	return seat.held
}

// Adopt computes the next tick from what is known to have entered it. Clients are sent states, so every tick will do.
func (s *Server) Adopt(t systems.FinalTick) error {
	checks.Adopt("verify", t.Tick, s.done)
	clear(s.inputs)
	copy(s.inputs, t.Inputs)
	for p := range s.seats {
		s.seats[p].held = s.inputs[p]
	}
	s.scratch.orders = append(s.scratch.orders[:0], t.Orders...)
	s.compute()
	return nil
}

// compute makes the next tick final from s.inputs and s.scratch.orders.
func (s *Server) compute() {
	s.world.Step(ecs.TickInputs{Players: s.inputs, Orders: s.scratch.orders})
	s.done++
	clear(s.stamped)
	s.stamped = s.stamped[:0]
	s.events.Add(s.world)
	state := s.ring.Save(s.world)
	s.deltas.reset()
	if s.config.Taken != nil {
		s.config.Taken(systems.FinalTick{Tick: s.done, Inputs: s.inputs, Orders: s.scratch.orders, World: s.world, State: state})
	}
	s.config.DecideByServer(s.world)
}
