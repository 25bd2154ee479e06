package ecs_test

import (
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// A restored world and another one must have the same derived data in a tick, also if an order changes the state
// before a system uses the data.
func TestDerivedDataOfATickIsThatOfTheStateBeforeItsOrders(t *testing.T) {
	thing := ecs.NewComponent[struct{ N int32 }]("thing")
	things := ecs.NewQuery1(ecs.Read(thing))
	count := ecs.NewDerived("count", func(w *ecs.World, into *int) {
		*into = 0
		for range things.All(w) {
			*into++
		}
	}, func(a, b *int) bool { return *a == *b })
	var seen []int
	g := &ecs.Game{Name: "derived", TickRate: 60, MaxPlayers: 2, Input: ecs.NewInput[struct{ N int8 }](),
		Components: ecs.Components(thing), Derived: []ecs.AnyDerived{count},
		Systems: []ecs.System{
			{Name: "ask", Run: func(w *ecs.World) { seen = append(seen, *count.Of(w)) }},
			{Name: "survey", Run: func(w *ecs.World) {
				n := 0
				for range things.All(w) {
					n++
				}
				*count.Of(w) = n
			}},
		},
		Setup: func(w *ecs.World) { count.Of(w); w.Spawn(ecs.OwnedByWorld, thing) },
		Join:  func(w *ecs.World, p ecs.Player, _ ecs.Card) { w.Spawn(ecs.OwnedBy(p), thing) },
	}
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	var s image.Snapshot
	w.Step(ecs.TickInputs{})
	w.Image().Save(&s)
	joins := ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 1}}}
	w.Step(joins)
	w.Image().Restore(&s)
	w.Step(joins)
	if len(seen) != 3 || seen[0] != 1 || seen[1] != 1 || seen[2] != 1 {
		t.Fatalf("the ticks saw %d things, want 1 after Setup, 1 in a tick with a join, 1 in the same tick after a restore", seen)
	}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
}

// Derived data of EachTick follows the state without a system, and a tick uses that of the state before.
func TestDerivedDataOfEachTickFollowsTheState(t *testing.T) {
	sum := ecs.NewDerived("sum", func(w *ecs.World, into *int) {
		*into = 0
		for e := range sample.Placed.All(w) {
			*into += int(e.A.X)
		}
	}, func(a, b *int) bool { return *a == *b }).EachTick()
	g := sample.Bare()
	g.Derived = []ecs.AnyDerived{sum}
	var used []int
	g.Systems = ecs.Systems(func(w *ecs.World) {
		used = append(used, *sum.Of(w))
		sample.Positions.Put(w, w.Spawn(ecs.OwnedByWorld, sample.Positions), sample.Pos{X: 3})
		used = append(used, *sum.Of(w))
	})
	w := sample.NewWorld(t, g)
	for tick := range 3 {
		s := sample.Saved(w)
		w.Step(ecs.TickInputs{})
		if used[2*tick] != 3*tick || used[2*tick+1] != 3*tick || *sum.Of(w) != 3*tick+3 || w.Check() != nil {
			t.Fatalf("tick %d used %v and left %d, %v", tick+1, used, *sum.Of(w), w.Check())
		}
		w.Image().Restore(s)
		w.Step(ecs.TickInputs{})
		if used[len(used)-1] != 3*tick || *sum.Of(w) != 3*tick+3 {
			t.Fatalf("tick %d after a restore used %v and left %d", tick+1, used, *sum.Of(w))
		}
		used = used[:2*tick+2]
	}
	// It also follows a change from outside, which only tests make.
	sample.Positions.Put(w, ecs.Entity{Row: 1, Born: 1}, sample.Pos{X: 100})
	if w.Step(ecs.TickInputs{}); used[6] != 3*2+100 || w.Check() != nil {
		t.Fatalf("the tick used %v, %v", used, w.Check())
	}
}

// Stale derived data is a desync that checksums do not show; SyncTest calls Check.
func TestCheckNamesStaleDerivedData(t *testing.T) {
	builds := 0
	total := ecs.NewDerived("total", func(w *ecs.World, into *int) {
		builds++
		*into = 0
		for e := range sample.Placed.All(w) {
			*into += int(e.A.X)
		}
	}, func(a, b *int) bool { return *a == *b })
	g := sample.Bare()
	g.Derived = []ecs.AnyDerived{total}
	w := sample.NewWorld(t, g)
	sample.InSystem(w, func() { sample.Positions.Put(w, w.Spawn(ecs.OwnedByWorld, sample.Positions), sample.Pos{X: 5}) })
	s := sample.Saved(w)
	w.Image().Restore(s)
	if *total.Of(w) != 5 {
		t.Error("not built after a restore:", *total.Of(w))
	}
	before := builds
	if total.Of(w); builds != before {
		t.Error("built again although nothing was restored")
	}
	sample.Positions.Put(w, ecs.Entity{Row: 1, Born: 1}, sample.Pos{X: 6})
	if err := w.Check(); err == nil || !strings.Contains(err.Error(), `derived "total"`) {
		t.Error("a stale value passes:", err)
	}
	*total.Of(w) = 6
	if err := w.Check(); err != nil {
		t.Error(err)
	}
	w.Image().Restore(s)
	if *total.Of(w) != 5 || w.Check() != nil {
		t.Error("a restore keeps the value of the state before")
	}
	if err := w.Image().Load(sample.Saved(sample.NewWorld(t, g)).AppendImage(nil)); err != nil || *total.Of(w) != 0 {
		t.Error("a loaded image keeps the value of the state before:", err)
	}
}
