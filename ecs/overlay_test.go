//go:build moving

package ecs

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// randomRows returns a set of whole owners and of single rows.
func randomRows(r *rand.Rand) *RowSet {
	s := &RowSet{}
	for o := range Owner(5) {
		if r.IntN(3) == 0 {
			s.AddOwner(o)
		}
	}
	for range r.IntN(60) {
		row := uint32(r.IntN(5))<<regionShift | uint32(r.IntN(70))
		if r.IntN(2) == 0 {
			s.Add(row)
		} else {
			s.Remove(row)
		}
	}
	return s
}

// crowdedGame is the busy game with some rows of every component, so that pages of all sizes hold several owners' and
// sets cut through them.
func crowdedGame() *Game {
	g := busyGame()
	g.Systems = append(g.Systems, System{"crowd", func(w *World) {
		if w.Tick() == 1 {
			for i := range 40 {
				w.Spawn(Owner(i%5), cWide, cTag, cBag)
			}
		}
		for e := range NewQuery1(Write(cWide)).All(w) {
			e.A.Cells[w.Tick()%100] += uint64(e.Entity().Row) & 3
			switch (uint32(w.Tick()) + e.Entity().Row) % 50 {
			case 0:
				cTag.Remove(w, e.Entity())
			case 25:
				cTag.Add(w, e.Entity(), struct{}{})
			}
		}
	}})
	return g
}

// Overlay is what copying entity by entity would be, whatever was written, saved, rewound or overlaid before, and the
// world goes on from there like any other.
func TestOverlayTakesRowsOfTheStateAndKeepsThoseOfTheSet(t *testing.T) {
	w := newWorld(t, crowdedGame())
	r := rand.New(rand.NewPCG(3, 9))
	var ring [16]Snapshot
	kept, taken, overlaid := 0, 0, 0
	for overlaid < 120 {
		w.Step(busyInputs(w.Tick() + 1))
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
		before, inputs := saved(w), bytes.Clone(w.image.live[w.image.columns[columnInputs].regions[0].data.pages[0]].mem)
		tick := w.Tick()
		if r.IntN(2) == 0 { // pages that are marked and differ from their base
			for e := range NewQuery1(Write(cPos)).All(w) {
				e.A.X++
			}
			before = saved(w)
			for e := range NewQuery1(Write(cWide)).All(w) {
				e.A.Cells[0]++
			}
			rClock.Write(w).Left += 5
			w.Image().Overlay(before, nil) // takes both back
			if got := saved(w); got.Checksum() != before.Checksum() {
				t.Fatal("a state laid over itself is another")
			}
			for e := range NewQuery1(Write(cWide)).All(w) { // marked and equal
				_ = e
			}
		}
		w.Image().Overlay(s, keep)
		overlaid++
		if d, ok := w.Image().UndeclaredWrite(); ok {
			t.Fatalf("Overlay writes past its marks: %v", d)
		}
		after := saved(w)
		eachRow(w.image, func(o Owner, i uint32) {
			want, n := rowBytes(s, o, i), &taken
			if keep.word(o, int(i/blockRows))>>(i%blockRows)&1 != 0 {
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
		if again := saved(w); again.Checksum() != after.Checksum() || len(w.image.dirty) != 0 {
			t.Fatal("a second save differs")
		}
		w.Image().Restore(before)
		if got := saved(w); got.Checksum() != before.Checksum() {
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
func checkOverlaidSingles(t *testing.T, w *World, s *Snapshot, tick Tick, inputs []byte) {
	t.Helper()
	theirs := (*core)(s.row(&w.image.columns[columnCore], 0, 0))
	if c := *w.core(); c.Tick != tick || c.Players != theirs.Players || c.Rand != theirs.Rand {
		t.Fatalf("tick, players and random source are %+v, the state's %+v", c, *theirs)
	}
	if !bytes.Equal(inputs, w.image.live[w.image.columns[columnInputs].regions[0].data.pages[0]].mem) {
		t.Fatal("the inputs are others")
	}
	for _, r := range w.game.Resources {
		if c := w.column(r.declared()); !bytes.Equal(c.singleRow(), s.rowBytes(c, 0, 0)) {
			t.Fatalf("resource %q is not the state's", c.info.name)
		}
	}
}

// A state that was saved before the image grew says that what it has no pages for is empty.
func TestOverlayOfASmallStateEmptiesWhatGrewSince(t *testing.T) {
	w := newWorld(t, tGame())
	small := saved(w)
	var mine Entity
	inSystem(w, func() {
		for range 9000 {
			w.Spawn(OwnedBy(1), cPos)
		}
		mine = w.Spawn(OwnedBy(2), cPos)
	})
	keep := &RowSet{}
	keep.Add(mine.Row)
	w.Image().Overlay(small, keep)
	if n := count(w, qPos); n != 1 || !w.Exists(mine) {
		t.Errorf("%d entities are left, want the kept one", n)
	}
	var next Entity
	inSystem(w, func() { next = w.Spawn(OwnedBy(1), cPos) })
	if next.Row%regionRows != 0 {
		t.Errorf("the next spawn takes row %d, not the lowest that Overlay has freed", next.Row%regionRows)
	}
}

// Entries and derived data follow an overlay as they follow a restore.
func TestOverlayIsSeenByDonburiAndDerivedData(t *testing.T) {
	g := tGame()
	n := NewDerived("n", func(w *World, into *int) { *into = count(w, qPos) }, func(a, b *int) bool { return *a == *b })
	g.Derived = []AnyDerived{n}
	w := newWorld(t, g)
	empty := saved(w)
	var e Entity
	inSystem(w, func() { e = w.Spawn(OwnedByWorld, cPos) })
	if *n.Of(w) != 0 { // no system has kept it in step
		t.Fatal("the test proves nothing")
	}
	if w.Entry(e) == nil {
		t.Fatal("the entity has no entry")
	}
	w.Image().Overlay(saved(w), nil)
	if *n.Of(w) != 1 {
		t.Error("derived data is not built anew")
	}
	if w.Image().Overlay(empty, nil); w.Entry(e) != nil || w.Donburi().Len() != 0 {
		t.Error("donburi has an entity that the overlay took")
	}
}

func TestOverlayRefusesStatesOfOtherWorlds(t *testing.T) {
	w := newWorld(t, tGame())
	mustPanic(t, "another world", func() { w.Image().Overlay(saved(newWorld(t, tGame())), nil) })
	mustPanic(t, "is empty", func() { w.Image().Overlay(&Snapshot{}, nil) })
	mustPanic(t, "is empty", func() { w.Image().Overlay(nil, nil) })
}

// A client lays the server's word under its prediction in every tick of a resimulation.
func TestOverlayAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := newWorld(t, crowdedGame())
	play(w, 100)
	server := saved(w)
	play(w, 130)
	mine, keep := saved(w), &RowSet{}
	keep.AddOwner(OwnedBy(1))
	keep.Add(3)
	keep.Remove(uint32(OwnedBy(1)) << regionShift)
	var s Snapshot
	if n := testing.AllocsPerRun(50, func() {
		w.Image().Overlay(server, keep)
		w.Image().Save(&s)
		w.Image().Restore(mine)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
