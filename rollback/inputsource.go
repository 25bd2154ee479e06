package rollback

import (
	"math/rand/v2"

	"tendon/ecs"
	"tendon/ecs/image"
)

// inputSource makes the inputs and orders of a SyncTest whose caller sets none.
type inputSource struct {
	game  *ecs.Game
	world *ecs.World
	rand  *rand.Rand
	bot   *ecs.Rand
}

// input returns p's input in the tick after the world's.
func (s *inputSource) input(p ecs.Player, last ecs.InputBytes) ecs.InputBytes {
	if s.game.Bot != nil {
		return s.game.Bot(s.world, p, s.bot)
	}
	if s.rand.IntN(4) > 0 {
		return last
	}
	return randomInput(s.game, s.rand)
}

// orders returns the orders of tick f. Players join in the first ticks. In about every 20th tick one leaves or comes
// back.
func (s *inputSource) orders(f ecs.Tick) []image.Order {
	joined, players := s.world.Players(), s.game.MaxPlayers
	p := ecs.Player(s.rand.IntN(players))
	churn := s.rand.IntN(20) == 0
	if f <= ecs.Tick(players) {
		p, churn = ecs.Player(f-1), true
	}
	switch {
	case !churn:
		return nil
	case !joined.Has(p):
		return []image.Order{{Kind: image.OrderJoin, Player: p}}
	case joined.Len() > 1 || players == 1:
		return []image.Order{{Kind: image.OrderLeave, Player: p}}
	}
	return nil
}

// randomInput returns a random input among all that a peer could send.
func randomInput(g *ecs.Game, r *rand.Rand) (in ecs.InputBytes) {
	for i := range in {
		in[i] = byte(r.Uint32())
	}
	return g.Input.Clean(in)
}

// predict replaces the timeline's prediction for tick f: with probability 1/4 by a random input, with 1/2 by a recent input
// of a random player, and otherwise not.
func (s *syncTest) predict(f ecs.Tick, _ ecs.Player, predicted ecs.InputBytes) ecs.InputBytes {
	switch s.rand.IntN(4) {
	case 0:
		return predicted
	case 1:
		return randomInput(s.config.Game, s.rand)
	}
	back := ecs.Tick(s.rand.IntN(min(int(f), s.inputs.depth()/2)))
	in, _ := s.inputs.at(f-back, ecs.Player(s.rand.IntN(s.config.Game.MaxPlayers)))
	return in
}
