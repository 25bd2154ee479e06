package image_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

// limitedWorld returns a world of the busy game with four players, in which only player 1's rows are predicted.
func limitedWorld(t testing.TB, g *ecs.Game) (*ecs.World, *image.RowSet) {
	w := sample.NewWorld(t, g)
	w.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 0}, {Kind: image.OrderJoin, Player: 1}, {Kind: image.OrderJoin, Player: 2}}})
	rows := &image.RowSet{}
	rows.AddOwner(ecs.OwnedBy(1))
	return w, rows
}

// No system may change rows that the client does not predict. Predicted rows change as in a world without a limit.
func TestALimitedTickChangesOnlyRowsOfTheSet(t *testing.T) {
	w, rows := limitedWorld(t, sample.Busy())
	w.Image().SetPredicted(rows)
	moved, fired := 0, 0
	for w.Tick() < 200 {
		before := sample.Saved(w)
		core := *w.Image().Core()
		w.Step(sample.Inputs(w.Tick() + 1))
		after := sample.Saved(w)
		eachRow(w.Image(), func(o image.Owner, i uint32) {
			same := bytes.Equal(rowBytes(before, o, i), rowBytes(after, o, i))
			switch {
			case !same && !rows.Has(uint32(o)<<image.RegionShift|i):
				t.Fatalf("tick %d: row %d of owner %d has changed", w.Tick(), i, o)
			case !same:
				moved++
			}
			if e := after.EntityIn(o, i); o == ecs.OwnedBy(1) && e.Born == w.Tick() {
				fired++
			}
		})
		for _, r := range w.Game().Resources {
			c := w.Image().Column(sample.Declared(r))
			if string(unsafe.Slice((*byte)(before.RowOf(c, 0, 0)), c.Info().Stride())) != string(c.SingleRow()) {
				t.Fatalf("tick %d: resource %q has changed", w.Tick(), c.Info().Name())
			}
		}
		if now := *w.Image().Core(); now.Tick != core.Tick+1 || now.Players != core.Players || now.Rand != core.Rand {
			t.Fatalf("tick %d: players or random source have changed: %+v, then %+v", w.Tick(), core, now)
		}
		before.Release()
		after.Release()
	}
	if moved < 200 || fired < 10 || w.Image().Strays() != 0 {
		t.Errorf("%d rows moved, %d spawned, %d strays: the test shows too little", moved, fired, w.Image().Strays())
	}
	w.Image().SetPredicted(nil)
	before := sample.Saved(w)
	w.Step(sample.Inputs(w.Tick() + 1))
	if sample.Clocks.Read(w).Left == 0 || string(rowBytes(before, 0, 1)) == string(rowBytes(sample.Saved(w), 0, 1)) {
		t.Error("a world whose limit was lifted does not move the rest")
	}
}

// Reads are not limited: systems see other rows with the server's last values.
func TestLimitedQueriesYieldWritableRowsAndReadAll(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	all := sample.Scatter(w)
	sample.InSystem(w, func() { // a long run over many blocks
		for range 700 {
			sample.Velocities.Put(w, w.Spawn(ecs.OwnedBy(3), sample.Positions, sample.Velocities), sample.Vel{X: 1})
		}
	})
	for e := range ecs.NewQuery1(ecs.Read(sample.Positions)).All(w) {
		if e.Entity().Owner() == ecs.OwnedBy(3) && !slices.Contains(all, e.Entity()) {
			all = append(all, e.Entity())
		}
	}
	slices.SortFunc(all, func(a, b ecs.Entity) int { return int(a.Row) - int(b.Row) })
	writes := ecs.NewQuery2(ecs.Read(sample.Positions), ecs.Write(sample.Velocities))
	narrow := ecs.NewQuery1(ecs.Write(sample.Positions), ecs.With(sample.Velocities), ecs.Without(sample.Tags))
	reads := ecs.NewQuery2(ecs.Read(sample.Positions), ecs.Read(sample.Velocities))
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		rows := &image.RowSet{}
		for o := range image.Owner(5) {
			if r.IntN(2) == 0 {
				rows.AddOwner(o)
			}
		}
		for range round * 3 {
			switch row := all[r.IntN(len(all))].Row; r.IntN(2) {
			case 0:
				rows.Add(row)
			case 1:
				rows.Remove(row)
			}
		}
		want := func(limited bool, with *ecs.Component[sample.Vel], without ecs.AnyComponent) (list []ecs.Entity) {
			for _, e := range all {
				tagged := without != nil && w.Image().Column(sample.Declared(without)).Regions()[e.Owner()].Has(e.Row%image.RegionRows)
				if with.Has(w, e) && !tagged && (!limited || rows.Has(e.Row)) {
					list = append(list, e)
				}
			}
			return list
		}
		for _, c := range []struct {
			name     string
			all, run []ecs.Entity
			want     []ecs.Entity
		}{
			{"writes", entitiesOf2(w, rows, writes), runsOf2(w, rows, writes), want(true, sample.Velocities, nil)},
			{"reads", entitiesOf2(w, rows, reads), runsOf2(w, rows, reads), want(false, sample.Velocities, nil)},
			{"narrow", entitiesOf1(w, rows, narrow), runsOf1(w, rows, narrow), want(true, sample.Velocities, sample.Tags)},
		} {
			if !slices.Equal(c.all, c.want) || !slices.Equal(c.run, c.want) {
				t.Fatalf("round %d, %s: All yields %d, Runs %d, want %d", round, c.name, len(c.all), len(c.run), len(c.want))
			}
		}
	}
}

// limited runs f as a system of a limited tick would run.
func limited(w *ecs.World, rows *image.RowSet, f func()) {
	w.Image().SetOpen(rows)
	f()
	w.Image().SetOpen(nil)
}

func entitiesOf1[A, PA any](w *ecs.World, rows *image.RowSet, q *ecs.Query1[A, PA]) (list []ecs.Entity) {
	limited(w, rows, func() {
		for r := range q.All(w) {
			list = append(list, r.Entity())
		}
	})
	return list
}

func runsOf1[A, PA any](w *ecs.World, rows *image.RowSet, q *ecs.Query1[A, PA]) (list []ecs.Entity) {
	limited(w, rows, func() {
		for r := range q.Runs(w) {
			list = append(list, r.Entities...)
		}
	})
	return list
}

func entitiesOf2[A, PA, B, PB any](w *ecs.World, rows *image.RowSet, q *ecs.Query2[A, PA, B, PB]) (list []ecs.Entity) {
	limited(w, rows, func() {
		for r := range q.All(w) {
			list = append(list, r.Entity())
		}
	})
	return list
}

func runsOf2[A, PA, B, PB any](w *ecs.World, rows *image.RowSet, q *ecs.Query2[A, PA, B, PB]) (list []ecs.Entity) {
	limited(w, rows, func() {
		for r := range q.Runs(w) {
			list = append(list, r.Entities...)
		}
	})
	return list
}

// Pages that a limited query skips are not marked, so the cost of a save follows the predicted rows.
func TestALimitedQueryMarksOnlyPagesOfTheSet(t *testing.T) {
	g := sample.Bare()
	g.Systems = ecs.Systems(sample.Move)
	w := sample.NewWorld(t, g)
	sample.InSystem(w, func() {
		for range 1000 {
			w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities)
		}
		w.Spawn(ecs.OwnedBy(0), sample.Positions, sample.Velocities)
	})
	sample.Saved(w)
	rows := &image.RowSet{}
	rows.AddOwner(ecs.OwnedBy(0))
	w.Image().SetPredicted(rows)
	w.Step(ecs.TickInputs{})
	for _, number := range w.Image().Dirty() {
		if p := w.Image().Live()[number].Store().Info(); p.Column().Name() == "pos" && p.Owner() != ecs.OwnedBy(0) {
			t.Fatalf("a page of owner %d is marked", p.Owner())
		}
	}
}

// Donburi code in systems is limited too: changes through Get and Set are discarded and counted.
func TestEntriesAreLimitedToo(t *testing.T) {
	g := sample.Bare()
	var mine, other, fresh ecs.Entity
	g.Setup = func(w *ecs.World) {
		mine, other = w.Spawn(ecs.OwnedBy(0), sample.Positions), w.Spawn(ecs.OwnedBy(1), sample.Positions)
	}
	g.Systems = []ecs.System{{Name: "write", Run: func(w *ecs.World) {
		a, b := sample.Positions.Get(w.Entry(other)), sample.Positions.Get(w.Entry(other))
		a.X, b.X = 1, 2
		if a.X != 1 {
			t.Error("two discarded rows share memory")
		}
		sample.Positions.Set(w.Entry(other), &sample.Pos{X: 3})
		sample.Positions.SetValue(w.Entry(other), sample.Pos{X: 3})
		sample.Positions.SetValue(w.Entry(mine), sample.Pos{X: 4})
		if got := sample.Positions.GetValue(w.Entry(other)); got != (sample.Pos{}) {
			t.Error("Set stored", got)
		}
		fresh = w.Spawn(ecs.OwnedBy(1), sample.Positions)
	}}, {Name: "look", Run: func(w *ecs.World) {
		if w.Exists(fresh) || w.Entry(fresh) != nil {
			t.Error("another owner's spawn outlives its system")
		}
	}}}
	w := sample.NewWorld(t, g)
	rows := &image.RowSet{}
	rows.AddOwner(ecs.OwnedBy(0))
	w.Image().SetPredicted(rows)
	w.Step(ecs.TickInputs{})
	if got, _ := sample.Positions.Read(w, mine); got.X != 4 {
		t.Error("the own row was not written:", got)
	}
	if err := w.Check(); err != nil {
		t.Error(err)
	}
	if want := []ecs.DiscardedWrites{{System: "write", Component: "pos", Writes: 4}}; !slices.Equal(w.DiscardedWrites(), want) {
		t.Errorf("discarded writes %v, want %v", w.DiscardedWrites(), want)
	}
	sample.Positions.SetValue(w.Entry(other), sample.Pos{X: 9}) // outside Step nothing is limited
	if got, _ := sample.Positions.Read(w, other); got.X != 9 {
		t.Error("a limit holds outside Step")
	}
}

// A predicted rocket and the server's rocket of the same tick are the same entity, also if it is the tick's second,
// or if others were removed. Client and server agree on rows without messages.
func TestOwnSpawnsOfALimitedWorldAreThoseOfTheFullOne(t *testing.T) {
	full := sample.NewWorld(t, sample.Busy())
	part, rows := limitedWorld(t, sample.Busy())
	full.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 0}, {Kind: image.OrderJoin, Player: 1}, {Kind: image.OrderJoin, Player: 2}}})
	part.Image().SetPredicted(rows)
	own := func(w *ecs.World) (list []ecs.Entity) {
		for e := range sample.Placed.All(w) {
			if e.Entity().Owner() == ecs.OwnedBy(1) {
				list = append(list, e.Entity())
			}
		}
		return list
	}
	born, twice := 0, 0
	for full.Tick() < 500 {
		in := ecs.TickInputs{Players: make([]ecs.InputBytes, 4)}
		for p := range ecs.Player(4) {
			in.Players[p] = sample.Pads.Pack(sample.Pad{DX: int8(p), Fire: (uint64(full.Tick())/uint64(p+3))%2 == 0})
		}
		full.Step(in)
		part.Step(in)
		x, y := own(full), own(part)
		for _, w := range []*ecs.World{full, part} { // the random source belongs to the server's state: its results may differ
			for e := range sample.Aging.All(w) {
				if e.Entity().Owner() == ecs.OwnedBy(1) && e.Entity().Born == w.Tick() && e.A.Lives != 25 {
					e.A.Lives = 25
				}
			}
		}
		now := 0
		for _, e := range x {
			if e.Born == full.Tick() {
				now++
			}
		}
		born += now
		if now > 1 {
			twice++
		}
		if !slices.Equal(x, y) {
			t.Fatalf("tick %d: the server has %v, the client %v", full.Tick(), x, y)
		}
	}
	if born < 50 || twice < 5 {
		t.Errorf("%d spawns, %d ticks with two: the test shows too little", born, twice)
	}
}

// A row may be removed from the set for an entity that is shown with the server's values. The next entity in that
// row is predicted again.
func TestASpawnTakesItsRowIntoTheSet(t *testing.T) {
	g := sample.Bare()
	var e ecs.Entity
	g.Systems = []ecs.System{{Name: "spawn", Run: func(w *ecs.World) {
		if e.IsZero() {
			e = w.Spawn(ecs.OwnedBy(0), sample.Positions, sample.Velocities)
			sample.Velocities.Put(w, e, sample.Vel{X: 1})
		}
	}}, {Name: "move", Run: sample.Move}}
	w, rows := sample.NewWorld(t, g), &image.RowSet{}
	rows.AddOwner(ecs.OwnedBy(0))
	rows.Remove(uint32(ecs.OwnedBy(0)) << image.RegionShift)
	w.Image().SetPredicted(rows)
	w.Step(ecs.TickInputs{})
	if got, ok := sample.Positions.Read(w, e); !ok || got.X != 1 || !rows.Has(e.Row) {
		t.Errorf("row %d, %t, at %v after one move", e.Row, ok, got.X)
	}
}

// A predicted tick must be the same after a rewind, or predictions could not be compared.
func TestALimitedTickIsTheSameAfterARewind(t *testing.T) {
	w, rows := limitedWorld(t, sample.Busy())
	rows.Add(3)
	w.Image().SetPredicted(rows)
	r := rand.New(rand.NewPCG(8, 8))
	sums := map[ecs.Tick]image.Checksum{}
	var ring [16]image.Snapshot
	again := 0
	for w.Tick() < 300 {
		w.Step(sample.Inputs(w.Tick() + 1))
		s := &ring[w.Tick()%16]
		w.Image().Save(s)
		if want, known := sums[w.Tick()]; !known {
			sums[w.Tick()] = s.Checksum()
		} else if again++; want != s.Checksum() {
			t.Fatalf("tick %d differs when it is computed again", w.Tick())
		}
		if back := &ring[r.IntN(16)]; r.IntN(5) == 0 && !back.Empty() && back.Tick() <= w.Tick() {
			w.Image().Restore(back)
		}
	}
	if again < 100 || sums[100] == sums[299] {
		t.Errorf("%d ticks were computed again: the test shows too little", again)
	}
}

// Systems update derived data for their changes. Derived data must not keep changes that are undone.
func TestDerivedDataFollowsLastingChanges(t *testing.T) {
	total := ecs.NewDerived("total", func(w *ecs.World, into *int32) { *into = sample.Scores.Read(w).Points[0] }, func(a, b *int32) bool { return *a == *b })
	g := sample.Bare()
	g.Derived = []ecs.AnyDerived{total}
	g.Systems = []ecs.System{{Name: "score", Run: func(w *ecs.World) {
		sample.Scores.Write(w).Points[0]++
		*total.Of(w)++
	}}}
	w := sample.NewWorld(t, g)
	w.Image().SetPredicted(&image.RowSet{})
	w.Step(ecs.TickInputs{})
	if got := *total.Of(w); got != 0 || sample.Scores.Read(w).Points[0] != 0 {
		t.Errorf("derived data says %d, the state %d", got, sample.Scores.Read(w).Points[0])
	}
}

// Joins and leaves belong to the server's state. A client that receives them early plays with them for at most a
// tick.
func TestAJoinInALimitedWorldKeepsOnlyPredictedAvatars(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	rows := &image.RowSet{}
	rows.AddOwner(ecs.OwnedBy(1))
	w.Image().SetPredicted(rows)
	w.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 0}, {Kind: image.OrderJoin, Player: 1}}})
	var owners []image.Owner
	for e := range sample.Seated.All(w) {
		owners = append(owners, e.Entity().Owner())
	}
	if fmt.Sprint(owners) != fmt.Sprint([]image.Owner{ecs.OwnedBy(1)}) || w.Players() != 0 {
		t.Errorf("avatars of %v, players %b", owners, w.Players())
	}
}

func TestALimitedTickAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w, rows := limitedWorld(t, sample.Busy())
	rows.Remove(uint32(ecs.OwnedBy(1))<<image.RegionShift | 70)
	w.Image().SetPredicted(rows)
	var inputs [256]ecs.TickInputs
	for i := range inputs {
		inputs[i] = sample.Inputs(ecs.Tick(i))
		inputs[i].Orders = nil
	}
	var s image.Snapshot
	step := func() {
		w.Step(inputs[w.Tick()%256])
		w.Image().Save(&s)
	}
	for range 512 {
		step()
	}
	if n := testing.AllocsPerRun(256, step); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
}
