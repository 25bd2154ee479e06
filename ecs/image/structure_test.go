package image_test

import (
	"fmt"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// A system can fill an entity that it spawns, and its own queries do not yield it.
func TestSpawnFillsAtOnceAndIsYieldedToTheNextSystem(t *testing.T) {
	g := sample.Bare()
	var e ecs.Entity
	g.Systems = []ecs.System{
		{Name: "first", Run: func(w *ecs.World) {
			if w.Tick() != 1 {
				return
			}
			e = w.Spawn(ecs.OwnedByWorld, sample.Positions)
			sample.Positions.Put(w, e, sample.Pos{X: 7})
			if v, ok := sample.Positions.Read(w, e); !ok || v.X != 7 || !w.Exists(e) || !sample.Positions.Has(w, e) {
				t.Error("the spawned entity cannot be filled:", v, ok)
			}
			if count(w, sample.Placed) != 0 {
				t.Error("a query sees what its own system spawned")
			}
		}},
		{Name: "second", Run: func(w *ecs.World) {
			if count(w, sample.Placed) != 1 {
				t.Error("the next system does not see the spawned entity")
			}
		}},
	}
	sample.NewWorld(t, g).Step(ecs.TickInputs{})
}

// Despawn, Add and Remove take effect when the system has returned, so a loop may call them for the entities that it
// visits.
func TestDespawnAddAndRemoveTakeEffectWhenTheSystemHasReturned(t *testing.T) {
	g := sample.Bare()
	var a, b ecs.Entity
	g.Setup = func(w *ecs.World) {
		a, b = w.Spawn(ecs.OwnedByWorld, sample.Positions), w.Spawn(ecs.OwnedByWorld, sample.Positions)
	}
	look := func(w *ecs.World) string {
		v, _ := sample.Velocities.Read(w, b)
		return fmt.Sprint(w.Exists(a), sample.Positions.Has(w, a), w.Exists(b), sample.Positions.Has(w, b), sample.Velocities.Has(w, b), int64(v.X), count(w, sample.Placed))
	}
	g.Systems = []ecs.System{
		{Name: "first", Run: func(w *ecs.World) {
			if w.Tick() != 1 {
				return
			}
			w.Despawn(a)
			sample.Velocities.Add(w, b, sample.Vel{X: 5})
			sample.Positions.Remove(w, b)
			if got := look(w); got != "true true true true false 0 2" {
				t.Error("within the system:", got)
			}
		}},
		{Name: "second", Run: func(w *ecs.World) {
			if got := look(w); got != "false false true false true 5 0" {
				t.Error("in the next system:", got)
			}
		}},
	}
	sample.NewWorld(t, g).Step(ecs.TickInputs{})
}

// Structural changes take effect in the order of the calls. A change to a removed entity does nothing.
func TestStructuralChangesHappenInCallOrder(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var a, b, c, d ecs.Entity
	sample.InSystem(w, func() {
		a = w.Spawn(ecs.OwnedByWorld, sample.Positions)
		sample.Velocities.Add(w, a, sample.Vel{X: 1})
		sample.Velocities.Add(w, a, sample.Vel{X: 2}) // replaces
		b = w.Spawn(ecs.OwnedByWorld, sample.Positions)
		sample.Velocities.Add(w, b, sample.Vel{X: 1})
		sample.Velocities.Remove(w, b)
		c = w.Spawn(ecs.OwnedByWorld, sample.Positions)
		w.Despawn(c)
		sample.Velocities.Add(w, c, sample.Vel{X: 1}) // too late
		w.Despawn(c)
		d = w.Spawn(ecs.OwnedByWorld)
		sample.Velocities.Remove(w, d) // has none
		sample.Tags.Add(w, d, struct{}{})
	})
	if v, ok := sample.Velocities.Read(w, a); !ok || v.X != 2 {
		t.Error("the second Add did not replace the first:", v, ok)
	}
	if sample.Velocities.Has(w, b) || !sample.Positions.Has(w, b) {
		t.Error("Remove after Add left the component")
	}
	if w.Exists(c) || sample.Velocities.Has(w, c) {
		t.Error("an Add after Despawn brought the entity back")
	}
	if !w.Exists(d) || !sample.Tags.Has(w, d) || sample.Velocities.Has(w, d) {
		t.Error("an entity without components cannot be given one")
	}
	sample.InSystem(w, func() {
		sample.Velocities.Remove(w, a)
		sample.Velocities.Add(w, a, sample.Vel{X: 3})
		sample.Velocities.Remove(w, a)
	})
	if sample.Velocities.Has(w, a) {
		t.Error("Remove, Add, Remove left the component")
	}
	sample.InSystem(w, func() { sample.Velocities.Add(w, a, sample.Vel{}) })
	if v, _ := sample.Velocities.Read(w, a); v != (sample.Vel{}) {
		t.Error("a component that came back kept an old value:", v)
	}
}

// An entity's identity includes its tick of birth. If a row were freed and taken in one tick, two entities would be
// equal.
func TestARowFreedInATickIsNotTakenAgainInIt(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var a, b, c ecs.Entity
	sample.InSystem(w, func() { a = w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	sample.InSystem(w, func() {
		w.Despawn(a)
		w.Image().Flush() // the system's end
		b = w.Spawn(ecs.OwnedByWorld, sample.Positions)
		w.Despawn(b)
		w.Image().Flush()
		c = w.Spawn(ecs.OwnedByWorld, sample.Positions)
	})
	if a.Row != 1 || b.Row != 2 || c.Row != 3 {
		t.Errorf("rows %d %d %d, want 1 2 3", a.Row, b.Row, c.Row)
	}
	var d, e ecs.Entity
	sample.InSystem(w, func() { d, e = w.Spawn(ecs.OwnedByWorld), w.Spawn(ecs.OwnedByWorld) })
	if d.Row != 1 || e.Row != 2 || d.Born != w.Tick() {
		t.Errorf("the next tick takes rows %d %d born %d, want 1 2", d.Row, e.Row, d.Born)
	}
	if w.Exists(a) || w.Exists(b) {
		t.Error("an old reference resolves to a row's new entity")
	}
}

// A mispredicted shot of one player must not change the identities of any other owner.
func TestTwoPlayersNeverMoveEachOthersRows(t *testing.T) {
	spawn := func(extra int) (r [2]ecs.Entity) {
		w := sample.NewWorld(t, sample.Bare())
		sample.InSystem(w, func() {
			for range extra { // a misprediction of player 0
				w.Spawn(ecs.OwnedBy(0), sample.Positions)
			}
			r[0], r[1] = w.Spawn(ecs.OwnedBy(1), sample.Positions), w.Spawn(ecs.OwnedByWorld, sample.Positions)
		})
		return r
	}
	if a, b := spawn(0), spawn(100); a != b {
		t.Errorf("%v without player 0's shots, %v with them", a, b)
	}
	if p, ok := spawn(0)[0].Owner().Player(); !ok || p != 1 {
		t.Error("owner", p, ok)
	}
}

// An entity from a peer or from damaged data may have any row. Exists must return false for it.
func TestEntitiesThatCannotExistDoNot(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	sample.InSystem(w, func() { w.Spawn(ecs.OwnedBy(3), sample.Positions) })
	for _, row := range []uint32{0, 1, 5 << image.RegionShift, 64 << image.RegionShift, 255 << image.RegionShift, 256 << image.RegionShift, 256<<image.RegionShift | 1, 1<<32 - 1,
		4<<image.RegionShift | 1, 4<<image.RegionShift | image.RegionRows - 1} {
		e := ecs.Entity{Row: row, Born: 0}
		if v, ok := sample.Positions.Read(w, e); ok || w.Exists(e) || sample.Positions.Has(w, e) || sample.Positions.Write(w, e) != nil || sample.Positions.Put(w, e, v) {
			t.Errorf("row %#x exists", row)
		}
		sample.InSystem(w, func() { w.Despawn(e); sample.Positions.Add(w, e, sample.Pos{}); sample.Positions.Remove(w, e) })
	}
	if !sample.Positions.Has(w, ecs.Entity{Row: 4 << image.RegionShift, Born: 1}) {
		t.Error("player 3's first entity is gone")
	}
}
