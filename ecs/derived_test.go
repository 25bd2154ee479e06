package ecs

import "testing"

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
	w.Save(&s)
	joins := TickInputs{Orders: []Order{{Kind: OrderJoin, Player: 1}}}
	w.Step(joins)
	w.Restore(&s)
	w.Step(joins)
	if len(seen) != 3 || seen[0] != 1 || seen[1] != 1 || seen[2] != 1 {
		t.Fatalf("the ticks saw %d things, want 1 after Setup, 1 in a tick with a join, 1 in the same tick after a restore", seen)
	}
	if err := w.CheckDerived(); err != nil {
		t.Fatal(err)
	}
}
