package authority

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/internal/inputs"
)

// Seat holds the inputs of one player, over all of their connections.
type Seat struct {
	inputs.Buffer
	Altered uint64 // ticks that used another input than the player sent
}

// useInputs makes the inputs in Step those that the next substitutes are predicted from.
func (s *Server[C, P]) useInputs() {
	for p := range s.Seats {
		s.Seats[p].Use(s.Step.Inputs[p])
	}
}

// ChooseInputs gives each player in the match one input for the running tick: the player's own or a substitute. Others get
// none. It is a system of phase Reconcile.
func (s *Server[C, P]) ChooseInputs() {
	f, joined := s.done+1, s.World().Players()
	for p := range s.Seats {
		if !joined.Has(ecs.Player(p)) {
			s.Step.Inputs[p] = ecs.InputBytes{}
			s.vacate(f, ecs.Player(p))
			continue
		}
		in, altered := s.choose(f, ecs.Player(p))
		s.Step.Inputs[p] = in
		if altered {
			s.Seats[p].Altered++
			s.Step.Late = s.Step.Late.With(ecs.Player(p))
		}
	}
}

// vacateLeavers makes the inputs of players who leave in the running tick end, even if others join with their seats in it.
func (s *Server[C, P]) vacateLeavers() {
	for i := range s.Step.Orders {
		if o := &s.Step.Orders[i]; o.Kind == image.OrderLeave {
			s.vacate(s.done+1, o.Player)
		}
	}
}

// choose returns the input of a player in the match, empty if the game refuses it.
func (s *Server[C, P]) choose(f ecs.Tick, p ecs.Player) (in ecs.InputBytes, altered bool) {
	seat := &s.Seats[p]
	in, altered = seat.Next(f, s.Game)
	if s.Game.Validate != nil && !s.Game.Validate(s.World(), p, in) {
		seat.Use(ecs.InputBytes{})
		return ecs.InputBytes{}, true
	}
	return in, altered
}

// vacate makes the inputs of an earlier player end with tick f.
func (s *Server[C, P]) vacate(f ecs.Tick, p ecs.Player) {
	s.Seats[p].Vacant(f)
	if s.config.Vacate != nil {
		s.config.Vacate(f, p)
	}
}

// ReceiveInputs stores a player's inputs of the ticks from first on, which a message brought.
func (s *Server[C, P]) ReceiveInputs(m systems.Message, first ecs.Tick, in []ecs.InputBytes) {
	s.ReceiveEntries(m, first, len(in), func(i int) inputs.Entry { return inputs.Entry{In: in[i]} })
}

// ReceiveEntries stores a player's inputs and views of count ticks from first on, which a message brought.
func (s *Server[C, P]) ReceiveEntries(m systems.Message, first ecs.Tick, count int, entry func(i int) inputs.Entry) {
	p := &s.Peers[m.From]
	p.Stats.Refused += uint64(s.Seats[p.Seat].Receive(first, count, s.Grid.Arrival(s.done, m.Now), s.Game, entry))
}
