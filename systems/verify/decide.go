package verify

import (
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// decideCommands decides on the commands that arrived, and gives every player an input for the running tick.
func (s *Server) decideCommands() {
	s.scratch.numbers = append(s.scratch.numbers[:0], make([]uint64, len(s.Step.Orders))...)
	present := s.World().Players() // who are in the match before the tick and do not leave in it
	for i := range s.Step.Orders {
		if o := &s.Step.Orders[i]; o.Kind == image.OrderLeave {
			present = present.Without(o.Player)
		}
	}
	for p := range s.seats {
		seat := &s.seats[p]
		seat.held, seat.fresh = s.Game.Input.Predict(seat.held), false
		if !present.Has(ecs.Player(p)) {
			seat.held = ecs.InputBytes{} // of an earlier player
		}
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

// decide lets a command take effect in the running tick, or rejects it.
func (s *Server) decide(q *queued, present image.PlayerSet) {
	seat, c := &s.seats[q.player], &q.command
	why := Accepted
	switch {
	case !present.Has(q.player):
		why = ReasonAbsent
	case c.Kind == CommandInput:
		why = s.decideInput(seat, q.player, c.Input)
	case len(s.Step.Orders) >= maxOrders || !s.AllowOrder(q.player, c.Order):
		why = ReasonRate
	case s.DeclaredOrder(c.Order) != nil:
		why = ReasonInvalid
	default:
		s.Step.Orders = append(s.Step.Orders, c.order(q.player))
		s.scratch.numbers = append(s.scratch.numbers, c.Number)
	}
	seat.waiting--
	if why != Accepted {
		seat.reject(c.Number, why)
		if c.Kind == CommandOrder {
			o := c.order(q.player)
			s.Refuse(&o, reasonText[why])
		}
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
	if !s.Game.ConditionalOrders() || !slices.ContainsFunc(s.scratch.numbers, isCommand) {
		return
	}
	if s.rehearsal == nil {
		s.rehearsal = newRehearsal(s.Game)
	}
	state, _ := s.States.At(s.Done())
	refusals := s.rehearsal.of(state, ecs.TickInputs{Players: s.Step.Inputs, Orders: s.Step.Orders})
	kept := s.Step.Orders[:0]
	for i, o := range s.Step.Orders {
		if len(refusals) > 0 && refusals[0].Order == i {
			reason := refusals[0].Reason
			refusals = refusals[1:]
			if number := s.scratch.numbers[i]; number > 0 {
				s.seats[o.Player].reject(number, ReasonInvalid)
				s.Refuse(&o, reason)
				continue
			}
		}
		kept = append(kept, o)
	}
	s.Step.Orders = kept
}

// order returns the order of a command of kind CommandOrder.
func (c *Command) order(p ecs.Player) image.Order {
	return image.Order{Kind: image.OrderGame, Player: p, Entity: c.Target, Payload: c.Order, Number: c.Given}
}

var reasonText = [...]string{ReasonInvalid: image.ReasonDamaged, ReasonRate: image.ReasonTooMany, ReasonAbsent: image.ReasonAbsent}

// rehearsal finds the orders of a tick that will take effect. Each order is checked in the state that those before
// it have left. So it executes them in a copy of the match whose systems do nothing. The tick itself then holds no
// ineffective order, and the player of each rejected one receives an answer.
type rehearsal struct {
	world *ecs.World
	image []byte
}

func newRehearsal(game *ecs.Game) *rehearsal {
	bare := *game
	bare.Setup = nil
	bare.Systems = slices.Clone(game.Systems) // with their names: the copy takes images of the match
	for i := range bare.Systems {
		bare.Systems[i].Run = func(*ecs.World) {}
	}
	world, err := ecs.NewWorld(&bare, 0)
	if err != nil {
		panic(fmt.Sprintf("verify: the game was changed after its world was made: %v", err))
	}
	return &rehearsal{world: world}
}

// of returns the orders that the tick after a state refuses. They are valid until the next call.
func (r *rehearsal) of(state *image.Snapshot, tick ecs.TickInputs) []ecs.Refusal {
	r.image = state.AppendImage(r.image[:0])
	if err := r.world.Image().Load(r.image); err != nil {
		panic(fmt.Sprintf("verify: a copy of the match does not take its state: %v", err))
	}
	r.world.Step(tick)
	return r.world.Refusals()
}
