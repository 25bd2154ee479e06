package image_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

// Any of the last states can be restored exactly, in any order.
func TestRestoreToAnyOfTwelveSnapshotsGivesItsState(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	sample.Play(w, 50)
	var ring [12]image.Snapshot
	var sums [12]image.Checksum
	var images [12][]byte
	for i := range ring {
		sample.Play(w, w.Tick()+3)
		w.Image().Save(&ring[i])
		sums[i], images[i] = ring[i].Checksum(), ring[i].AppendImage(nil)
		if i > 0 && sums[i] == sums[i-1] {
			t.Fatal("the state stands still: the test shows nothing")
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		i := r.IntN(len(ring))
		w.Image().Restore(&ring[i])
		if w.Tick() != ring[i].Tick() {
			t.Fatal("tick", w.Tick(), ring[i].Tick())
		}
		now := sample.Saved(w)
		if now.Checksum() != sums[i] || !bytes.Equal(now.AppendImage(nil), images[i]) {
			d, _ := image.FirstDifference(&ring[i], now)
			t.Fatalf("snapshot %d: %v", i, d)
		}
		now.Release()
		// Go on from there: what is simulated again must reach the same states, and must not damage a snapshot.
		for j := i + 1; j < len(ring) && r.IntN(4) > 0; j++ {
			sample.Play(w, ring[j].Tick())
			now := sample.Saved(w)
			if now.Checksum() != sums[j] {
				d, _ := image.FirstDifference(&ring[j], now)
				t.Fatalf("resimulated to %d: %v", j, d)
			}
			now.Release()
		}
	}
	for i := range ring {
		if !bytes.Equal(ring[i].AppendImage(nil), images[i]) {
			t.Errorf("snapshot %d changed while it was held", i)
		}
	}
}

// A page that a snapshot holds is never written, neither by the live world nor by a pool that allocates it twice.
func TestSnapshotsNeverShareAPageThatIsWritten(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	r := rand.New(rand.NewPCG(3, 4))
	ring := make([]image.Snapshot, 10)
	content := make([][]byte, len(ring))
	reused := 0
	for range 400 {
		sample.Play(w, w.Tick()+1)
		i := r.IntN(len(ring))
		switch r.IntN(4) {
		case 0:
			ring[i].Release()
			content[i] = nil
		case 1:
			if !ring[i].Empty() {
				w.Image().Restore(&ring[i])
			}
		default:
			reused += free(w)
			w.Image().Save(&ring[i])
			content[i] = ring[i].AppendImage(nil)
		}
		holders := map[*image.Page]int32{}
		for k := range ring {
			if ring[k].Empty() != (content[k] == nil) {
				t.Fatal("Empty lies")
			}
			for n, pg := range ring[k].Table() {
				if pg == nil {
					continue
				}
				holders[pg]++
				if &pg.Mem()[0] == &w.Image().Live()[n].Mem()[0] {
					t.Fatal("a snapshot holds a live page")
				}
			}
			if content[k] != nil && !bytes.Equal(ring[k].AppendImage(nil), content[k]) {
				t.Fatalf("snapshot %d changed while it was held", k)
			}
		}
		for n := range w.Image().Live() {
			if base := w.Image().Live()[n].Base(); base != nil {
				holders[base]++
			}
		}
		for _, p := range w.Image().Pools() {
			for _, pg := range p.Free() {
				if holders[pg] != 0 {
					t.Fatal("a page is free and held")
				}
			}
		}
		for pg, n := range holders {
			if pg.Refs() != n {
				t.Fatalf("a page counts %d holders and has %d", pg.Refs(), n)
			}
		}
	}
	if reused == 0 {
		t.Fatal("no page was ever free: the test shows nothing")
	}
}

// free returns how many pages the pools have ready.
func free(w *ecs.World) (n int) {
	for _, p := range w.Image().Pools() {
		n += len(p.Free())
	}
	return n
}

// A snapshot costs memory for the changes, not for the world: a ring of 128 is affordable.
func TestSnapshotsShareThePagesThatAreEqual(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var list []ecs.Entity
	sample.InSystem(w, func() {
		for range 5000 {
			list = append(list, w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities))
		}
	})
	a := sample.Saved(w)
	*sample.Positions.Write(w, list[0]) = sample.Pos{X: 1}
	*sample.Positions.Write(w, list[4000]) = sample.Pos{} // written, but equal
	b := sample.Saved(w)
	different := 0
	for i := range a.Table() {
		if a.Table()[i] != b.Table()[i] {
			different++
		}
	}
	if different != 1 {
		t.Errorf("a change of one row makes %d pages of their own", different)
	}
	// Components of zeros need no page: what remains is the identities.
	if w.Image().PageBytes() < 5000*16 || w.Image().PageBytes() > 5000*(16+32) {
		t.Errorf("%d bytes of pages for 5000 identities of 16 bytes", w.Image().PageBytes())
	}
}

// Events, derived data and hints of the state before are dropped.
func TestRestoreDropsDataOfTheStateBefore(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	sample.Play(w, 5)
	s := sample.Saved(w)
	for len(w.Events()) == 0 {
		sample.Play(w, w.Tick()+1)
	}
	w.Image().Restore(s)
	if len(w.Events()) != 0 {
		t.Error("events of another tick survive a restore")
	}
}

// An undeclared write is found by the rotating comparison, counted, and part of the next states.
func TestStraysCountsAnUndeclaredWrite(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	sample.InSystem(w, func() {
		for range 500 {
			sample.Positions.Put(w, w.Spawn(ecs.OwnedByWorld, sample.Positions), sample.Pos{X: 5})
		}
	})
	before := sample.Saved(w)
	for r := range sample.Placed.Runs(w) {
		r.A[0].X = fixed.FromInt(77) // Read, and written all the same
		break
	}
	d, ok := w.Image().UndeclaredWrite()
	if want := "tick 1: pos of entity 1 of the world born in tick 1: X is " + fixed.Num(5).String() + " here and 77 there"; !ok || d.String() != want {
		t.Errorf("%v\nwant %s", d, want)
	}
	var s image.Snapshot
	saves := 0
	for ; w.Image().Strays() == 0 && saves < 1000; saves++ {
		w.Image().Save(&s)
	}
	if w.Image().Strays() != 1 || saves > len(w.Image().Live()) {
		t.Errorf("%d strays after %d saves of %d pages", w.Image().Strays(), saves, len(w.Image().Live()))
	}
	if d, ok := image.FirstDifference(before, &s); !ok || d.Field != "X" || d.Entity.Row != 1 {
		t.Error("the stray write is not in the state:", d)
	}
	if d, ok := w.Image().UndeclaredWrite(); ok {
		t.Error("a world in order has an undeclared write:", d)
	}
}

// An undeclared write to a resource or to a presence bit is named too.
func TestUndeclaredWriteNamesResourcesAndPresence(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedBy(2), sample.Positions) })
	s := sample.Saved(w)
	sample.Scores.Write(w).Points[3] = 8
	if d, ok := w.Image().UndeclaredWrite(); ok {
		t.Error("a declared write counts as undeclared:", d)
	}
	w.Image().Restore(s)
	(*sample.Score)(w.Image().Column(sample.Declared(sample.Scores)).Regions()[0].Data().Mem()[0]).Points[3] = 8
	if d, ok := w.Image().UndeclaredWrite(); !ok || d.String() != "tick 1: score: Points[3] is 0 here and 8 there" {
		t.Error(d)
	}
	sample.Scores.Write(w).Points[3] = 0
	w.Image().Column(sample.Declared(sample.Positions)).Regions()[3].Words()[0] = 0
	if d, ok := w.Image().UndeclaredWrite(); !ok || d.Component != "pos" || d.Entity != e || d.Field != image.FieldExists || d.Here != "true" {
		t.Error(d)
	}
}

// Once warm, a tick with spawns and deaths, its save, a rewind and the checksum allocate nothing.
func TestATickAllocatesNothingOnceWarm(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	g := sample.Busy()
	w := sample.NewWorld(t, g)
	inputs := make([]ecs.TickInputs, 1024)
	for f := range inputs {
		inputs[f] = sample.Inputs(ecs.Tick(f))
	}
	ring := make([]image.Snapshot, 16)
	events := 0
	step := func() {
		w.Step(inputs[(w.Tick()+1)%1024])
		events += len(w.Events())
		w.Image().Save(&ring[w.Tick()%16])
	}
	for range 300 {
		step()
	}
	columns := make([]image.Checksum, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		step()
		w.Image().Restore(&ring[(w.Tick()-8)%16])
		for range 8 {
			step()
		}
		columns = ring[w.Tick()%16].ComponentChecksums(columns[:0])
		if ring[w.Tick()%16].Checksum() == 0 {
			t.Fatal("checksum 0")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if events == 0 {
		t.Error("nothing was spawned or died: the test shows nothing")
	}
}

// Another image can save its state into a snapshot of a larger state. This happens when a match changes its strategy.
func TestASnapshotIsSavedFromAnotherImage(t *testing.T) {
	large, small := sample.NewWorld(t, sample.Busy()), sample.NewWorld(t, sample.Busy())
	sample.Play(large, 300)
	sample.Play(small, 1)
	var s image.Snapshot
	for _, w := range []*ecs.World{large, small, large} {
		w.Image().Save(&s)
		want := sample.Saved(w)
		if s.Image() != w.Image() || !bytes.Equal(s.AppendImage(nil), want.AppendImage(nil)) {
			t.Error("the snapshot differs from the state")
		}
		want.Release()
	}
}
