//go:build moving

package ecs

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tendon/ecs/fixed"
)

// Rewinding is exact or worthless: whichever of the last states is asked for, in whatever order, it comes back.
func TestRestoreToAnyOfTwelveSnapshotsGivesItsState(t *testing.T) {
	w := newWorld(t, busyGame())
	play(w, 50)
	var ring [12]Snapshot
	var sums [12]Checksum
	var images [12][]byte
	for i := range ring {
		play(w, w.Tick()+3)
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
		now := saved(w)
		if now.Checksum() != sums[i] || !bytes.Equal(now.AppendImage(nil), images[i]) {
			d, _ := FirstDifference(&ring[i], now)
			t.Fatalf("snapshot %d: %v", i, d)
		}
		now.Release()
		// Go on from there: what is simulated again must reach the same states, and must not damage a snapshot.
		for j := i + 1; j < len(ring) && r.IntN(4) > 0; j++ {
			play(w, ring[j].Tick())
			now := saved(w)
			if now.Checksum() != sums[j] {
				d, _ := FirstDifference(&ring[j], now)
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

// A page that a snapshot holds is never written: not by the live world, not by a pool that hands it out twice.
func TestSnapshotsNeverShareAPageThatIsWritten(t *testing.T) {
	w := newWorld(t, busyGame())
	r := rand.New(rand.NewPCG(3, 4))
	ring := make([]Snapshot, 10)
	content := make([][]byte, len(ring))
	reused := 0
	for range 400 {
		play(w, w.Tick()+1)
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
		holders := map[*page]int32{}
		for k := range ring {
			if ring[k].Empty() != (content[k] == nil) {
				t.Fatal("Empty lies")
			}
			for n, pg := range ring[k].table {
				if pg == nil {
					continue
				}
				holders[pg]++
				if &pg.mem[0] == &w.image.live[n].mem[0] {
					t.Fatal("a snapshot holds a live page")
				}
			}
			if content[k] != nil && !bytes.Equal(ring[k].AppendImage(nil), content[k]) {
				t.Fatalf("snapshot %d changed while it was held", k)
			}
		}
		for n := range w.image.live {
			if base := w.image.live[n].base; base != nil {
				holders[base]++
			}
		}
		for _, p := range w.image.pools {
			for _, pg := range p.free {
				if holders[pg] != 0 {
					t.Fatal("a page is free and held")
				}
			}
		}
		for pg, n := range holders {
			if pg.refs != n {
				t.Fatalf("a page counts %d holders and has %d", pg.refs, n)
			}
		}
	}
	if reused == 0 {
		t.Fatal("no page was ever free: the test shows nothing")
	}
}

// free returns how many pages the pools have ready.
func free(w *World) (n int) {
	for _, p := range w.image.pools {
		n += len(p.free)
	}
	return n
}

// The memory a snapshot costs is what changed, not the world: that is what makes a ring of 128 affordable.
func TestSnapshotsShareThePagesThatAreEqual(t *testing.T) {
	w := newWorld(t, tGame())
	var list []Entity
	inSystem(w, func() {
		for range 5000 {
			list = append(list, w.Spawn(OwnedByWorld, cPos, cVel))
		}
	})
	a := saved(w)
	*cPos.Write(w, list[0]) = tPos{X: 1}
	*cPos.Write(w, list[4000]) = tPos{} // written, but equal
	b := saved(w)
	different := 0
	for i := range a.table {
		if a.table[i] != b.table[i] {
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

// Events, derived data and hints belong to the state that was left.
func TestRestoreDropsWhatBelongedToTheStateBefore(t *testing.T) {
	w := newWorld(t, busyGame())
	play(w, 5)
	s := saved(w)
	for len(w.Events()) == 0 {
		play(w, w.Tick()+1)
	}
	w.Image().Restore(s)
	if len(w.Events()) != 0 {
		t.Error("events of another tick survive a restore")
	}
}

// A write that nobody declared must not be lost for good: the patrol finds it, counts it, and the next states have it.
func TestStraysCountsAnUndeclaredWrite(t *testing.T) {
	w := newWorld(t, tGame())
	inSystem(w, func() {
		for range 500 {
			cPos.Put(w, w.Spawn(OwnedByWorld, cPos), tPos{X: 5})
		}
	})
	before := saved(w)
	for r := range qPos.Runs(w) {
		r.A[0].X = fixed.FromInt(77) // Read, and written all the same
		break
	}
	d, ok := w.Image().UndeclaredWrite()
	if want := "tick 1: pos of entity 1 of the world born in tick 1: X is " + fixed.Num(5).String() + " here and 77 there"; !ok || d.String() != want {
		t.Errorf("%v\nwant %s", d, want)
	}
	var s Snapshot
	saves := 0
	for ; w.Image().Strays() == 0 && saves < 1000; saves++ {
		w.Image().Save(&s)
	}
	if w.Image().Strays() != 1 || saves > len(w.image.live) {
		t.Errorf("%d strays after %d saves of %d pages", w.Image().Strays(), saves, len(w.image.live))
	}
	if d, ok := FirstDifference(before, &s); !ok || d.Field != "X" || d.Entity.Row != 1 {
		t.Error("the stray write is not in the state:", d)
	}
	if d, ok := w.Image().UndeclaredWrite(); ok {
		t.Error("a world in order has an undeclared write:", d)
	}
}

// A stray write into a resource or a fresh bit is named too.
func TestUndeclaredWriteNamesResourcesAndPresence(t *testing.T) {
	w := newWorld(t, tGame())
	var e Entity
	inSystem(w, func() { e = w.Spawn(OwnedBy(2), cPos) })
	s := saved(w)
	rScore.Write(w).Points[3] = 8
	if d, ok := w.Image().UndeclaredWrite(); ok {
		t.Error("a declared write counts as undeclared:", d)
	}
	w.Image().Restore(s)
	(*tScore)(w.column(rScore.declaration).regions[0].data.mem[0]).Points[3] = 8
	if d, ok := w.Image().UndeclaredWrite(); !ok || d.String() != "tick 1: score: Points[3] is 0 here and 8 there" {
		t.Error(d)
	}
	rScore.Write(w).Points[3] = 0
	w.column(cPos.declaration).regions[3].words[0] = 0
	if d, ok := w.Image().UndeclaredWrite(); !ok || d.Component != "pos" || d.Entity != e || d.Field != fieldExists || d.Here != "true" {
		t.Error(d)
	}
}

// The budget of a tick has no room for the collector: once warm, a tick with spawns and deaths, its save, a rewind and
// the checksum allocate nothing.
func TestATickAllocatesNothingOnceWarm(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	g := busyGame()
	w := newWorld(t, g)
	inputs := make([]TickInputs, 1024)
	for f := range inputs {
		inputs[f] = busyInputs(Tick(f))
	}
	ring := make([]Snapshot, 16)
	events := 0
	step := func() {
		w.Step(inputs[(w.Tick()+1)%1024])
		events += len(w.Events())
		w.Image().Save(&ring[w.Tick()%16])
	}
	for range 300 {
		step()
	}
	columns := make([]Checksum, 0, 64)
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
