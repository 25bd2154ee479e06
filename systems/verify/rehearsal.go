package verify

import (
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// rehearsal finds out which orders of a tick will take effect. Each order is validated in the state that those before
// it have left. So it executes them in a copy of the match whose systems do nothing. The tick itself then holds no
// ineffective order, and the player of each rejected one receives an answer.
type rehearsal struct {
	world   *ecs.World
	verdict []bool // of the game's orders of the tick, in turn
	image   []byte
}

func newRehearsal(game *ecs.Game) *rehearsal {
	r := &rehearsal{}
	bare := *game
	bare.Setup = nil
	bare.Systems = slices.Clone(game.Systems) // with their names: the copy takes images of the match
	for i := range bare.Systems {
		bare.Systems[i].Run = func(*ecs.World) {}
	}
	bare.ValidateOrder = func(w *ecs.World, p ecs.Player, target ecs.Entity, order []byte) bool {
		ok := game.ValidateOrder(w, p, target, order)
		r.verdict = append(r.verdict, ok)
		return ok
	}
	world, err := ecs.NewWorld(&bare, 0)
	if err != nil {
		panic(fmt.Sprintf("verify: the game was changed after its world was made: %v", err))
	}
	r.world = world
	return r
}

// of returns, for each of the game's orders of the tick that follows a state, whether it takes effect. It is valid until
// the next call.
func (r *rehearsal) of(state *image.Snapshot, tick ecs.TickInputs) []bool {
	r.image = state.AppendImage(r.image[:0])
	if err := r.world.Image().Load(r.image); err != nil {
		panic(fmt.Sprintf("verify: a copy of the match does not take its state: %v", err))
	}
	r.verdict = r.verdict[:0]
	r.world.Step(tick)
	return r.verdict
}
