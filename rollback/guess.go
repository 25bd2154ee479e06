package rollback

import (
	"math/rand/v2"

	"tendon/ecs"
	"tendon/ecs/image"
)

// inputSource is where a SyncTest's inputs and orders come from if its caller gives none.
type inputSource struct {
	game  *ecs.Game
	world *ecs.World
	rand  *rand.Rand
	bot   *ecs.Rand
}

// input returns what p does in the tick after the world's.
func (s *inputSource) input(p ecs.Player, last ecs.InputBytes) ecs.InputBytes {
	if s.game.Bot != nil {
		return s.game.Bot(s.world, p, s.bot)
	}
	if s.rand.IntN(4) > 0 {
		return last
	}
	return randomInput(s.game, s.rand)
}

// orders returns the orders of tick f: players join in the first ticks, and about once in 20 ticks one leaves or
// comes back.
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

// randomInput returns any input that a peer could send.
func randomInput(g *ecs.Game, r *rand.Rand) (in ecs.InputBytes) {
	for i := range in {
		in[i] = byte(r.Uint32())
	}
	in = g.Input.Clean(in)
	return in
}

// guess replaces what the timeline predicts for p in tick f: a quarter of the time by nothing, half of the time by
// what somebody did not long ago, else by anything that a peer could send.
func (s *syncTest) guess(f ecs.Tick, _ ecs.Player, predicted ecs.InputBytes) ecs.InputBytes {
	switch s.rand.IntN(4) {
	case 0:
		return predicted
	case 1:
		return randomInput(s.config.Game, s.rand)
	}
	back := ecs.Tick(s.rand.IntN(min(int(f), s.inputs.Depth()/2)))
	in, _ := s.inputs.At(f-back, ecs.Player(s.rand.IntN(s.config.Game.MaxPlayers)))
	return in
}

// declarationWatch looks after every system for a write that no query declared. It is the observer of one world.
type declarationWatch struct {
	world      *ecs.World
	saved      image.Snapshot
	found      bool
	system     string
	difference image.Difference
}

// Enter saves the world, so that what the system declares is told from what others did. What was written before the
// first system was written by the hooks that orders run.
func (d *declarationWatch) Enter(s image.Section) {
	if s == image.SectionSystems {
		d.look("orders")
	}
	if s >= image.SectionSystems {
		d.world.Image().Save(&d.saved)
	}
}

// Leave looks at every page.
func (d *declarationWatch) Leave(s image.Section) {
	if s >= image.SectionSystems {
		d.look(d.world.Game().Systems[s-image.SectionSystems].Name)
	}
}

// Turn has nothing to look at.
func (d *declarationWatch) Turn(ecs.Tick) {}

// Name does nothing: a SyncTest has no strategy.
func (d *declarationWatch) Name(image.Section, string, string) {}

func (d *declarationWatch) look(name string) {
	if d.found {
		return
	}
	if difference, ok := d.world.Image().UndeclaredWrite(); ok {
		d.found, d.system, d.difference = true, name, difference
	}
}
