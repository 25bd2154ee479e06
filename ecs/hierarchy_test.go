package ecs_test

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/rollback"
)

var mount = ecs.NewHierarchy("mount")

func family() *ecs.Game {
	g := sample.Bare()
	g.Components = append(g.Components, mount)
	return g
}

func child(w *ecs.World, of ecs.Entity) ecs.Entity {
	e := w.Spawn(ecs.OwnedByWorld, sample.Positions, mount)
	mount.Put(w, e, ecs.Parent{Of: of})
	return e
}

// All descendants are removed in the tick of their parent, also those that the same system spawned, and nothing else is.
func TestChildrenAreRemovedWithTheirParent(t *testing.T) {
	var ship, turret, gun, shell, other, loose, late ecs.Entity
	do := func(w *ecs.World) {}
	g := family()
	var seen []ecs.Entity
	g.Systems = ecs.Systems(func(w *ecs.World) { do(w) }, func(w *ecs.World) {
		seen = nil
		for e := range sample.Placed.All(w) {
			seen = append(seen, e.Entity())
		}
	})
	w := sample.NewWorld(t, g)
	do = func(w *ecs.World) {
		shell = child(w, ecs.Entity{}) // its row is lower than those of its ancestors
		ship = w.Spawn(ecs.OwnedBy(2), sample.Positions)
		turret = child(w, ship)
		gun = child(w, turret)
		mount.Put(w, shell, ecs.Parent{Of: gun})
		other = child(w, w.Spawn(ecs.OwnedBy(1), sample.Positions))
		loose = child(w, gun)
	}
	w.Step(ecs.TickInputs{})
	if got := slices.Collect(mount.Children(w, gun)); !slices.Equal(got, []ecs.Entity{shell, loose}) {
		t.Fatalf("the gun's children are %v", got)
	}
	s := sample.Saved(w)
	do = func(w *ecs.World) {
		w.Despawn(ship)
		late = child(w, turret)
		mount.Put(w, loose, ecs.Parent{})
	}
	for range 2 {
		w.Step(ecs.TickInputs{})
		for _, e := range []ecs.Entity{ship, turret, gun, shell, late} {
			if w.Exists(e) || slices.Contains(seen, e) {
				t.Errorf("%v is left, or was seen by the next system", e)
			}
		}
		for _, e := range []ecs.Entity{other, loose} {
			if !w.Exists(e) {
				t.Errorf("%v is gone", e)
			}
		}
		if len(seen) != 3 {
			t.Errorf("the next system sees %v", seen)
		}
		w.Image().Restore(s)
		if !w.Exists(ship) || !w.Exists(shell) {
			t.Fatal("a restore does not bring them back")
		}
	}
}

// Entities in a circle, or of a peer that predicts only some rows, do not make the world loop.
func TestACircleOfParentsEnds(t *testing.T) {
	g := family()
	var a, b, c ecs.Entity
	step := 0
	g.Systems = ecs.Systems(func(w *ecs.World) {
		switch step++; step {
		case 1:
			a, b = child(w, ecs.Entity{}), child(w, ecs.Entity{})
			mount.Put(w, a, ecs.Parent{Of: b})
			mount.Put(w, b, ecs.Parent{Of: a})
			c = w.Spawn(ecs.OwnedBy(1), sample.Positions)
			child(w, c)
		case 2:
			w.Despawn(c)
		case 3:
			w.Despawn(a)
		}
	})
	w := sample.NewWorld(t, g)
	w.Step(ecs.TickInputs{})
	rows := &image.RowSet{}
	rows.AddOwner(ecs.OwnedBy(1))
	w.Image().SetPredicted(rows)
	w.Step(ecs.TickInputs{})
	w.Image().SetPredicted(nil)
	if w.Exists(c) || !w.Exists(a) {
		t.Error("the parent is left, or the circle is gone")
	}
	w.Step(ecs.TickInputs{})
	if w.Exists(a) || w.Exists(b) {
		t.Error("the circle is left")
	}
}

// A game in which families come and go has the same states after rewinds.
func TestFamiliesSurviveRewinds(t *testing.T) {
	g := family()
	g.Systems = ecs.Systems(func(w *ecs.World) {
		r := w.Rand()
		var list []ecs.Entity
		for e := range sample.Placed.All(w) {
			list = append(list, e.Entity())
		}
		for p := range w.Players().All() {
			e := child(w, w.Spawn(ecs.OwnedBy(p), sample.Positions))
			if in := sample.Pads.Of(w, p); in.Fire && len(list) > 0 {
				mount.Put(w, e, ecs.Parent{Of: list[r.IntN(len(list))]})
			}
		}
		if len(list) > 30 {
			w.Despawn(list[r.IntN(len(list))])
			w.Despawn(list[r.IntN(len(list))])
		}
	})
	if report, err := rollback.SyncTest(rollback.SyncTestConfig{Game: g, Seed: 4, Ticks: 120}); err != nil {
		t.Fatal(report, err)
	}
}

func TestATimerEndsInItsTick(t *testing.T) {
	var timer ecs.Timer
	var log []int
	g := sample.Bare()
	g.Systems = ecs.Systems(func(w *ecs.World) {
		if w.Tick() == 1 {
			if !timer.Ended(w) || timer.Left(w) != 0 {
				t.Error("the zero timer has not ended")
			}
			timer = w.Timer(3)
		}
		state := int(timer.Left(w))
		if timer.Ended(w) {
			state += 10
		}
		if timer.EndsNow(w) {
			state += 100
		}
		if w.Every(2) {
			state += 1000
		}
		log = append(log, state)
	})
	w := sample.NewWorld(t, g)
	for range 6 {
		w.Step(ecs.TickInputs{})
	}
	if want := []int{3, 1002, 1, 1110, 10, 1010}; !slices.Equal(log, want) {
		t.Errorf("the timer goes %v, want %v", log, want)
	}
	sample.MustPanic(t, "World.Every", func() { w.Every(0) })
}
