package image_test

import (
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// Without interpolation a view's image equals cur in every byte, whatever was shown, written or confirmed before.
func TestViewIsTheStateItShows(t *testing.T) {
	g := sample.Busy()
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	r := rand.New(rand.NewPCG(4, 4))
	var ring [8]image.Snapshot
	for w.Tick() < 300 {
		w.Step(sample.Inputs(w.Tick() + 1))
		w.Image().Save(&ring[w.Tick()%8])
		switch r.IntN(4) {
		case 0:
			continue
		case 1:
			if back := &ring[r.IntN(8)]; !back.Empty() && back.Tick() < w.Tick() {
				w.Image().Restore(back)
			}
		case 2:
			for e := range ecs.NewQuery1(ecs.Write(sample.Positions)).All(v.Sim) {
				e.A.X += 1000
			}
			for entry := range sample.Mixtures.Iter(v.World) {
				sample.Mixtures.Get(entry).Lives = -1
			}
		}
		cur := sample.Saved(w)
		before := cur.Checksum()
		v.Update(&ring[r.IntN(8)], cur, cur, r.Float64())
		if err := v.Sim.Check(); err != nil {
			t.Fatal(err)
		}
		sameRows(t, cur, v)
		if len(v.Sim.Image().Dirty()) != 0 {
			t.Fatal("the list of written pages grows from update to update")
		}
		if again := sample.Saved(w); again.Checksum() != before || w.Image().Strays() != 0 {
			t.Fatal("the view changed the simulation")
		}
		cur.Release()
	}
}

// sameRows fails unless the view's image holds s, and its donburi world s's entities.
func sameRows(t *testing.T, s *image.Snapshot, v *ecs.View) {
	t.Helper()
	n := 0
	for i := range v.Sim.Image().Live() {
		p := &v.Sim.Image().Live()[i]
		if want := s.PageOf(p.Store().Info().Number(), int(p.Index())).Content(len(p.Mem())); string(want) != string(p.Mem()) {
			t.Fatalf("tick %d: page %d of %q differs", s.Tick(), p.Index(), p.Store().Info().Column().Name())
		}
	}
	identity := v.Sim.Image().Identity()
	for o := range identity.Regions() {
		for i := range uint32(len(identity.Regions()[o].Words()) * image.BlockRows) {
			if s.Has(identity, image.Owner(o), i) {
				n++
				if v.Sim.Entry(*(*ecs.Entity)(s.RowOf(identity, image.Owner(o), i))) == nil {
					t.Fatalf("row %d of owner %d has no entry", i, o)
				}
			}
		}
	}
	if v.World.Len() != n {
		t.Fatalf("donburi shows %d entities, the state has %d", v.World.Len(), n)
	}
}

// A moving entity costs one call of Lerp. An entity that stands still in a page of its own costs none.
func TestLerpIsCalledForMovingPagesOnly(t *testing.T) {
	calls := 0
	counted := ecs.NewComponent[sample.Wide]("counted", ecs.Roles[sample.Wide]{Lerp: func(a, _ sample.Wide, _ float64) sample.Wide { calls++; return a }})
	g := &ecs.Game{Name: "v", TickRate: 60, MaxPlayers: 1, Input: sample.Pads, Components: ecs.Components(counted)}
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	var list []ecs.Entity
	sample.InSystem(w, func() {
		for range 40 {
			list = append(list, w.Spawn(ecs.OwnedByWorld, counted))
		}
	})
	prev := sample.Saved(w)
	sample.InSystem(w, func() { counted.Write(w, list[0]).Cells[0]++; counted.Write(w, list[20]).Cells[0]++ })
	v.Update(prev, sample.Saved(w), nil, 0.5)
	perPage := 1 << w.Image().Column(sample.Declared(counted)).Info().Shift()
	if calls == 0 || calls > 2*perPage {
		t.Fatalf("Lerp was called %d times for two pages of %d rows", calls, perPage)
	}
}

// The view keeps pages: a snapshot may be released and its pages reused at once. A shown page must then not count as
// unchanged.
func TestViewSurvivesTheReleaseOfShownSnapshots(t *testing.T) {
	g := sample.Busy()
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	var one, two image.Snapshot
	for w.Tick() < 200 {
		w.Step(sample.Inputs(w.Tick() + 1))
		w.Image().Save(&one)
		v.Update(&two, &one, &two, 0.5)
		v.Update(nil, &one, nil, 1)
		sameRows(t, &one, v)
		one.Release()
		two.Release()
		w.Image().Save(&two)
	}
}

// A client that joins another match shows another world in the same view. Pages of the first are released.
func TestViewFollowsToAnotherWorld(t *testing.T) {
	g := sample.Busy()
	first, second, v := sample.NewWorld(t, g), sample.NewWorld(t, g), sample.NewView(t, g)
	sample.Play(first, 120)
	sample.Play(second, 30)
	a, b := sample.Saved(first), sample.Saved(second)
	v.Update(nil, a, nil, 1)
	v.Update(nil, b, nil, 1)
	sameRows(t, b, v)
	a.Release()
	for i := range first.Image().Live() {
		if pg := first.Image().Live()[i].Base(); pg != nil && pg.Refs() != 1 {
			t.Fatalf("page %d of the first world has %d references, want only its own", i, pg.Refs())
		}
	}
	v.Update(nil, &image.Snapshot{}, nil, 1)
	if v.World.Len() != 0 || v.Tick != 0 {
		t.Fatalf("an empty state shows %d entities of tick %d", v.World.Len(), v.Tick)
	}
	sample.MustPanic(t, "several worlds", func() { v.Update(sample.Saved(first), b, nil, 1) })
	sample.MustPanic(t, "another game", func() { v.Update(nil, sample.Saved(sample.NewWorld(t, sample.Bare())), nil, 1) })
}

// A component without fields, and one whose page of zeros was never stored, can be read too.
func TestReadAtOfZeroesAndTags(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.Tags, sample.Velocities) })
	s := sample.Saved(w)
	if s.PageOf(w.Image().Column(sample.Declared(sample.Velocities)).Regions()[0].Data().Info().Number(), 0) != nil {
		t.Fatal("the page of zeros is stored: the test proves nothing")
	}
	if _, ok := sample.Tags.ReadAt(s, e); !ok {
		t.Error("the tag is not seen")
	}
	if got, ok := sample.Velocities.ReadAt(s, e); !ok || got != (sample.Vel{}) {
		t.Errorf("the zero value is read as %v, %t", got, ok)
	}
}
