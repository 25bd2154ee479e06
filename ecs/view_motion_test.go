//go:build moving

package ecs

import "testing"

// Whoever measures what a player sees reads it here, of any game. What is moved in the picture alone counts: it is shown.
func TestMotionsAreOfWhatIsShown(t *testing.T) {
	w, v := newWorld(t, composeGame()), newView(t, composeGame())
	var placed, moved, hidden, without Entity
	inSystem(w, func() {
		without = w.Spawn(OwnedByWorld, vPos)
		placed, moved, hidden = w.Spawn(OwnedByWorld, vPos, dMoving), w.Spawn(OwnedBy(0), dMoving), w.Spawn(OwnedBy(1), dMoving)
		*dMoving.Write(w, placed) = dBody{Pos: across(3), Vel: across(4)}
		*dMoving.Write(w, moved) = dBody{Pos: across(1), Vel: across(5)}
	})
	s := saved(w)
	v.Compose(nil, s, s, 1, s, everyRow)
	v.Picture.Shift(moved, across(10))
	v.Picture.Hide(hidden)
	v.Dress()
	shown := map[Entity]Motion{}
	var last Entity
	v.Sim.Image().Motions(func(e Entity, m Motion) bool {
		if e.Row <= last.Row {
			t.Errorf("%v comes after %v", e, last)
		}
		last, shown[e] = e, m
		return true
	})
	if shown[placed] != (Motion{Pos: across(3), Vel: across(4)}) || shown[moved] != (Motion{Pos: across(11), Vel: across(5)}) {
		t.Errorf("shown are %v at %+v and %v at %+v", placed, shown[placed], moved, shown[moved])
	}
	for _, e := range []Entity{hidden, without} {
		if m, ok := shown[e]; ok {
			t.Errorf("%v is at %+v: it is hidden, or nowhere", e, m)
		}
	}
	n := 0
	v.Sim.Image().Motions(func(Entity, Motion) bool { n++; return n < 2 })
	if n != 2 || len(shown) < 3 {
		t.Errorf("%d entities after the second was the last, %d in all", n, len(shown))
	}
}

func TestMotionsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w, v := newWorld(t, composeGame()), newView(t, composeGame())
	s := saved(w)
	v.Update(nil, s, s, 1)
	n := 0
	count := func(Entity, Motion) bool { n++; return true }
	if allocs := testing.AllocsPerRun(100, func() { v.Sim.Image().Motions(count) }); allocs > 0 || n == 0 {
		t.Errorf("%v allocations for %d entities", allocs, n)
	}
}
