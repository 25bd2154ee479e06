package ecs_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/component"
	"github.com/yohamta/donburi/features/debug"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// After any sequence of spawns, despawns, adds, removes and rewinds, donburi's world has the entities that queries
// yield.
func TestDonburiHasTheEntitiesThatQueriesYield(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := sample.NewWorld(t, sample.Bare())
		var alive []ecs.Entity
		var kept []*image.Snapshot
		var keptAlive [][]ecs.Entity
		for range 60 {
			sample.InSystem(w, func() {
				for range r.IntN(12) {
					switch pick := r.IntN(10); {
					case pick < 4 || len(alive) == 0:
						e := w.Spawn(image.Owner(r.IntN(3)), ecs.Components(sample.Positions, sample.Velocities, sample.Tags, sample.Wides)[:r.IntN(5)]...)
						alive = append(alive, e)
					case pick < 6:
						at := r.IntN(len(alive))
						w.Despawn(alive[at])
						alive = append(alive[:at], alive[at+1:]...)
					case pick < 8:
						sample.Velocities.Add(w, alive[r.IntN(len(alive))], sample.Vel{X: 1})
					default:
						sample.Positions.Remove(w, alive[r.IntN(len(alive))])
					}
				}
			})
			if r.IntN(3) == 0 {
				kept, keptAlive = append(kept, sample.Saved(w)), append(keptAlive, append([]ecs.Entity(nil), alive...))
			}
			if len(kept) > 0 && r.IntN(5) == 0 {
				at := r.IntN(len(kept))
				w.Image().Restore(kept[at])
				alive = append([]ecs.Entity(nil), keptAlive[at]...)
			}
			if r.IntN(2) == 0 {
				sample.SameAsQueries(t, w)
			}
		}
		sample.SameAsQueries(t, w)
	}
}

// A room or a resimulated tick that does not use donburi has no donburi world.
func TestWorldHasNoDonburiWorldBeforeItIsUsed(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	sample.Play(w, 50)
	s := sample.Saved(w)
	sample.Play(w, 60)
	w.Image().Restore(s)
	if w.Bridged() {
		t.Fatal("a donburi world was made before it was used")
	}
}

// donburi's own Set keeps the caller's pointer: changes of the local variable would change the world without a mark.
func TestSetCopiesTheValue(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	local := sample.Pos{X: 1}
	sample.Positions.Set(w.Entry(e), &local)
	local.X = 2
	if got, _ := sample.Positions.Read(w, e); got.X != 1 {
		t.Fatalf("the world followed the caller's variable to %v", got.X)
	}
}

// A Component is the donburi component type itself: filters, queries, layouts and debugging find it by identity.
func TestComponentIsADonburiComponentType(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var a, b ecs.Entity
	sample.InSystem(w, func() {
		a = w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities)
		b = w.Spawn(ecs.OwnedBy(1), sample.Positions, sample.Tags)
	})
	sample.Positions.Put(w, b, sample.Pos{X: 5})
	world := w.Donburi()
	var found []ecs.Entity
	for entry := range donburi.NewQuery(filter.And(filter.Contains(sample.Positions), filter.Not(filter.Contains(sample.Velocities)))).Iter(world) {
		e, _ := ecs.EntityOf(entry)
		found = append(found, e)
	}
	if len(found) != 1 || found[0] != b {
		t.Fatalf("the filter found %v", found)
	}
	if n := donburi.NewQuery(filter.Contains(sample.Positions)).Count(world); n != 2 {
		t.Fatalf("a query counts %d", n)
	}
	if entry := w.Entry(a); !entry.HasComponent(sample.Velocities) || entry.HasComponent(sample.Tags) {
		t.Fatal("HasComponent does not know the component")
	}
	if counts := debug.GetEntityCounts(world); len(counts) != 2 {
		t.Fatalf("debug counts %v", counts)
	}
	if values := donburi.GetComponents(w.Entry(b)); len(values) != 3 || values[1] != (sample.Pos{X: 5}) {
		t.Fatalf("GetComponents returns %v", values)
	}
	seen := 0
	for range sample.Positions.Iter(world) {
		seen++
	}
	if first, ok := sample.Tags.First(world); !ok || first != w.Entry(b) || seen != 2 {
		t.Fatalf("Each saw %d, First found %t", seen, ok)
	}
	if _, ok := sample.Bags.First(world); ok {
		t.Fatal("First found a component that nothing has")
	}
	if id := sample.Positions.Id(); id != component.IComponentType(sample.Positions).Id() || sample.Positions.Name() != "pos" {
		t.Fatal("the component has lost its id or name")
	}
}

// An entity has no entry before queries yield it and after it is removed.
func TestEntryIsNilForEntitiesThatQueriesDoNotYield(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() {
		e = w.Spawn(ecs.OwnedByWorld, sample.Positions)
		if w.Entry(e) != nil {
			t.Error("a spawn that is queued has an entry")
		}
	})
	if w.Entry(e) == nil {
		t.Error("an entity has no entry")
	}
	sample.InSystem(w, func() {
		w.Despawn(e)
		if w.Entry(e) == nil {
			t.Error("a despawn that is queued took the entry")
		}
	})
	for _, none := range []ecs.Entity{e, {}, {Row: 1 << 31, Born: 1}, {Row: 9 << 20}, {Row: 5000, Born: 1}} {
		if w.Entry(none) != nil {
			t.Errorf("%v has an entry", none)
		}
	}
}

// A row may be freed and taken again between two updates. The presence bits are then equal, and the entity is not.
func TestRowTakenAgainBetweenUpdatesOfDonburiIsAnotherEntity(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var a, b ecs.Entity
	sample.InSystem(w, func() { a = w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	old := w.Entry(a).Entity()
	sample.InSystem(w, func() { w.Despawn(a) })
	sample.InSystem(w, func() { b = w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	if a.Row != b.Row {
		t.Fatal("the row was not taken again: the test proves nothing")
	}
	if w.Donburi().Valid(old) || w.Entry(a) != nil {
		t.Fatal("the first entity is still in donburi")
	}
	if got, ok := ecs.EntityOf(w.Entry(b)); !ok || got != b {
		t.Fatalf("the row's entry leads to %v", got)
	}
}

// An entity that exists before and after a rewind keeps its donburi entity.
func TestEntityKeepsItsDonburiEntityAcrossRewinds(t *testing.T) {
	g := sample.Busy()
	w := sample.NewWorld(t, g)
	sample.Play(w, 30)
	s := sample.Saved(w)
	kept := map[ecs.Entity]donburi.Entity{}
	for e := range sample.Placed.All(w) {
		kept[e.Entity()] = w.Entry(e.Entity()).Entity()
	}
	sample.Play(w, 40)
	w.Donburi()
	w.Image().Restore(s)
	sample.Play(w, 40)
	n := 0
	for e := range sample.Placed.All(w) {
		if was, ok := kept[e.Entity()]; ok {
			n++
			if now := w.Entry(e.Entity()).Entity(); now != was {
				t.Fatalf("%v was %v in donburi and is %v", e.Entity(), was, now)
			}
		}
	}
	if n < 10 {
		t.Fatalf("only %d entities lived through: the test proves little", n)
	}
}

// Only the World creates and removes entities. The panic names the call to use.
func TestDonburisOwnCreateAndRemoveAreRefused(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	world, entry := w.Donburi(), w.Entry(e)
	sample.MustPanic(t, "World.Despawn", func() { world.Remove(entry.Entity()) })
	sample.MustPanic(t, "World.Despawn", entry.Remove)
	if !entry.Valid() || w.Entry(e) != entry {
		t.Error("the refused removal has an effect")
	}
	sample.MustPanic(t, "World.Spawn", func() { world.Create(sample.Positions) })
	sample.MustPanic(t, "World.Spawn", func() { world.Create(sample.Sprites) })
	sample.MustPanic(t, "World.Spawn", func() { world.CreateMany(2, sample.Positions, sample.Velocities) })
}

// donburi's AddComponent, RemoveComponent and SetComponent have no callback. Verification finds their changes and
// names the entity and the component.
func TestChangesByDonburiCodeAreReported(t *testing.T) {
	cases := []struct {
		want   string
		change func(*donburi.Entry)
	}{
		{"vel was added", func(e *donburi.Entry) { donburi.Add(e, sample.Velocities, &sample.Vel{}) }},
		{"Sprite was added", func(e *donburi.Entry) { donburi.Add(e, sample.Sprites, &sample.Sprite{}) }},
		{"pos was removed", func(e *donburi.Entry) { donburi.Remove[sample.Pos](e, sample.Positions) }},
		{"its link was removed", func(e *donburi.Entry) { e.RemoveComponent(e.Archetype().ComponentTypes()[0]) }},
		{"pos points outside", func(e *donburi.Entry) { donburi.Set(e, sample.Positions, &sample.Pos{}) }},
	}
	for _, c := range cases {
		w := sample.NewWorld(t, sample.Bare())
		var e, last ecs.Entity
		sample.InSystem(w, func() {
			for range 200 {
				e = w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Tags)
			}
			last = w.Spawn(ecs.OwnedBy(2), sample.Seats)
		})
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
		c.change(w.Entry(e))
		err := w.Check()
		if err == nil || !strings.Contains(err.Error(), "entity 200 born in tick 1: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want entity 200 and %q", err, c.want)
		}
		sample.MustPanic(t, c.want, func() { // in rotation
			for range 20 {
				w.Donburi()
			}
		})
		sample.MustPanic(t, c.want, func() { // and where it changes
			sample.InSystem(w, func() { w.Despawn(e) })
			w.Entry(last)
		})
	}
}

// Without the check the later spawn would end in an index out of range inside donburi.
func TestSpawnIntoAnArchetypeThatAddComponentCreatedNamesTheEntity(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	donburi.Add(w.Entry(e), sample.Velocities, &sample.Vel{})
	sample.InSystem(w, func() { w.Spawn(ecs.OwnedBy(1), sample.Positions, sample.Velocities) })
	sample.MustPanic(t, "entity 1 born in tick 1: donburi's AddComponent", func() { w.Entry(e) })
}

// Get would otherwise write a value that is not part of the world.
func TestGetRefusesAPointerThatLeadsOutsideTheWorld(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	entry := w.Entry(e)
	donburi.Set(entry, sample.Positions, &sample.Pos{})
	sample.MustPanic(t, "points outside the world", func() { sample.Positions.Get(entry) })
	sample.MustPanic(t, "points outside the world", func() { sample.Positions.GetValue(entry) })
}

// An entry that was kept must never reach the row of a later entity.
func TestGetOfAnEntryWhoseEntityIsGonePanics(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	entry := w.Entry(e)
	sample.InSystem(w, func() { w.Despawn(e) })
	sample.InSystem(w, func() { w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	sample.MustPanic(t, "does not exist or has no component", func() { sample.Positions.Get(entry) }) // donburi is not updated yet
	sample.InSystem(w, func() { w.Despawn(ecs.Entity{Row: e.Row, Born: w.Tick() - 1}) })
	w.Donburi()
	sample.MustPanic(t, "take entries from", func() { sample.Positions.Get(entry) })
	if _, ok := ecs.EntityOf(entry); ok {
		t.Error("a removed entry leads to an entity")
	}
	own := donburi.NewWorld()
	foreign := own.Entry(own.Create(sample.Positions))
	sample.MustPanic(t, "take entries from", func() { sample.Positions.Get(foreign) })
	if _, ok := ecs.EntityOf(foreign); ok {
		t.Error("an entry of another world leads to an entity")
	}
	if _, ok := ecs.EntityOf(nil); ok {
		t.Error("no entry leads to an entity")
	}
}

// donburi v1.15.7: an archetype that AddComponent creates makes a later Create of it panic. If this test fails,
// donburi has fixed it, and the engine may use AddComponent.
func TestDonburiPanicsInAnArchetypeThatAddComponentCreated(t *testing.T) {
	a, b := donburi.NewComponentType[sample.Pos](), donburi.NewComponentType[sample.Vel]()
	world := donburi.NewWorld()
	world.Entry(world.Create(a)).AddComponent(b)
	defer func() {
		if recover() == nil {
			t.Error("donburi creates in an archetype born by AddComponent")
		}
	}()
	world.Create(a, b)
}

// The same case through the engine: a component is added, then an entity with both is spawned.
func TestSpawnAfterAnAddedComponentIsBridged(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	w.Donburi()
	sample.InSystem(w, func() { sample.Velocities.Add(w, e, sample.Vel{X: 3}) })
	sample.SameAsQueries(t, w)
	sample.InSystem(w, func() { w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities) })
	sample.SameAsQueries(t, w)
	sample.InSystem(w, func() { sample.Positions.Remove(w, e); w.Spawn(ecs.OwnedByWorld, sample.Velocities) })
	sample.SameAsQueries(t, w)
}

// donburi visits an entity twice if another is removed during an iteration. Despawns are queued, so no entity moves.
func TestDespawningInsideAnIterationVisitsEachEntityOnce(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	sample.InSystem(w, func() {
		for range 100 {
			w.Spawn(ecs.OwnedByWorld, sample.Positions)
		}
	})
	visits := map[ecs.Entity]int{}
	sample.InSystem(w, func() {
		for entry := range sample.Positions.Iter(w.Donburi()) {
			e, _ := ecs.EntityOf(entry)
			visits[e]++
			w.Despawn(e)
			w.Despawn(ecs.Entity{Row: e.Row ^ 1, Born: e.Born})
			w.Donburi()
		}
	})
	for e, n := range visits {
		if n != 1 {
			t.Errorf("%v was visited %d times", e, n)
		}
	}
	if len(visits) != 100 || w.Donburi().Len() != 0 {
		t.Errorf("%d were visited and %d are left", len(visits), w.Donburi().Len())
	}
}

// An entity whose components were all removed has a donburi entity too.
func TestEntityWithoutComponentsHasAnEntry(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld) })
	if entry := w.Entry(e); entry == nil || !entry.Valid() {
		t.Fatal("an entity without components has no entry")
	}
}

// A game's own OnCreate receives the entity with its values.
func TestCallbacksOfTheGameSeeConnectedEntities(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var created, removed []ecs.Entity
	w.Donburi().OnCreate(func(world donburi.World, d donburi.Entity) {
		entry := world.Entry(d)
		e, _ := ecs.EntityOf(entry)
		if sample.Positions.GetValue(entry).X != 9 {
			t.Error("the entity was announced before its values")
		}
		created = append(created, e)
	})
	w.Donburi().OnRemove(func(world donburi.World, d donburi.Entity) {
		e, _ := ecs.EntityOf(world.Entry(d))
		removed = append(removed, e)
	})
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.Positions); sample.Positions.Put(w, e, sample.Pos{X: 9}) })
	w.Donburi()
	sample.InSystem(w, func() { w.Despawn(e) })
	w.Donburi()
	if len(created) != 1 || created[0] != e || len(removed) != 1 || removed[0] != e {
		t.Fatalf("created %v, removed %v, want %v", created, removed, e)
	}
}
