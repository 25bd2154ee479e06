package ecs_test

import (
	"fmt"
	"testing"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/features/events"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

var shown = ecs.NewQuery1(ecs.Read(sample.ShownPositions))

// visible returns a game with components of all roles.
func visible() *ecs.Game {
	return &ecs.Game{Name: "v", TickRate: 60, MaxPlayers: 2, Input: sample.Pads,
		Components: ecs.Components(sample.ShownPositions, sample.Healths, sample.ShownWides, sample.Velocities, sample.Tags), Resources: ecs.Resources(sample.Clocks),
		Setup: func(w *ecs.World) { w.Spawn(ecs.OwnedByWorld, sample.ShownPositions) }}
}

// One entity per rule. Entities in both states are interpolated. Entities in one state only are shown with the new
// state's values, or not at all.
func TestViewInterpolatesEntitiesOfBothStates(t *testing.T) {
	w, v := sample.NewWorld(t, visible()), sample.NewView(t, visible())
	var stays, dies, comes, gains, still ecs.Entity
	sample.InSystem(w, func() {
		stays = w.Spawn(ecs.OwnedBy(0), sample.ShownPositions, sample.ShownWides)
		dies = w.Spawn(ecs.OwnedBy(1), sample.ShownPositions)
		gains = w.Spawn(ecs.OwnedByWorld, sample.Velocities)
		still = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions)
		sample.ShownPositions.Put(w, stays, sample.PosAt(10, 100))
		sample.ShownPositions.Put(w, dies, sample.PosAt(1, 1))
		sample.ShownPositions.Put(w, still, sample.PosAt(5, 6))
		sample.ShownWides.Write(w, stays).Cells[99] = 40
	})
	prev := sample.Saved(w)
	sample.InSystem(w, func() { w.Despawn(dies) })
	sample.InSystem(w, func() {
		comes = w.Spawn(ecs.OwnedBy(1), sample.ShownPositions)
		sample.ShownPositions.Put(w, stays, sample.PosAt(20, 300))
		sample.ShownPositions.Put(w, comes, sample.PosAt(7, 8))
		sample.ShownWides.Write(w, stays).Cells[99] = 80
		sample.Velocities.Put(w, gains, sample.Vel{X: 4})
		sample.ShownPositions.Add(w, gains, sample.PosAt(9, 9))
		sample.Clocks.Write(w).Left = 77
	})
	cur := sample.Saved(w)
	if comes.Row != dies.Row {
		t.Fatal("the row was not taken again: the test proves less")
	}
	v.Update(prev, cur, cur, 0.25)
	for _, c := range []struct {
		e    ecs.Entity
		want sample.Pos
	}{{stays, sample.PosAt(0, 0)}, {comes, sample.PosAt(7, 8)}, {gains, sample.PosAt(9, 9)}, {still, sample.PosAt(5, 6)}} {
		if c.e == stays {
			c.want = sample.Pos{X: fixed.FromFloat(12.5), Y: fixed.FromInt(150)}
		}
		if got, ok := sample.ShownPositions.Read(v.Sim, c.e); !ok || got != c.want {
			t.Errorf("%v is shown at %v, %t, want %v", c.e, got, ok, c.want)
		}
		if got := sample.ShownPositions.GetValue(v.Sim.Entry(c.e)); got != c.want {
			t.Errorf("donburi shows %v at %v, want %v", c.e, got, c.want)
		}
	}
	if got, _ := sample.ShownWides.Read(v.Sim, stays); got.Cells[99] != 50 {
		t.Errorf("a component with few rows in a page is shown as %d, want 50", got.Cells[99])
	}
	if got, _ := sample.Velocities.Read(v.Sim, gains); got.X != 4 {
		t.Errorf("a component without Lerp is shown as %v, want the new 4", got.X)
	}
	if v.Sim.Exists(dies) || v.Sim.Entry(dies) != nil {
		t.Error("an entity that is gone in the new state is shown")
	}
	if v.Tick != w.Tick() || v.Sim.Tick() != w.Tick() || v.Alpha != 0.25 || sample.Clocks.Read(v.Sim).Left != 77 {
		t.Errorf("tick %d, Sim's %d, alpha %v, clock %v", v.Tick, v.Sim.Tick(), v.Alpha, sample.Clocks.Read(v.Sim))
	}
	v.Update(prev, cur, cur, 1)
	if got, _ := sample.ShownPositions.Read(v.Sim, stays); got != sample.PosAt(20, 300) {
		t.Errorf("at the end of the way it is shown at %v", got)
	}
	v.Update(prev, cur, cur, -3)
	if got, _ := sample.ShownPositions.Read(v.Sim, stays); got != sample.PosAt(10, 100) || v.Alpha != 0 {
		t.Errorf("before the way's begin it is shown at %v", got)
	}
	v.Update(nil, cur, nil, 0.5)
	if got, _ := sample.ShownPositions.Read(v.Sim, stays); got != sample.PosAt(20, 300) {
		t.Errorf("without an older state it is shown at %v", got)
	}
}

// Health must not jump back after a mispredicted hit. It is shown as confirmed, even if the prediction has removed
// it, and not at all if the confirmed state lacks it.
func TestConfirmedOnlyComponentsAreShownAsConfirmed(t *testing.T) {
	w, v := sample.NewWorld(t, visible()), sample.NewView(t, visible())
	var hit, shot, cured, gone ecs.Entity
	sample.InSystem(w, func() {
		hit = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions, sample.Healths)
		cured = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions, sample.Healths)
		gone = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions, sample.Healths)
		for _, e := range []ecs.Entity{hit, cured, gone} {
			sample.Healths.Put(w, e, sample.Health{Points: 100})
		}
	})
	confirmed := sample.Saved(w)
	sample.InSystem(w, func() { w.Despawn(gone) })
	sample.InSystem(w, func() {
		sample.Healths.Put(w, hit, sample.Health{Points: 60})
		sample.Healths.Remove(w, cured)
		shot = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions, sample.Healths)
		sample.Healths.Put(w, shot, sample.Health{Points: 5})
	})
	cur := sample.Saved(w)
	if shot.Row != gone.Row {
		t.Fatal("the row was not taken again: the test proves less")
	}
	for range 2 { // the second time everything was shown before
		v.Update(nil, cur, confirmed, 1)
		for e, want := range map[ecs.Entity]int32{hit: 100, cured: 100} {
			if got, ok := sample.Healths.Read(v.Sim, e); !ok || got.Points != want || !v.Sim.Entry(e).HasComponent(sample.Healths) {
				t.Errorf("%v is shown with health %d, %t; want %d", e, got.Points, ok, want)
			}
		}
		if sample.Healths.Has(v.Sim, shot) || v.Sim.Entry(shot).HasComponent(sample.Healths) || !sample.ShownPositions.Has(v.Sim, shot) {
			t.Error("a predicted shot is shown with health before its tick is confirmed")
		}
	}
	v.Update(nil, cur, cur, 1)
	if got, ok := sample.Healths.Read(v.Sim, shot); !ok || got.Points != 5 || sample.Healths.Has(v.Sim, cured) {
		t.Errorf("after confirmation the shot is shown with %d, %t", got.Points, ok)
	}
	v.Update(nil, cur, nil, 1)
	if sample.Healths.Has(v.Sim, hit) {
		t.Error("health is shown though no state is confirmed")
	}
}

// Sprites, tweens and sounds belong to entities. They stay while the entity is shown, across rewinds and changes of
// its set of simulated components.
func TestDressLastsWhileTheEntityIsShown(t *testing.T) {
	g, dressed := visible(), map[ecs.Entity]int{}
	g.Screen.Dress = func(v *ecs.View, entry *donburi.Entry) {
		e, ok := ecs.EntityOf(entry)
		if !ok || v.Sim.Entry(e) != entry {
			t.Errorf("Dress is given an entry that leads to %v, %t", e, ok)
		}
		dressed[e]++
		donburi.Add(entry, sample.Sprites, &sample.Sprite{Name: fmt.Sprint(e.Row), Of: new(int)})
	}
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	var a, b ecs.Entity
	sample.InSystem(w, func() {
		a = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions)
		b = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions)
	})
	first := sample.Saved(w)
	v.Update(nil, first, nil, 1)
	if len(dressed) != 3 {
		t.Fatalf("%d entities were dressed, want 3", len(dressed))
	}
	entity, sprite := v.Sim.Entry(a).Entity(), sample.Sprites.Get(v.Sim.Entry(a))
	sample.InSystem(w, func() { sample.ShownPositions.Put(w, a, sample.PosAt(1, 1)) })
	v.Update(first, sample.Saved(w), nil, 0.5)
	w.Image().Restore(first)
	sample.InSystem(w, func() { sample.ShownPositions.Put(w, a, sample.PosAt(2, 2)); w.Despawn(b) })
	v.Update(first, sample.Saved(w), nil, 0.5)
	if v.Sim.Entry(a).Entity() != entity || sample.Sprites.Get(v.Sim.Entry(a)) != sprite {
		t.Fatal("a rewind took the entity's sprite")
	}
	for _, change := range []func(){
		func() { sample.Velocities.Add(w, a, sample.Vel{X: 3}) },
		func() { sample.Tags.Add(w, a, struct{}{}); sample.ShownPositions.Remove(w, a) },
		func() { sample.Velocities.Remove(w, a); sample.ShownPositions.Add(w, a, sample.PosAt(3, 3)) },
		func() { sample.Tags.Remove(w, a) },
	} {
		sample.InSystem(w, change)
		v.Update(first, sample.Saved(w), nil, 1)
		for _, c := range ecs.Components(sample.ShownPositions, sample.Velocities, sample.Tags) {
			if v.Sim.Entry(a).HasComponent(c) != v.Sim.Image().Column(sample.Declared(c)).Has(0, a.Row) {
				t.Fatalf("donburi and queries do not agree whether %s is shown", c.Name())
			}
		}
		if sample.Sprites.Get(v.Sim.Entry(a)) != sprite || sprite.Name != fmt.Sprint(a.Row) {
			t.Fatal("another set of components took the entity's sprite")
		}
		var c ecs.Entity // of the same set, whose archetype must not be born by adding
		sample.InSystem(w, func() { c = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions, sample.Velocities) })
		v.Update(first, sample.Saved(w), nil, 1)
		if !v.Sim.Entry(c).HasComponent(sample.Sprites) {
			t.Fatal("a later entity is not dressed")
		}
		if err := v.Sim.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if dressed[a] != 1 || dressed[b] != 1 {
		t.Fatalf("dressed %d and %d times, want once each", dressed[a], dressed[b])
	}
	w.Image().Restore(first)
	v.Update(nil, sample.Saved(w), nil, 1)
	if dressed[b] != 2 || dressed[a] != 1 {
		t.Fatalf("after b came back a was dressed %d and b %d times, want 1 and 2", dressed[a], dressed[b])
	}
	n := len(dressed)
	v.Update(nil, sample.Saved(w), nil, 1)
	if dressed[b] != 2 || len(dressed) != n {
		t.Fatal("an update without news dressed someone")
	}
}

// The row of a removed entity may be taken by another between two updates. The new entity is dressed itself.
func TestRowTakenAgainBetweenUpdatesIsDressedAnew(t *testing.T) {
	g := visible()
	var dressed []ecs.Entity
	g.Screen.Dress = func(v *ecs.View, entry *donburi.Entry) {
		e, _ := ecs.EntityOf(entry)
		dressed = append(dressed, e)
		donburi.Add(entry, sample.Sprites, &sample.Sprite{Name: fmt.Sprint(e.Born)})
	}
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	var a, b ecs.Entity
	sample.InSystem(w, func() { a = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions) })
	v.Update(nil, sample.Saved(w), nil, 1)
	sample.InSystem(w, func() { w.Despawn(a) })
	sample.InSystem(w, func() { b = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions) })
	v.Update(nil, sample.Saved(w), nil, 1)
	if a.Row != b.Row || len(dressed) != 3 || dressed[2] != b || sample.Sprites.Get(v.Sim.Entry(b)).Name != fmt.Sprint(b.Born) || v.Sim.Entry(a) != nil {
		t.Fatalf("%v after %v: dressed %v", b, a, dressed)
	}
}

// Draw may use the game, and data derived from the shown state, as systems do.
func TestDerivedDataOfAViewFollowsWhatIsShown(t *testing.T) {
	count := ecs.NewDerived("count", func(w *ecs.World, n *int) {
		*n = 0
		for range shown.All(w) {
			*n++
		}
	}, func(a, b *int) bool { return *a == *b })
	g := visible()
	g.Derived = []ecs.AnyDerived{count}
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	for want := 1; want < 4; want++ {
		v.Update(nil, sample.Saved(w), nil, 1)
		if got := *count.Of(v.Sim); got != want || v.Sim.Game() != g {
			t.Fatalf("%d are counted, want %d", got, want)
		}
		sample.InSystem(w, func() { w.Spawn(ecs.OwnedByWorld, sample.ShownPositions) })
	}
}

// A view may remove components that Dress added. Donburi then moves the entity to an archetype that Create has
// created.
func TestUndressingLeavesTheArchetypesSound(t *testing.T) {
	g := visible()
	g.Screen.Dress = func(_ *ecs.View, entry *donburi.Entry) { donburi.Add(entry, sample.Sprites, &sample.Sprite{}) }
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions) })
	v.Update(nil, sample.Saved(w), nil, 1)
	sample.InSystem(w, func() { sample.Velocities.Add(w, e, sample.Vel{}) })
	v.Update(nil, sample.Saved(w), nil, 1)
	v.Sim.Entry(e).RemoveComponent(sample.Sprites)
	sample.InSystem(w, func() {
		w.Spawn(ecs.OwnedByWorld, sample.ShownPositions, sample.Velocities)
		w.Spawn(ecs.OwnedByWorld, sample.ShownPositions, sample.Velocities)
	})
	v.Update(nil, sample.Saved(w), nil, 1)
	if v.Sim.Entry(e).HasComponent(sample.Sprites) || v.World.Len() != 4 {
		t.Fatalf("%d entities are shown, want 4", v.World.Len())
	}
	if err := v.Sim.Check(); err != nil {
		t.Fatal(err)
	}
}

// A camera, a particle or donburi's event bus may be in a view's world. The engine changes only entities of the
// simulation.
func TestViewHoldsEntitiesOfTheGamesOwn(t *testing.T) {
	w, v := sample.NewWorld(t, visible()), sample.NewView(t, visible())
	camera := v.World.Entry(v.World.Create(sample.Sprites))
	received := 0
	boom := events.NewEventType[int]()
	boom.Subscribe(v.World, func(donburi.World, int) { received++ })
	boom.Publish(v.World, 1)
	s := sample.Saved(w)
	v.Update(nil, s, nil, 1)
	boom.ProcessEvents(v.World)
	if _, ok := ecs.EntityOf(camera); ok || received != 1 || v.World.Len() != 3 {
		t.Fatalf("camera stands for an entity: %t, events received: %d, entities: %d", ok, received, v.World.Len())
	}
	sample.MustPanic(t, "World.Spawn", func() { v.World.Create(sample.ShownPositions, sample.Sprites) })
	shown, _ := sample.ShownPositions.First(v.World)
	sample.MustPanic(t, "World.Despawn", shown.Remove)
	v.World.Remove(camera.Entity())
	if v.World.Len() != 3 { // the refused Create, the bus and the entity
		t.Fatalf("%d entities, want 3", v.World.Len())
	}
}

// A view that removes some of its own entities during a loop visits each once.
func TestRemovingTheCurrentEntryInsideIterVisitsEachOnce(t *testing.T) {
	g := visible()
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	sample.InSystem(w, func() {
		for range 50 {
			w.Spawn(ecs.OwnedByWorld, sample.ShownPositions)
		}
	})
	v.Update(nil, sample.Saved(w), nil, 1)
	visits := map[ecs.Entity]int{}
	for e := range sample.ShownPositions.Iter(v.World) {
		id, _ := ecs.EntityOf(e)
		visits[id]++
		if len(visits)%3 == 0 {
			continue
		}
		donburi.Add(e, sample.Sprites, &sample.Sprite{}) // moves it to another archetype
	}
	twice := 0
	for id := range visits {
		if visits[id] > 2 {
			t.Errorf("%v was visited %d times", id, visits[id])
		}
		twice += visits[id] - 1
	}
	if len(visits) != 51 || twice != 0 {
		t.Fatalf("%d were visited, %d of them again", len(visits), twice)
	}
}

// A view is updated at display rate, on devices with a slow garbage collector.
func TestUpdateDoesNotAllocateWhileNoEntityComesOrGoes(t *testing.T) {
	g := visible()
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	sample.InSystem(w, func() {
		for i := range 500 {
			e := w.Spawn(ecs.OwnedByWorld, sample.ShownPositions, sample.Healths, sample.Velocities)
			sample.ShownPositions.Put(w, e, sample.PosAt(i, i))
		}
	})
	var ring [4]image.Snapshot
	tick := func() {
		w.Step(ecs.TickInputs{})
		for e := range ecs.NewQuery1(ecs.Write(sample.ShownPositions)).All(w) {
			e.A.X += fixed.FromInt(1)
		}
		w.Image().Save(&ring[w.Tick()%4])
	}
	for range 8 {
		tick()
		v.Update(&ring[(w.Tick()-1)%4], &ring[w.Tick()%4], &ring[(w.Tick()-2)%4], 0.5)
	}
	if n := testing.AllocsPerRun(50, func() {
		for range 4 {
			v.Update(&ring[(w.Tick()-1)%4], &ring[w.Tick()%4], &ring[(w.Tick()-2)%4], 0.25)
		}
	}); n != 0 {
		t.Fatalf("%v allocations in four updates of one tick", n)
	}
	move := ecs.NewQuery1(ecs.Write(sample.ShownPositions))
	if n := testing.AllocsPerRun(50, func() {
		w.Step(ecs.TickInputs{})
		for e := range move.All(w) {
			e.A.X += fixed.FromInt(1)
		}
		w.Image().Save(&ring[w.Tick()%4])
		v.Update(&ring[(w.Tick()-1)%4], &ring[w.Tick()%4], &ring[(w.Tick()-2)%4], 0.25)
	}); n != 0 {
		t.Fatalf("%v allocations in a tick and an update", n)
	}
}

func BenchmarkView(b *testing.B) {
	g := visible()
	w, v := sample.NewWorld(b, g), sample.NewView(b, g)
	for range 10000 {
		w.Spawn(ecs.OwnedByWorld, sample.ShownPositions, sample.Velocities)
	}
	w.Image().Flush()
	prev := sample.Saved(w)
	for e := range ecs.NewQuery1(ecs.Write(sample.ShownPositions)).All(w) {
		e.A.X += fixed.FromInt(1)
	}
	cur := sample.Saved(w)
	v.Update(prev, cur, cur, 0.5)
	b.Run("moving=10000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Update(prev, cur, cur, 0.5)
		}
	})
	b.Run("still=10000", func(b *testing.B) {
		for b.Loop() {
			v.Update(cur, cur, cur, 0.5)
		}
	})
}
