package host

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
)

// A player is compared with the part of the server's state that this player may know.
func TestChecksumsAreOfTheKnownState(t *testing.T) {
	type secret struct{ Card uint8 }
	hand := ecs.NewComponent("hand", ecs.Roles[secret]{Private: true})
	g := &ecs.Game{Name: "cards", TickRate: 10, MaxPlayers: 2, Input: ecs.NewInput[struct{}](), Components: ecs.Components(hand),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) { hand.Put(w, w.Spawn(ecs.OwnedBy(p), hand), secret{7}) }}
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	w.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 0}}})
	var state image.Snapshot
	w.Image().Save(&state)
	h := newChecksumHistory(g)
	h.sink().Tick(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: w.Tick()}, World: w, State: &state})
	column := slices.Index(g.Schema().Columns(), "hand")
	whole := state.ComponentChecksums(nil)[column]
	own, other, spectator := h.At(w.Tick(), 0)[column], h.At(w.Tick(), 1)[column], h.At(w.Tick(), -1)[column]
	if own != whole || other == whole || spectator != other {
		t.Errorf("the server has %v, player 0 %v, player 1 %v, a spectator %v", whole, own, other, spectator)
	}
}
