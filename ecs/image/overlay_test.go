package image_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

// randomRows returns a set of whole owners and of single rows.
func randomRows(r *rand.Rand) *image.RowSet {
	s := &image.RowSet{}
	for o := range image.Owner(5) {
		if r.IntN(3) == 0 {
			s.AddOwner(o)
		}
	}
	for range r.IntN(60) {
		row := uint32(r.IntN(5))<<image.RegionShift | uint32(r.IntN(70))
		if r.IntN(2) == 0 {
			s.Add(row)
		} else {
			s.Remove(row)
		}
	}
	return s
}

// filledGame is sample.Busy with rows in every component. Pages of all sizes have rows of several owners, and owner sets contain parts of
// pages.
func filledGame() *ecs.Game {
	g := sample.Busy()
	g.Systems = append(g.Systems, ecs.System{Name: "filled", Run: func(w *ecs.World) {
		if w.Tick() == 1 {
			for i := range 40 {
				w.Spawn(image.Owner(i%5), sample.Wides, sample.Tags, sample.Bags)
			}
		}
		for e := range ecs.NewQuery1(ecs.Write(sample.Wides)).All(w) {
			e.A.Cells[w.Tick()%100] += uint64(e.Entity().Row) & 3
			switch (uint32(w.Tick()) + e.Entity().Row) % 50 {
			case 0:
				sample.Tags.Remove(w, e.Entity())
			case 25:
				sample.Tags.Add(w, e.Entity(), struct{}{})
			}
		}
	}})
	return g
}

// Overlay equals a copy entity by entity, whatever was written, saved, rewound or overlaid before. The world
// continues from there like any other.
func TestOverlayTakesRowsOfTheStateAndKeepsThoseOfTheSet(t *testing.T) {
	w := sample.NewWorld(t, filledGame())
	r := rand.New(rand.NewPCG(3, 9))
	var ring [16]image.Snapshot
	kept, taken, overlaid := 0, 0, 0
	for overlaid < 120 {
		w.Step(sample.Inputs(w.Tick() + 1))
		if r.IntN(3) > 0 {
			w.Image().Save(&ring[r.IntN(16)])
		}
		s := &ring[r.IntN(16)]
		if r.IntN(3) > 0 || s.Empty() {
			continue
		}
		keep := randomRows(r)
		if r.IntN(20) == 0 {
			keep = nil
		}
		before, inputs := sample.Saved(w), bytes.Clone(w.Image().Live()[w.Image().Columns()[image.ColumnInputs].Regions()[0].Data().Pages()[0]].Mem())
		tick := w.Tick()
		if r.IntN(2) == 0 { // pages that are marked and differ from their base
			for e := range ecs.NewQuery1(ecs.Write(sample.Positions)).All(w) {
				e.A.X++
			}
			before = sample.Saved(w)
			for e := range ecs.NewQuery1(ecs.Write(sample.Wides)).All(w) {
				e.A.Cells[0]++
			}
			sample.Clocks.Write(w).Left += 5
			w.Image().Overlay(before, nil) // takes both back
			if got := sample.Saved(w); got.Checksum() != before.Checksum() {
				t.Fatal("a state laid over itself is another")
			}
			for e := range ecs.NewQuery1(ecs.Write(sample.Wides)).All(w) { // marked and equal
				_ = e
			}
		}
		w.Image().Overlay(s, keep)
		overlaid++
		if d, ok := w.Image().UndeclaredWrite(); ok {
			t.Fatalf("Overlay writes past its marks: %v", d)
		}
		after := sample.Saved(w)
		eachRow(w.Image(), func(o image.Owner, i uint32) {
			want, n := rowBytes(s, o, i), &taken
			if keep.Word(o, int(i/image.BlockRows))>>(i%image.BlockRows)&1 != 0 {
				want, n = rowBytes(before, o, i), &kept
			}
			if !bytes.Equal(rowBytes(after, o, i), want) {
				t.Fatalf("row %d of owner %d is neither its own nor the state's", i, o)
			}
			if !bytes.Equal(rowBytes(before, o, i), rowBytes(s, o, i)) {
				*n++
			}
		})
		checkOverlaidSingles(t, w, s, tick, inputs)
		if again := sample.Saved(w); again.Checksum() != after.Checksum() || len(w.Image().Dirty()) != 0 {
			t.Fatal("a second save differs")
		}
		w.Image().Restore(before)
		if got := sample.Saved(w); got.Checksum() != before.Checksum() {
			t.Fatal("a world that was overlaid cannot be restored")
		}
		if r.IntN(2) == 0 {
			w.Image().Restore(after)
		}
	}
	if kept < 1000 || taken < 1000 || w.Image().Strays() != 0 {
		t.Errorf("%d rows that differ were kept, %d taken, %d strays: the test shows too little", kept, taken, w.Image().Strays())
	}
}

// checkOverlaidSingles fails unless resources, players and random source are those of s and tick and inputs as they were.
func checkOverlaidSingles(t *testing.T, w *ecs.World, s *image.Snapshot, tick ecs.Tick, inputs []byte) {
	t.Helper()
	theirs := (*image.Core)(s.RowOf(&w.Image().Columns()[image.ColumnCore], 0, 0))
	if c := *w.Image().Core(); c.Tick != tick || c.Players != theirs.Players || c.Rand != theirs.Rand {
		t.Fatalf("tick, players and random source are %+v, the state's %+v", c, *theirs)
	}
	if !bytes.Equal(inputs, w.Image().Live()[w.Image().Columns()[image.ColumnInputs].Regions()[0].Data().Pages()[0]].Mem()) {
		t.Fatal("the inputs are others")
	}
	for _, r := range w.Game().Resources {
		if c := w.Image().Column(sample.Declared(r)); !bytes.Equal(c.SingleRow(), s.RowBytes(c, 0, 0)) {
			t.Fatalf("resource %q is not the state's", c.Info().Name())
		}
	}
}

// In a state saved before the image grew, later pages are empty.
func TestOverlayOfASmallStateEmptiesLaterPages(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	small := sample.Saved(w)
	var mine ecs.Entity
	sample.InSystem(w, func() {
		for range 9000 {
			w.Spawn(ecs.OwnedBy(1), sample.Positions)
		}
		mine = w.Spawn(ecs.OwnedBy(2), sample.Positions)
	})
	keep := &image.RowSet{}
	keep.Add(mine.Row)
	w.Image().Overlay(small, keep)
	if n := count(w, sample.Placed); n != 1 || !w.Exists(mine) {
		t.Errorf("%d entities are left, want the kept one", n)
	}
	var next ecs.Entity
	sample.InSystem(w, func() { next = w.Spawn(ecs.OwnedBy(1), sample.Positions) })
	if next.Row%image.RegionRows != 0 {
		t.Errorf("the next spawn takes row %d, not the lowest that Overlay has freed", next.Row%image.RegionRows)
	}
}

// Entries and derived data follow an overlay like a restore.
func TestOverlayIsSeenByDonburiAndDerivedData(t *testing.T) {
	g := sample.Bare()
	n := ecs.NewDerived("n", func(w *ecs.World, into *int) { *into = count(w, sample.Placed) }, func(a, b *int) bool { return *a == *b })
	g.Derived = []ecs.AnyDerived{n}
	w := sample.NewWorld(t, g)
	empty := sample.Saved(w)
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.Positions) })
	if *n.Of(w) != 0 { // no system has kept it in step
		t.Fatal("the test proves nothing")
	}
	if w.Entry(e) == nil {
		t.Fatal("the entity has no entry")
	}
	w.Image().Overlay(sample.Saved(w), nil)
	if *n.Of(w) != 1 {
		t.Error("derived data is not built anew")
	}
	if w.Image().Overlay(empty, nil); w.Entry(e) != nil || w.Donburi().Len() != 0 {
		t.Error("donburi has an entity that the overlay took")
	}
}

func TestOverlayRefusesStatesOfOtherWorlds(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	sample.MustPanic(t, "another world", func() { w.Image().Overlay(sample.Saved(sample.NewWorld(t, sample.Bare())), nil) })
	sample.MustPanic(t, "is empty", func() { w.Image().Overlay(&image.Snapshot{}, nil) })
	sample.MustPanic(t, "is empty", func() { w.Image().Overlay(nil, nil) })
}

// A client overlays the server's state in every tick of a resimulation.
func TestOverlayAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w := sample.NewWorld(t, filledGame())
	sample.Play(w, 100)
	server := sample.Saved(w)
	sample.Play(w, 130)
	mine, keep := sample.Saved(w), &image.RowSet{}
	keep.AddOwner(ecs.OwnedBy(1))
	keep.Add(3)
	keep.Remove(uint32(ecs.OwnedBy(1)) << image.RegionShift)
	var s image.Snapshot
	if n := testing.AllocsPerRun(50, func() {
		w.Image().Overlay(server, keep)
		w.Image().Save(&s)
		w.Image().Restore(mine)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
