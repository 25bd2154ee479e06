//go:build moving

package ecs

import (
	"slices"
	"testing"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/features/transform"
	"github.com/yohamta/donburi/filter"
)

// Donburi's order depends on which archetype was first used and on what was removed before. Ordered follows the rows.
func TestOrderedWalksADonburiQueryInTheOrderOfRows(t *testing.T) {
	g := busyGame()
	w := newWorld(t, g)
	query := donburi.NewQuery(filter.Contains(cPos))
	var list []Entity
	inSystem(w, func() {
		for i := range 200 {
			e := w.Spawn(OwnedByWorld, cPos)
			if list = append(list, e); i%3 == 0 {
				cVel.Add(w, e, tVel{})
			}
		}
	})
	w.Donburi()
	inSystem(w, func() {
		for i, e := range list {
			if i%4 == 1 {
				w.Despawn(e)
			} else if i%7 == 2 {
				cVel.Add(w, e, tVel{})
			}
		}
	})
	inSystem(w, func() {
		for range 30 {
			w.Spawn(OwnedBy(0), cPos, cVel)
		}
	})
	rows := func(entries func(func(*donburi.Entry) bool)) (rows []uint32) {
		for entry := range entries {
			e, _ := EntityOf(entry)
			rows = append(rows, e.Row)
		}
		return rows
	}
	theirs, ordered := rows(query.Iter(w.Donburi())), rows(Ordered(w, query))
	if slices.IsSorted(theirs) {
		t.Fatal("donburi's order is that of the rows: the test proves nothing")
	}
	slices.Sort(theirs)
	if !slices.Equal(ordered, theirs) {
		t.Fatalf("%d rows in the order %v, want %d", len(ordered), ordered, len(theirs))
	}
	nested := 0
	for range Ordered(w, query) {
		for range Ordered(w, query) {
			nested++
		}
	}
	if nested != len(theirs)*len(theirs) {
		t.Errorf("nested walks saw %d pairs of %d entries", nested, len(theirs))
	}
	if allocs := testing.AllocsPerRun(20, func() {
		for range Ordered(w, query) {
		}
	}); allocs > 12 { // donburi's own iteration of several archetypes
		t.Errorf("a walk allocates %v times", allocs)
	}
}

// A wound is a sprite that a view hangs on an avatar with donburi's own hierarchy. The avatar's components change and
// ticks are rewound meanwhile; the wound leaves with the avatar.
func TestDonburisHierarchyWorksInAView(t *testing.T) {
	g := viewGame()
	wound := donburi.NewTag()
	var left []Entity
	g.Screen.Dress = func(v *View, entry *donburi.Entry) {
		entry.AddComponent(transform.Transform)
		child := v.World.Entry(v.World.Create(transform.Transform, wound))
		transform.AppendChild(entry, child, false)
	}
	g.Screen.Undress = func(v *View, entry *donburi.Entry) {
		if e, ok := EntityOf(entry); ok {
			left = append(left, e)
		}
		transform.RemoveChildrenRecursive(entry)
	}
	w, v := newWorld(t, g), newView(t, g)
	var a, b Entity
	inSystem(w, func() { a = w.Spawn(OwnedByWorld, vPos); b = w.Spawn(OwnedBy(1), vPos) })
	first := saved(w)
	v.Update(nil, first, nil, 1)
	wounds := func() (n int) {
		for entry := range donburi.NewQuery(filter.Contains(wound)).Iter(v.World) {
			n++
			if parent, ok := transform.GetParent(entry); !ok || !parent.Valid() || !parent.HasComponent(vPos) && !parent.HasComponent(cVel) {
				t.Errorf("a wound has lost its avatar: %v, %t", parent, ok)
			}
		}
		return n
	}
	entry := v.Entry(a)
	for _, change := range []func(){
		func() { cVel.Add(w, a, tVel{X: 3}); cVel.Add(w, b, tVel{}) },
		func() { vPos.Remove(w, a) },
		func() { vPos.Add(w, a, posAt(1, 1)); cVel.Remove(w, b) },
		func() { w.Spawn(OwnedBy(0), vPos) },
	} {
		inSystem(w, change)
		v.Update(first, saved(w), nil, 0.5)
		if v.Entry(a) != entry {
			t.Fatal("another set of components took the avatar's entry")
		}
		if n := wounds(); n != v.World.Len()/2 || len(left) != 0 {
			t.Fatalf("%d wounds on %d entities; %v left", n, v.World.Len()/2, left)
		}
	}
	inSystem(w, func() { w.Despawn(a); w.Despawn(b) })
	v.Update(first, saved(w), nil, 1)
	if !slices.Equal(left, []Entity{a, b}) || wounds() != 2 || v.World.Len() != 4 {
		t.Fatalf("%v left, want %v; %d wounds, %d in donburi's world", left, []Entity{a, b}, wounds(), v.World.Len())
	}
	w.Image().Restore(first)
	v.Update(nil, saved(w), nil, 1)
	if len(left) != 3 || wounds() != 3 {
		t.Fatalf("after the rewind %v left and %d wounds are shown", left, wounds())
	}
	if err := v.Sim.CheckDonburi(); err != nil {
		t.Fatal(err)
	}
}
