package verify

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// decideCommands decides on the commands that arrived, and gives every player an input for the running tick.
func (s *Server) decideCommands() {
	s.scratch.numbers = append(s.scratch.numbers[:0], make([]uint64, len(s.Step.Orders))...)
	present := s.present()
	for p := range s.seats {
		s.seats[p].begin(present.Has(ecs.Player(p)), s.Game)
	}
	for i := range s.queue {
		s.decide(&s.queue[i], present)
	}
	clear(s.queue)
	s.queue = s.queue[:0]
	for p := range s.seats {
		s.seats[p].decided = s.seats[p].newest
		s.Step.Inputs[p] = s.input(ecs.Player(p))
	}
}

// present returns the players who are in the match before the running tick and do not leave in it.
func (s *Server) present() image.PlayerSet {
	set := s.World().Players()
	for i := range s.Step.Orders {
		if o := &s.Step.Orders[i]; o.Kind == image.OrderLeave {
			set = set.Without(o.Player)
		}
	}
	return set
}

// decide lets a command take effect in the running tick, or rejects it.
func (s *Server) decide(q *queued, present image.PlayerSet) {
	seat, c, f := &s.seats[q.player], &q.command, s.Done()+1
	why := Accepted
	switch {
	case !present.Has(q.player):
		why = ReasonAbsent
	case c.Kind == CommandInput:
		why = s.decideInput(seat, q.player, c.Input)
	case len(s.Step.Orders) >= maxOrders || !seat.orders.Allow(ecs.Tick(s.settings.OrdersPerSecond)*f):
		why = ReasonRate
	default:
		s.Step.Orders = append(s.Step.Orders, image.Order{Kind: image.OrderGame, Player: q.player, Entity: c.Target, Payload: c.Order})
		s.scratch.numbers = append(s.scratch.numbers, c.Number)
	}
	seat.waiting--
	if why != Accepted {
		seat.reject(c.Number, why)
	}
}

// decideInput makes an input the one that a player holds. Of two inputs in one tick no press is lost: they are merged, and
// the merged input must be allowed, too.
func (s *Server) decideInput(seat *commandSeat, p ecs.Player, in ecs.InputBytes) Reason {
	if !seat.inputs.Allow(ecs.Tick(s.settings.InputsPerTick) * (s.Done() + 1)) {
		return ReasonRate
	}
	held := in
	if seat.fresh {
		held = s.Game.Input.MergeLate(seat.held, in)
	}
	if !s.allowed(p, in) || held != in && !s.allowed(p, held) {
		return ReasonInvalid
	}
	seat.held, seat.fresh = held, true
	return Accepted
}

func (s *Server) allowed(p ecs.Player, in ecs.InputBytes) bool {
	return s.Game.Validate == nil || s.Game.Validate(s.World(), p, in)
}

// input returns the input of a player for the running tick. An input that the game has accepted and refuses now has no
// effect while it is refused: systems never see it.
func (s *Server) input(p ecs.Player) ecs.InputBytes {
	seat := &s.seats[p]
	if !seat.fresh && seat.held != (ecs.InputBytes{}) && !s.allowed(p, seat.held) {
		return ecs.InputBytes{}
	}
	return seat.held
}

// checkOrders rejects the commands that the game refuses.
func (s *Server) checkOrders() {
	isCommand := func(number uint64) bool { return number > 0 }
	if s.Game.Order == nil || s.Game.ValidateOrder == nil || !slices.ContainsFunc(s.scratch.numbers, isCommand) {
		return
	}
	if s.rehearsal == nil {
		s.rehearsal = newRehearsal(s.Game)
	}
	state, _ := s.States.At(s.Done())
	verdict := s.rehearsal.of(state, ecs.TickInputs{Players: s.Step.Inputs, Orders: s.Step.Orders})
	kept := s.Step.Orders[:0]
	for i, o := range s.Step.Orders {
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
	s.Step.Orders = kept
}
