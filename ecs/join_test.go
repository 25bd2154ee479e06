package ecs_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

var six = ecs.JoinQueries(
	ecs.NewQuery4(ecs.Read(sample.Positions), ecs.Write(sample.Velocities), ecs.Read(sample.Mixtures), ecs.Read(sample.Seats)),
	ecs.NewQuery2(ecs.Write(sample.Bags), ecs.Read(sample.Wides), ecs.Without(sample.Tags)))

var swapped = ecs.JoinQueries(
	ecs.NewQuery2(ecs.Read(sample.Positions), ecs.Read(sample.Seats), ecs.Without(sample.Tags)),
	ecs.NewQuery1(ecs.Write(sample.Bags)))

// spawnRandom spawns entities of several owners that have random sets of the sample's components.
func spawnRandom(w *ecs.World, n int) {
	r := ecs.Rand{}
	all := sample.Bare().Components
	for range n {
		var set []ecs.AnyComponent
		for _, c := range all[:6] {
			if r.IntN(8) > 0 {
				set = append(set, c)
			}
		}
		if r.IntN(8) == 0 {
			set = append(set, sample.Tags)
		}
		e := w.Spawn(image.Owner(r.IntN(4)), set...)
		sample.Positions.Put(w, e, sample.Pos{X: 3})
		sample.Velocities.Put(w, e, sample.Vel{Y: 4})
		sample.Seats.Put(w, e, ecs.Seat{Player: ecs.Player(e.Row % 4)})
		sample.Mixtures.Put(w, e, sample.Mixed{Lives: int32(e.Row)})
	}
}

// hasAll reports whether e has all six components and not the tag.
func hasAll(w *ecs.World, e ecs.Entity) bool {
	return sample.Positions.Has(w, e) && sample.Velocities.Has(w, e) && sample.Mixtures.Has(w, e) && sample.Seats.Has(w, e) &&
		sample.Bags.Has(w, e) && sample.Wides.Has(w, e) && !sample.Tags.Has(w, e)
}

func TestAJoinYieldsWhatBothQueriesHave(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	sample.InSystem(w, func() { spawnRandom(w, 900) })
	s := sample.Saved(w)
	var got, want []ecs.Entity
	sample.InSystem(w, func() {
		for e := range sample.Placed.All(w) {
			if hasAll(w, e.Entity()) {
				want = append(want, e.Entity())
			}
		}
		for e := range six.All(w) {
			got = append(got, e.Entity())
			if e.First.A.X != 3 || e.First.B.Y != 4 || e.First.C.Lives != int32(e.Entity().Row) || e.First.D.Player != ecs.Player(e.Entity().Row%4) {
				t.Fatalf("%v has %+v", e.Entity(), e.First)
			}
			e.First.B.X++
			e.Second.A.Gold = 7
			e.Second.A.Items.Append(sample.Item{Kind: uint16(e.Second.B.Cells[0])})
		}
	})
	if len(want) < 200 || len(got) != len(want) {
		t.Fatalf("%d entities, want %d", len(got), len(want))
	}
	for i, e := range want {
		bag, _ := sample.Bags.Read(w, e)
		if vel, _ := sample.Velocities.Read(w, e); got[i] != e || bag.Gold != 7 || vel.X != 1 {
			t.Fatalf("entity %d is %v, want %v; it has %v and %v", i, got[i], e, bag, vel)
		}
	}
	// The pages of both queries are marked: a restore finds every write.
	now := sample.Saved(w)
	w.Image().Restore(s)
	if got := sample.Saved(w); got.Checksum() != s.Checksum() || now.Checksum() == s.Checksum() || w.Image().Strays() != 0 {
		t.Errorf("after a restore the checksum is %#x, want %#x; %d strays", got.Checksum(), s.Checksum(), w.Image().Strays())
	}
}

// A join in which either query writes yields only the rows that a client predicts.
func TestAJoinThatWritesYieldsOnlyPredictedRows(t *testing.T) {
	count := 0
	g := sample.Bare()
	g.Systems = ecs.Systems(func(w *ecs.World) {
		for e := range swapped.All(w) {
			if e.Entity().Owner() != ecs.OwnedBy(1) {
				t.Errorf("%v is yielded", e.Entity())
			}
			e.Second.A.Gold++
			count++
		}
	})
	w := sample.NewWorld(t, g)
	sample.InSystem(w, func() { spawnRandom(w, 300) })
	rows := &image.RowSet{}
	rows.AddOwner(ecs.OwnedBy(1))
	w.Image().SetPredicted(rows)
	w.Step(ecs.TickInputs{})
	if count < 20 {
		t.Error("only", count, "rows are yielded")
	}
}

func TestJoinQueriesRefusesAComponentInBoth(t *testing.T) {
	sample.MustPanic(t, "JoinQueries", func() { ecs.JoinQueries(sample.Placed, ecs.NewQuery1(ecs.Write(sample.Positions))) })
}

func TestAJoinDoesNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("counts are meaningless")
	}
	w := sample.NewWorld(t, sample.Bare())
	sample.InSystem(w, func() { spawnRandom(w, 300) })
	if n := testing.AllocsPerRun(20, func() {
		for e := range six.All(w) {
			e.First.B.X++
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
