//go:build moving

package ecs

import (
	"math"
	"strings"
	"testing"
)

// A desync report is read by someone who knows the game, not the engine: it names component, entity, field and both
// values.
func TestFirstDifferenceNamesComponentEntityFieldAndValues(t *testing.T) {
	type change func(w *World, list []Entity)
	cases := []struct {
		want   string
		change change
	}{
		{"tick 4: pos of entity 0 of player 1 born in tick 4: Y is 0 here and 7 there", func(w *World, list []Entity) { cPos.Write(w, list[1]).Y = 7 << 32 }},
		{"tick 4: mixed of entity 1 of the world born in tick 4: Inner.B is -3 here and 4 there", func(w *World, list []Entity) {
			cMixed.Write(w, list[0]).Inner.B = 4
		}},
		{"tick 4: mixed of entity 1 of the world born in tick 4: Flags[1] is false here and true there", func(w *World, list []Entity) {
			cMixed.Write(w, list[0]).Flags[1] = true
		}},
		{"tick 4: mixed of entity 1 of the world born in tick 4: Energy is 0 here and -0 there", func(w *World, list []Entity) {
			cMixed.Write(w, list[0]).Energy = math.Copysign(0, -1)
		}},
		{"tick 4: mixed of entity 1 of the world born in tick 4: Target.Row is 0 here and 1 there", func(w *World, list []Entity) {
			cMixed.Write(w, list[0]).Target = list[0]
		}},
		{"tick 4: bag of entity 0 of player 1 born in tick 4: Items.Len is 0 here and 1 there", func(w *World, list []Entity) {
			b := cBag.Write(w, list[1])
			b.Items.Append(tItem{Kind: 3})
		}},
		{"tick 4: score: Points[2] is 0 here and 5 there", func(w *World, list []Entity) { rScore.Write(w).Points[2] = 5 }},
		{"tick 4: entity 2 of the world born in tick 4: exists is false here and true there", func(w *World, list []Entity) {
			w.Spawn(OwnedByWorld, cPos, cVel)
		}},
		{"tick 4: entity 0 of player 1 born in tick 4: exists is true here and false there", func(w *World, list []Entity) { w.Despawn(list[1]) }},
		{"tick 4: tag of entity 1 of the world born in tick 4: exists is true here and false there", func(w *World, list []Entity) {
			cTag.Remove(w, list[0])
			cMixed.Write(w, list[0]).Lives = 9 // comes later in the order
		}},
		{"tick 4: tick: Rand.pcg.", func(w *World, list []Entity) { w.Rand().Uint64() }},
		{"tick 4: inputs: input of player 2, Aim is 0 here and 6 there", func(w *World, list []Entity) {
			w.takeInputs([]InputBytes{{}, {}, tInput.Pack(tPad{Aim: 6})})
		}},
		{"tick 4: inputs: last input of player 0, DX is 0 here and -1 there", func(w *World, list []Entity) {
			w.takeInputs([]InputBytes{tInput.Pack(tPad{DX: -1})})
			w.takeInputs(nil)
		}},
	}
	for _, c := range cases {
		build := func(change change) *Snapshot {
			w := newWorld(t, tGame())
			for range 3 {
				w.Step(TickInputs{})
			}
			var list []Entity
			inSystem(w, func() {
				list = append(list, w.Spawn(OwnedByWorld, cMixed, cTag), w.Spawn(OwnedBy(1), cPos, cBag))
				cMixed.Write(w, list[0]).Inner.B = -3
			})
			change(w, list)
			w.flush()
			w.releaseHeld()
			return saved(w)
		}
		// Pages of other owners first, so that the two worlds number theirs differently.
		here, there := build(func(w *World, _ []Entity) {
			e := w.Spawn(OwnedBy(3), cWide)
			w.flush()
			w.Despawn(e)
		}), build(c.change)
		d, ok := FirstDifference(here, there)
		if !ok || !strings.HasPrefix(d.String(), c.want) {
			t.Errorf("%v\nwant %s", d, c.want)
		}
		if all := Differences(here, there, 100); len(all) == 0 || all[0] != d || len(all) > 6 {
			t.Errorf("%d differences, the first %v", len(all), all)
		}
		if all := Differences(here, there, 100); d.Component == "entity" && len(all) != 1 {
			t.Errorf("an entity that only one side has is reported %d times: %v", len(all), all)
		}
		if back, ok := FirstDifference(there, here); !ok || back.Here != d.There || back.There != d.Here || back.Field != d.Field {
			t.Errorf("the other way round it reads %v", back)
		}
		if d, ok := FirstDifference(there, there); ok {
			t.Error("a state differs from itself:", d)
		}
	}
}

// Two values that print alike are shown with their bytes, or the report would say nothing.
func TestValuesThatPrintAlikeAreShownAsBytes(t *testing.T) {
	build := func(bits uint64) *Snapshot {
		w := newWorld(t, tGame())
		inSystem(w, func() {
			*cMixed.Write(w, w.Spawn(OwnedByWorld, cMixed)) = tMixed{Energy: math.Float64frombits(bits)}
		})
		return saved(w)
	}
	d, _ := FirstDifference(build(0x7ff8000000000001), build(0x7ff8000000000002))
	if d.Here != "NaN (bytes 010000000000f87f)" || d.There != "NaN (bytes 020000000000f87f)" {
		t.Error(d)
	}
}

// A report is bounded however much went wrong, and another entity in the same row is not blamed on its fields.
func TestDifferencesAreBoundedAndBlameTheEntityFirst(t *testing.T) {
	build := func(late Tick) *Snapshot {
		w := newWorld(t, tGame())
		for w.Tick() < late {
			w.Step(TickInputs{})
		}
		inSystem(w, func() {
			for range 300 {
				cPos.Put(w, w.Spawn(OwnedBy(2), cPos, cVel), tPos{X: 1 << late})
			}
		})
		for w.Tick() < 9 {
			w.Step(TickInputs{})
		}
		return saved(w)
	}
	all := Differences(build(3), build(5), 20)
	if len(all) != 20 {
		t.Fatal(len(all))
	}
	for i, d := range all {
		if d.Component != "entity" || d.Field != "Born" || d.Here != "4" || d.There != "6" || d.Entity.Row%regionRows != uint32(i) {
			t.Errorf("difference %d: %v", i, d)
		}
	}
	if d, ok := FirstDifference(build(3), build(3)); ok {
		t.Error(d)
	}
	mustPanic(t, "same game", func() { FirstDifference(saved(newWorld(t, tGame())), saved(newWorld(t, busyGame()))) })
	mustPanic(t, "same game", func() { FirstDifference(&Snapshot{}, &Snapshot{}) })
}
