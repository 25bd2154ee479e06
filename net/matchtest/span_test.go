package matchtest

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// What a player's order does to the entity that it is addressed to. A crate is one that nobody owns.
type spanMark struct {
	By    ecs.Player
	Count uint8
}

var (
	spanMarks  = ecs.NewComponent[spanMark]("span mark")
	spanMarked = ecs.NewEvent[spanMark]("span marked")
)

// The orders of the game.
const (
	spanTouch = "touch" // marks the entity
	spanDrop  = "drop"  // a crate appears
	spanLift  = "lift"  // the entity disappears
)

func spanGame() *ecs.Game {
	game := Dots()
	game.Components = append(game.Components, spanMarks)
	game.Events = append(game.Events, spanMarked)
	game.Order = func(w *ecs.World, p ecs.Player, target ecs.Entity, order []byte) {
		switch string(order) {
		case spanTouch:
			m, _ := spanMarks.Read(w, target)
			m = spanMark{By: p, Count: m.Count + 1}
			spanMarks.Add(w, target, m)
			spanMarked.Emit(w, target, m)
		case spanDrop:
			e := w.Spawn(ecs.OwnedByWorld, dotBodies, spanMarks)
			dotBodies.Put(w, e, dotBody{Pos: fixed.Vec2{X: fixed.FromInt(5)}})
		case spanLift:
			w.Despawn(target)
		}
	}
	return game
}

// An entity that the server creates appears everywhere, and one that it removes is gone everywhere; what is addressed to
// an entity happens to all of its copies, on whichever machine it was said, once.
func TestObjectsSpanTheNetwork(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy} {
		t.Run(s.Name, func(t *testing.T) { spans(t, s) })
	}
}

func spans(t *testing.T, s systems.Strategy) {
	game := spanGame()
	h, err := New(Config{Game: game, Strategy: s, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	path, _ := simnet.ByName("P3")
	heard := map[int]map[ecs.Entity]int{}
	for i := range 3 {
		heard[i] = map[ecs.Entity]int{}
		h.Join(Plan{Profile: path, Spectator: i == 2, Heard: func(e systems.Effect) {
			if _, ok := spanMarked.Decode(game, e.Event); ok && e.Status == ecs.EffectConfirmed {
				heard[i][e.Event.Key.Entity]++
			}
		}})
	}
	h.Run(6 * time.Second)
	order := func(c int, target ecs.Entity, what string) {
		t.Helper()
		if err := h.Clients[c].Core.Order(target, []byte(what)); err != nil {
			t.Fatal(err)
		}
		h.Run(3 * time.Second)
	}
	all := func(what string, ok func(w *ecs.World) bool) {
		t.Helper()
		if !ok(h.Room.World()) {
			t.Errorf("%s: not on the server", what)
		}
		for i, c := range h.Clients {
			if !ok(c.Core.World()) {
				t.Errorf("%s: not on client %d", what, i)
			}
		}
	}
	theirs := avatarOf(h.Room.World(), 1)
	order(0, theirs, spanTouch)
	order(1, theirs, spanTouch)
	all("two touches", func(w *ecs.World) bool {
		m, ok := spanMarks.Read(w, theirs)
		return ok && m == spanMark{By: 1, Count: 2}
	})
	for i := range h.Clients {
		if heard[i][theirs] != 2 {
			t.Errorf("client %d heard of %d touches", i, heard[i][theirs])
		}
	}
	crates := func(w *ecs.World) (list []ecs.Entity) {
		for e := range ecs.NewQuery1(ecs.Read(spanMarks), ecs.Without(dotSeats)).All(w) {
			list = append(list, e.Entity())
		}
		return list
	}
	order(1, ecs.Entity{}, spanDrop)
	there := crates(h.Room.World())
	if len(there) != 1 {
		t.Fatalf("%d crates on the server", len(there))
	}
	all("a crate", func(w *ecs.World) bool { list := crates(w); return len(list) == 1 && list[0] == there[0] })
	order(0, there[0], spanTouch)
	all("a touch of the crate", func(w *ecs.World) bool {
		m, ok := spanMarks.Read(w, there[0])
		return ok && m == spanMark{By: 0, Count: 1}
	})
	order(0, there[0], spanLift)
	all("no crate", func(w *ecs.World) bool { return len(crates(w)) == 0 && !w.Exists(there[0]) })
	if err := h.Err(); err != nil {
		t.Error(err)
	}
}
