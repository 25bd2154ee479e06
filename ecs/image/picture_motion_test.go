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

// FindMoved has the rows whose position or velocity changed, and no other.
func TestFindMovedHasTheRowsWithAnotherMotion(t *testing.T) {
	g := composeGame()
	g.Systems = nil
	w := sample.NewWorld(t, g)
	var still, moved, other ecs.Entity
	sample.InSystem(w, func() {
		still, moved = w.Spawn(ecs.OwnedByWorld, dMoving), w.Spawn(ecs.OwnedBy(0), dMoving)
		other = w.Spawn(ecs.OwnedBy(1), sample.ShownPositions)
	})
	base := sample.Saved(w)
	sample.InSystem(w, func() {
		dMoving.Write(w, moved).Pos = across(7)
		*dMoving.Write(w, still) = dBody{}
		sample.ShownPositions.Put(w, other, sample.PosAt(4, 4))
	})
	now := sample.Saved(w)
	var c image.Changed
	for range 2 {
		var rows []uint32
		c.FindMoved(base, now)
		for row := range c.Rows {
			rows = append(rows, row)
		}
		if len(rows) != 1 || rows[0] != moved.Row {
			t.Errorf("rows %v moved, want %v", rows, moved.Row)
		}
	}
}

// A held snapshot stays what it is when the first one is released and its pages could be used again.
func TestAHeldSnapshotOutlivesTheFirst(t *testing.T) {
	g := composeGame()
	g.Systems = nil
	w := sample.NewWorld(t, g)
	sample.InSystem(w, func() { w.Spawn(ecs.OwnedBy(0), dMoving) })
	first, held := sample.Saved(w), image.Snapshot{}
	sum, tick := first.Checksum(), first.Tick()
	held.Hold(first)
	held.Hold(first) // the earlier hold is released
	first.Release()
	for range 4 {
		sample.InSystem(w, func() {
			for e := range ecs.NewQuery1(ecs.Write(dMoving)).All(w) {
				e.A.Pos.X++
			}
		})
		sample.Saved(w).Release()
	}
	if held.Checksum() != sum || held.Tick() != tick {
		t.Errorf("tick %d with checksum %v, want tick %d with %v", held.Tick(), held.Checksum(), tick, sum)
	}
	bytes := w.Image().PageBytes()
	if held.Hold(&image.Snapshot{}); !held.Empty() {
		t.Error("a hold of nothing is not empty")
	}
	for range 4 {
		sample.InSystem(w, func() {
			for e := range ecs.NewQuery1(ecs.Write(dMoving)).All(w) {
				e.A.Pos.X++
			}
		})
		sample.Saved(w).Release()
	}
	if w.Image().PageBytes() > bytes {
		t.Error("the pages of a released hold are not used again")
	}
}
