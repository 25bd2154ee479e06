package image_test

import (
	"math"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// The reader of a desync report knows the game and not the engine: it names component, entity, field and both
// values.
func TestFirstDifferenceNamesComponentEntityFieldAndValues(t *testing.T) {
	type change func(w *ecs.World, list []ecs.Entity)
	cases := []struct {
		want   string
		change change
	}{
		{"tick 4: pos of entity 0 of player 1 born in tick 4: Y is 0 here and 7 there", func(w *ecs.World, list []ecs.Entity) { sample.Positions.Write(w, list[1]).Y = 7 << 32 }},
		{"tick 4: mixed of entity 1 of the world born in tick 4: Inner.B is -3 here and 4 there", func(w *ecs.World, list []ecs.Entity) {
			sample.Mixtures.Write(w, list[0]).Inner.B = 4
		}},
		{"tick 4: mixed of entity 1 of the world born in tick 4: Flags[1] is false here and true there", func(w *ecs.World, list []ecs.Entity) {
			sample.Mixtures.Write(w, list[0]).Flags[1] = true
		}},
		{"tick 4: mixed of entity 1 of the world born in tick 4: Energy is 0 here and -0 there", func(w *ecs.World, list []ecs.Entity) {
			sample.Mixtures.Write(w, list[0]).Energy = math.Copysign(0, -1)
		}},
		{"tick 4: mixed of entity 1 of the world born in tick 4: Target.Row is 0 here and 1 there", func(w *ecs.World, list []ecs.Entity) {
			sample.Mixtures.Write(w, list[0]).Target = list[0]
		}},
		{"tick 4: bag of entity 0 of player 1 born in tick 4: Items.Len is 0 here and 1 there", func(w *ecs.World, list []ecs.Entity) {
			b := sample.Bags.Write(w, list[1])
			b.Items.Append(sample.Item{Kind: 3})
		}},
		{"tick 4: score: Points[2] is 0 here and 5 there", func(w *ecs.World, list []ecs.Entity) { sample.Scores.Write(w).Points[2] = 5 }},
		{"tick 4: entity 2 of the world born in tick 4: exists is false here and true there", func(w *ecs.World, list []ecs.Entity) {
			w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities)
		}},
		{"tick 4: entity 0 of player 1 born in tick 4: exists is true here and false there", func(w *ecs.World, list []ecs.Entity) { w.Despawn(list[1]) }},
		{"tick 4: tag of entity 1 of the world born in tick 4: exists is true here and false there", func(w *ecs.World, list []ecs.Entity) {
			sample.Tags.Remove(w, list[0])
			sample.Mixtures.Write(w, list[0]).Lives = 9 // comes later in the order
		}},
		{"tick 4: tick: Rand.pcg.", func(w *ecs.World, list []ecs.Entity) { w.Rand().Uint64() }},
		{"tick 4: inputs: input of player 2, Aim is 0 here and 6 there", func(w *ecs.World, list []ecs.Entity) {
			w.Image().TakeInputs([]ecs.InputBytes{{}, {}, sample.Pads.Pack(sample.Pad{Aim: 6})})
		}},
		{"tick 4: inputs: last input of player 0, DX is 0 here and -1 there", func(w *ecs.World, list []ecs.Entity) {
			w.Image().TakeInputs([]ecs.InputBytes{sample.Pads.Pack(sample.Pad{DX: -1})})
			w.Image().TakeInputs(nil)
		}},
	}
	for _, c := range cases {
		build := func(change change) *image.Snapshot {
			w := sample.NewWorld(t, sample.Bare())
			for range 3 {
				w.Step(ecs.TickInputs{})
			}
			var list []ecs.Entity
			sample.InSystem(w, func() {
				list = append(list, w.Spawn(ecs.OwnedByWorld, sample.Mixtures, sample.Tags), w.Spawn(ecs.OwnedBy(1), sample.Positions, sample.Bags))
				sample.Mixtures.Write(w, list[0]).Inner.B = -3
			})
			change(w, list)
			w.Image().Flush()
			w.Image().ReleaseReserved()
			return sample.Saved(w)
		}
		// Pages of other owners first, so that the two worlds number theirs differently.
		here, there := build(func(w *ecs.World, _ []ecs.Entity) {
			e := w.Spawn(ecs.OwnedBy(3), sample.Wides)
			w.Image().Flush()
			w.Despawn(e)
		}), build(c.change)
		d, ok := image.FirstDifference(here, there)
		if !ok || !strings.HasPrefix(d.String(), c.want) {
			t.Errorf("%v\nwant %s", d, c.want)
		}
		if all := image.Differences(here, there, 100); len(all) == 0 || all[0] != d || len(all) > 6 {
			t.Errorf("%d differences, the first %v", len(all), all)
		}
		if all := image.Differences(here, there, 100); d.Component == "entity" && len(all) != 1 {
			t.Errorf("an entity that only one side has is reported %d times: %v", len(all), all)
		}
		if back, ok := image.FirstDifference(there, here); !ok || back.Here != d.There || back.There != d.Here || back.Field != d.Field {
			t.Errorf("the other way round it reads %v", back)
		}
		if d, ok := image.FirstDifference(there, there); ok {
			t.Error("a state differs from itself:", d)
		}
	}
}

// Two values with the same text are shown with their bytes.
func TestValuesThatPrintAlikeAreShownAsBytes(t *testing.T) {
	build := func(bits uint64) *image.Snapshot {
		w := sample.NewWorld(t, sample.Bare())
		sample.InSystem(w, func() {
			*sample.Mixtures.Write(w, w.Spawn(ecs.OwnedByWorld, sample.Mixtures)) = sample.Mixed{Energy: math.Float64frombits(bits)}
		})
		return sample.Saved(w)
	}
	d, _ := image.FirstDifference(build(0x7ff8000000000001), build(0x7ff8000000000002))
	if d.Here != "NaN (bytes 010000000000f87f)" || d.There != "NaN (bytes 020000000000f87f)" {
		t.Error(d)
	}
}

// A report has a bounded length. Another entity in the same row is reported as such, not as different fields.
func TestDifferencesAreBoundedAndBlameTheEntityFirst(t *testing.T) {
	build := func(late ecs.Tick) *image.Snapshot {
		w := sample.NewWorld(t, sample.Bare())
		for w.Tick() < late {
			w.Step(ecs.TickInputs{})
		}
		sample.InSystem(w, func() {
			for range 300 {
				sample.Positions.Put(w, w.Spawn(ecs.OwnedBy(2), sample.Positions, sample.Velocities), sample.Pos{X: 1 << late})
			}
		})
		for w.Tick() < 9 {
			w.Step(ecs.TickInputs{})
		}
		return sample.Saved(w)
	}
	all := image.Differences(build(3), build(5), 20)
	if len(all) != 20 {
		t.Fatal(len(all))
	}
	for i, d := range all {
		if d.Component != "entity" || d.Field != "Born" || d.Here != "4" || d.There != "6" || d.Entity.Row%image.RegionRows != uint32(i) {
			t.Errorf("difference %d: %v", i, d)
		}
	}
	if d, ok := image.FirstDifference(build(3), build(3)); ok {
		t.Error(d)
	}
	sample.MustPanic(t, "same game", func() {
		image.FirstDifference(sample.Saved(sample.NewWorld(t, sample.Bare())), sample.Saved(sample.NewWorld(t, sample.Busy())))
	})
	sample.MustPanic(t, "same game", func() { image.FirstDifference(&image.Snapshot{}, &image.Snapshot{}) })
}
