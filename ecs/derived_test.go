//go:build moving

package ecs

import (
	"strings"
	"testing"
)

// A world that was restored and one that was not must hand the same derived data to a tick, also when an order changes
// the state before the first system asks for it.
func TestDerivedDataOfATickIsThatOfTheStateBeforeItsOrders(t *testing.T) {
	thing := NewComponent[struct{ N int32 }]("thing")
	things := NewQuery1(Read(thing))
	count := NewDerived("count", func(w *World, into *int) {
		*into = 0
		for range things.All(w) {
			*into++
		}
	}, func(a, b *int) bool { return *a == *b })
	var seen []int
	g := &Game{Name: "derived", TickRate: 60, MaxPlayers: 2, Input: NewInput[struct{ N int8 }](),
		Components: Components(thing), Derived: []AnyDerived{count},
		Systems: []System{
			{Name: "ask", Run: func(w *World) { seen = append(seen, *count.Of(w)) }},
			{Name: "survey", Run: func(w *World) {
				n := 0
				for range things.All(w) {
					n++
				}
				*count.Of(w) = n
			}},
		},
		Setup: func(w *World) { count.Of(w); w.Spawn(OwnedByWorld, thing) },
		Join:  func(w *World, p Player) { w.Spawn(OwnedBy(p), thing) },
	}
	w, err := NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	var s Snapshot
	w.Step(TickInputs{})
	w.Image().Save(&s)
	joins := TickInputs{Orders: []Order{{Kind: OrderJoin, Player: 1}}}
	w.Step(joins)
	w.Image().Restore(&s)
	w.Step(joins)
	if len(seen) != 3 || seen[0] != 1 || seen[1] != 1 || seen[2] != 1 {
		t.Fatalf("the ticks saw %d things, want 1 after Setup, 1 in a tick with a join, 1 in the same tick after a restore", seen)
	}
	if err := w.CheckDerived(); err != nil {
		t.Fatal(err)
	}
}

// Derived data that a system forgot to keep in step is the desync that no checksum sees; SyncTest asks CheckDerived.
func TestCheckDerivedNamesWhatWasNotKeptInStep(t *testing.T) {
	builds := 0
	total := NewDerived("total", func(w *World, into *int) {
		builds++
		*into = 0
		for e := range qPos.All(w) {
			*into += int(e.A.X)
		}
	}, func(a, b *int) bool { return *a == *b })
	g := tGame()
	g.Derived = []AnyDerived{total}
	w := newWorld(t, g)
	inSystem(w, func() { cPos.Put(w, w.Spawn(OwnedByWorld, cPos), tPos{X: 5}) })
	s := saved(w)
	w.Image().Restore(s)
	if *total.Of(w) != 5 {
		t.Error("not built after a restore:", *total.Of(w))
	}
	before := builds
	if total.Of(w); builds != before {
		t.Error("built again although nothing was restored")
	}
	cPos.Put(w, Entity{Row: 1, Born: 1}, tPos{X: 6})
	if err := w.CheckDerived(); err == nil || !strings.Contains(err.Error(), `derived "total"`) {
		t.Error("a stale value passes:", err)
	}
	*total.Of(w) = 6
	if err := w.CheckDerived(); err != nil {
		t.Error(err)
	}
	w.Image().Restore(s)
	if *total.Of(w) != 5 || w.CheckDerived() != nil {
		t.Error("a restore keeps the value of the state before")
	}
	if err := w.Image().Load(saved(newWorld(t, g)).AppendImage(nil)); err != nil || *total.Of(w) != 0 {
		t.Error("a loaded image keeps the value of the state before:", err)
	}
}
