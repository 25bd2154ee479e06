package image_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

// Tools measure here what a player sees, for any game. Entities that only the picture moves count with their shown
// position.
func TestMotionsAreOfTheShownState(t *testing.T) {
	w, v := sample.NewWorld(t, composeGame()), sample.NewView(t, composeGame())
	var placed, moved, hidden, without ecs.Entity
	sample.InSystem(w, func() {
		without = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions)
		placed, moved, hidden = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions, dMoving), w.Spawn(ecs.OwnedBy(0), dMoving), w.Spawn(ecs.OwnedBy(1), dMoving)
		*dMoving.Write(w, placed) = dBody{Pos: across(3), Vel: across(4)}
		*dMoving.Write(w, moved) = dBody{Pos: across(1), Vel: across(5)}
	})
	s := sample.Saved(w)
	v.Compose(image.Shown{Cur: s, Confirmed: s, Remote: s, Own: image.EveryRow()}, 1)
	v.Picture.Shift(moved, across(10))
	v.Sim.Image().DropRow(hidden.Row)
	v.Dress()
	shown := map[ecs.Entity]ecs.Motion{}
	var last ecs.Entity
	v.Sim.Image().Motions(func(e ecs.Entity, m ecs.Motion) bool {
		if e.Row <= last.Row {
			t.Errorf("%v comes after %v", e, last)
		}
		last, shown[e] = e, m
		return true
	})
	if shown[placed] != (ecs.Motion{Pos: across(3), Vel: across(4)}) || shown[moved] != (ecs.Motion{Pos: across(11), Vel: across(5)}) {
		t.Errorf("shown are %v at %+v and %v at %+v", placed, shown[placed], moved, shown[moved])
	}
	for _, e := range []ecs.Entity{hidden, without} {
		if m, ok := shown[e]; ok {
			t.Errorf("%v is at %+v: it is hidden, or nowhere", e, m)
		}
	}
	n := 0
	v.Sim.Image().Motions(func(ecs.Entity, ecs.Motion) bool { n++; return n < 2 })
	if n != 2 || len(shown) < 3 {
		t.Errorf("%d entities after the second was the last, %d in all", n, len(shown))
	}
}

func TestMotionsAllocateNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w, v := sample.NewWorld(t, composeGame()), sample.NewView(t, composeGame())
	s := sample.Saved(w)
	v.Update(nil, s, s, 1)
	n := 0
	count := func(ecs.Entity, ecs.Motion) bool { n++; return true }
	if allocs := testing.AllocsPerRun(100, func() { v.Sim.Image().Motions(count) }); allocs > 0 || n == 0 {
		t.Errorf("%v allocations for %d entities", allocs, n)
	}
}
