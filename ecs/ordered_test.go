package ecs_test

import (
	"slices"
	"testing"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/features/transform"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs"
	"tendon/ecs/internal/sample"
)

// Donburi's order depends on the first use of each archetype and on earlier removals. Ordered follows the rows.
func TestOrderedWalksADonburiQueryInTheOrderOfRows(t *testing.T) {
	g := sample.Busy()
	w := sample.NewWorld(t, g)
	query := donburi.NewQuery(filter.Contains(sample.Positions))
	var list []ecs.Entity
	sample.InSystem(w, func() {
		for i := range 200 {
			e := w.Spawn(ecs.OwnedByWorld, sample.Positions)
			if list = append(list, e); i%3 == 0 {
				sample.Velocities.Add(w, e, sample.Vel{})
			}
		}
	})
	w.Donburi()
	sample.InSystem(w, func() {
		for i, e := range list {
			if i%4 == 1 {
				w.Despawn(e)
			} else if i%7 == 2 {
				sample.Velocities.Add(w, e, sample.Vel{})
			}
		}
	})
	sample.InSystem(w, func() {
		for range 30 {
			w.Spawn(ecs.OwnedBy(0), sample.Positions, sample.Velocities)
		}
	})
	rows := func(entries func(func(*donburi.Entry) bool)) (rows []uint32) {
		for entry := range entries {
			e, _ := ecs.EntityOf(entry)
			rows = append(rows, e.Row)
		}
		return rows
	}
	theirs, ordered := rows(query.Iter(w.Donburi())), rows(ecs.Ordered(w, query))
	if slices.IsSorted(theirs) {
		t.Fatal("donburi's order is that of the rows: the test proves nothing")
	}
	slices.Sort(theirs)
	if !slices.Equal(ordered, theirs) {
		t.Fatalf("%d rows in the order %v, want %d", len(ordered), ordered, len(theirs))
	}
	nested := 0
	for range ecs.Ordered(w, query) {
		for range ecs.Ordered(w, query) {
			nested++
		}
	}
	if nested != len(theirs)*len(theirs) {
		t.Errorf("nested walks saw %d pairs of %d entries", nested, len(theirs))
	}
	if allocs := testing.AllocsPerRun(20, func() {
		for range ecs.Ordered(w, query) {
		}
	}); allocs > 12 { // donburi's own iteration of several archetypes
		t.Errorf("a walk allocates %v times", allocs)
	}
}

// A wound is a sprite that a view attaches to an avatar by donburi's own hierarchy. Meanwhile the avatar's
// components change and ticks are rewound. The wound is removed with the avatar.
func TestDonburisHierarchyWorksInAView(t *testing.T) {
	g := visible()
	wound := donburi.NewTag()
	var left []ecs.Entity
	g.Screen.Dress = func(v *ecs.View, entry *donburi.Entry) {
		entry.AddComponent(transform.Transform)
		child := v.World.Entry(v.World.Create(transform.Transform, wound))
		transform.AppendChild(entry, child, false)
	}
	g.Screen.Undress = func(v *ecs.View, entry *donburi.Entry) {
		if e, ok := ecs.EntityOf(entry); ok {
			left = append(left, e)
		}
		transform.RemoveChildrenRecursive(entry)
	}
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	var a, b ecs.Entity
	sample.InSystem(w, func() {
		a = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions)
		b = w.Spawn(ecs.OwnedBy(1), sample.ShownPositions)
	})
	first := sample.Saved(w)
	v.Update(nil, first, nil, 1)
	wounds := func() (n int) {
		for entry := range donburi.NewQuery(filter.Contains(wound)).Iter(v.World) {
			n++
			if parent, ok := transform.GetParent(entry); !ok || !parent.Valid() || !parent.HasComponent(sample.ShownPositions) && !parent.HasComponent(sample.Velocities) {
				t.Errorf("a wound has lost its avatar: %v, %t", parent, ok)
			}
		}
		return n
	}
	entry := v.Sim.Entry(a)
	for _, change := range []func(){
		func() { sample.Velocities.Add(w, a, sample.Vel{X: 3}); sample.Velocities.Add(w, b, sample.Vel{}) },
		func() { sample.ShownPositions.Remove(w, a) },
		func() { sample.ShownPositions.Add(w, a, sample.PosAt(1, 1)); sample.Velocities.Remove(w, b) },
		func() { w.Spawn(ecs.OwnedBy(0), sample.ShownPositions) },
	} {
		sample.InSystem(w, change)
		v.Update(first, sample.Saved(w), nil, 0.5)
		if v.Sim.Entry(a) != entry {
			t.Fatal("another set of components took the avatar's entry")
		}
		if n := wounds(); n != v.World.Len()/2 || len(left) != 0 {
			t.Fatalf("%d wounds on %d entities; %v left", n, v.World.Len()/2, left)
		}
	}
	sample.InSystem(w, func() { w.Despawn(a); w.Despawn(b) })
	v.Update(first, sample.Saved(w), nil, 1)
	if !slices.Equal(left, []ecs.Entity{a, b}) || wounds() != 2 || v.World.Len() != 4 {
		t.Fatalf("%v left, want %v; %d wounds, %d in donburi's world", left, []ecs.Entity{a, b}, wounds(), v.World.Len())
	}
	w.Image().Restore(first)
	v.Update(nil, sample.Saved(w), nil, 1)
	if len(left) != 3 || wounds() != 3 {
		t.Fatalf("after the rewind %v left and %d wounds are shown", left, wounds())
	}
	if err := v.Sim.Check(); err != nil {
		t.Fatal(err)
	}
}
