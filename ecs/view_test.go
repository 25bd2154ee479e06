//go:build moving

package ecs

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/features/events"

	"tendon/ecs/fixed"
)

type tHealth struct{ Points int32 }

var (
	// vPos is blended, vHealth shown only as confirmed, cTag and cVel as they are.
	vPos    = NewComponent[tPos]("pos", Roles[tPos]{Lerp: lerpPos})
	vHealth = NewComponent[tHealth]("health", Roles[tHealth]{ConfirmedOnly: true})
	vWide   = NewComponent[tWide]("wide", Roles[tWide]{Lerp: func(a, b tWide, t float64) tWide {
		a.Cells[99] += uint64(t * float64(b.Cells[99]-a.Cells[99]))
		return a
	}})
	vClock = NewResource[tClock]("clock")
	qShown = NewQuery1(Read(vPos))
)

func lerpPos(a, b tPos, t float64) tPos {
	return tPos{a.X + fixed.FromFloat(t*(b.X-a.X).Float()), a.Y + fixed.FromFloat(t*(b.Y-a.Y).Float())}
}

func viewGame() *Game {
	return &Game{Name: "v", TickRate: 60, MaxPlayers: 2, Input: tInput,
		Components: Components(vPos, vHealth, vWide, cVel, cTag), Resources: Resources(vClock),
		Setup: func(w *World) { w.Spawn(OwnedByWorld, vPos) }}
}

func newView(t testing.TB, g *Game) *View {
	t.Helper()
	v, err := NewView(g)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func posAt(x, y int) tPos { return tPos{fixed.FromInt(x), fixed.FromInt(y)} }

// One entity per rule, all at once: who is in both states is blended, who is in one of them only is shown as the new
// state has it or not at all.
func TestViewBlendsWhatBothStatesHave(t *testing.T) {
	w, v := newWorld(t, viewGame()), newView(t, viewGame())
	var stays, dies, comes, gains, still Entity
	inSystem(w, func() {
		stays = w.Spawn(OwnedBy(0), vPos, vWide)
		dies = w.Spawn(OwnedBy(1), vPos)
		gains = w.Spawn(OwnedByWorld, cVel)
		still = w.Spawn(OwnedByWorld, vPos)
		vPos.Put(w, stays, posAt(10, 100))
		vPos.Put(w, dies, posAt(1, 1))
		vPos.Put(w, still, posAt(5, 6))
		vWide.Write(w, stays).Cells[99] = 40
	})
	prev := saved(w)
	inSystem(w, func() { w.Despawn(dies) })
	inSystem(w, func() {
		comes = w.Spawn(OwnedBy(1), vPos)
		vPos.Put(w, stays, posAt(20, 300))
		vPos.Put(w, comes, posAt(7, 8))
		vWide.Write(w, stays).Cells[99] = 80
		cVel.Put(w, gains, tVel{X: 4})
		vPos.Add(w, gains, posAt(9, 9))
		vClock.Write(w).Left = 77
	})
	cur := saved(w)
	if comes.Row != dies.Row {
		t.Fatal("the row was not taken again: the test proves less")
	}
	v.Update(prev, cur, cur, 0.25)
	for _, c := range []struct {
		e    Entity
		want tPos
	}{{stays, posAt(0, 0)}, {comes, posAt(7, 8)}, {gains, posAt(9, 9)}, {still, posAt(5, 6)}} {
		if c.e == stays {
			c.want = tPos{fixed.FromFloat(12.5), fixed.FromInt(150)}
		}
		if got, ok := vPos.Read(v.Sim, c.e); !ok || got != c.want {
			t.Errorf("%v is shown at %v, %t, want %v", c.e, got, ok, c.want)
		}
		if got := vPos.GetValue(v.Entry(c.e)); got != c.want {
			t.Errorf("donburi shows %v at %v, want %v", c.e, got, c.want)
		}
	}
	if got, _ := vWide.Read(v.Sim, stays); got.Cells[99] != 50 {
		t.Errorf("a component with few rows in a page is shown as %d, want 50", got.Cells[99])
	}
	if got, _ := cVel.Read(v.Sim, gains); got.X != 4 {
		t.Errorf("a component without Lerp is shown as %v, want the new 4", got.X)
	}
	if v.Sim.Exists(dies) || v.Entry(dies) != nil {
		t.Error("an entity that is gone in the new state is shown")
	}
	if v.Tick != w.Tick() || v.Sim.Tick() != w.Tick() || v.Alpha != 0.25 || vClock.Read(v.Sim).Left != 77 {
		t.Errorf("tick %d, Sim's %d, alpha %v, clock %v", v.Tick, v.Sim.Tick(), v.Alpha, vClock.Read(v.Sim))
	}
	v.Update(prev, cur, cur, 1)
	if got, _ := vPos.Read(v.Sim, stays); got != posAt(20, 300) {
		t.Errorf("at the end of the way it is shown at %v", got)
	}
	v.Update(prev, cur, cur, -3)
	if got, _ := vPos.Read(v.Sim, stays); got != posAt(10, 100) || v.Alpha != 0 {
		t.Errorf("before the way's begin it is shown at %v", got)
	}
	v.Update(nil, cur, nil, 0.5)
	if got, _ := vPos.Read(v.Sim, stays); got != posAt(20, 300) {
		t.Errorf("without an older state it is shown at %v", got)
	}
}

// Health must not jump back when a hit was mispredicted: it is shown as confirmed, even where the prediction has
// removed it, and not at all where the confirmed state does not have it.
func TestConfirmedOnlyComponentsAreShownAsConfirmed(t *testing.T) {
	w, v := newWorld(t, viewGame()), newView(t, viewGame())
	var hit, shot, cured, gone Entity
	inSystem(w, func() {
		hit = w.Spawn(OwnedByWorld, vPos, vHealth)
		cured = w.Spawn(OwnedByWorld, vPos, vHealth)
		gone = w.Spawn(OwnedByWorld, vPos, vHealth)
		for _, e := range []Entity{hit, cured, gone} {
			vHealth.Put(w, e, tHealth{100})
		}
	})
	confirmed := saved(w)
	inSystem(w, func() { w.Despawn(gone) })
	inSystem(w, func() {
		vHealth.Put(w, hit, tHealth{60})
		vHealth.Remove(w, cured)
		shot = w.Spawn(OwnedByWorld, vPos, vHealth)
		vHealth.Put(w, shot, tHealth{5})
	})
	cur := saved(w)
	if shot.Row != gone.Row {
		t.Fatal("the row was not taken again: the test proves less")
	}
	for range 2 { // the second time everything was shown before
		v.Update(nil, cur, confirmed, 1)
		for e, want := range map[Entity]int32{hit: 100, cured: 100} {
			if got, ok := vHealth.Read(v.Sim, e); !ok || got.Points != want || !v.Entry(e).HasComponent(vHealth) {
				t.Errorf("%v is shown with health %d, %t; want %d", e, got.Points, ok, want)
			}
		}
		if vHealth.Has(v.Sim, shot) || v.Entry(shot).HasComponent(vHealth) || !vPos.Has(v.Sim, shot) {
			t.Error("a predicted shot is shown with health before its tick is confirmed")
		}
	}
	v.Update(nil, cur, cur, 1)
	if got, ok := vHealth.Read(v.Sim, shot); !ok || got.Points != 5 || vHealth.Has(v.Sim, cured) {
		t.Errorf("after confirmation the shot is shown with %d, %t", got.Points, ok)
	}
	v.Update(nil, cur, nil, 1)
	if vHealth.Has(v.Sim, hit) {
		t.Error("health is shown though no state is confirmed")
	}
}

// A view's image is cur's in every byte when nothing is blended, whatever was shown, written or confirmed before.
func TestViewIsTheStateItShows(t *testing.T) {
	g := busyGame()
	w, v := newWorld(t, g), newView(t, g)
	r := rand.New(rand.NewPCG(4, 4))
	var ring [8]Snapshot
	for w.Tick() < 300 {
		w.Step(busyInputs(w.Tick() + 1))
		w.Image().Save(&ring[w.Tick()%8])
		switch r.IntN(4) {
		case 0:
			continue
		case 1:
			if back := &ring[r.IntN(8)]; !back.Empty() && back.Tick() < w.Tick() {
				w.Image().Restore(back)
			}
		case 2:
			for e := range NewQuery1(Write(cPos)).All(v.Sim) {
				e.A.X += 1000
			}
			for entry := range cMixed.Iter(v.World) {
				cMixed.Get(entry).Lives = -1
			}
		}
		cur := saved(w)
		before := cur.Checksum()
		v.Update(&ring[r.IntN(8)], cur, cur, r.Float64())
		if err := v.Sim.CheckDonburi(); err != nil {
			t.Fatal(err)
		}
		sameRows(t, cur, v)
		if len(v.Sim.image.dirty) != 0 {
			t.Fatal("the list of written pages grows from update to update")
		}
		if again := saved(w); again.Checksum() != before || w.Image().Strays() != 0 {
			t.Fatal("the view changed the simulation")
		}
		cur.Release()
	}
}

// sameRows fails unless the view's image holds s, and its donburi world s's entities.
func sameRows(t *testing.T, s *Snapshot, v *View) {
	t.Helper()
	n := 0
	for i := range v.Sim.image.live {
		p := &v.Sim.image.live[i]
		if want := s.pageOf(p.store.info.number, int(p.index)).content(len(p.mem)); string(want) != string(p.mem) {
			t.Fatalf("tick %d: page %d of %q differs", s.Tick(), p.index, p.store.info.column.name)
		}
	}
	identity := v.Sim.identity()
	for o := range identity.regions {
		for i := range uint32(len(identity.regions[o].words) * blockRows) {
			if s.has(identity, Owner(o), i) {
				n++
				if v.Entry(*(*Entity)(s.row(identity, Owner(o), i))) == nil {
					t.Fatalf("row %d of owner %d has no entry", i, o)
				}
			}
		}
	}
	if v.World.Len() != n {
		t.Fatalf("donburi shows %d entities, the state has %d", v.World.Len(), n)
	}
}

// Sprites, tweens and sounds hang on entities. They stay while the entity is shown, though a rewind rewrote it, and
// though its set of simulated components changed, which recreates its donburi entity.
func TestDressLastsWhileTheEntityIsShown(t *testing.T) {
	g, dressed := viewGame(), map[Entity]int{}
	g.Screen.Dress = func(v *View, entry *donburi.Entry) {
		e, ok := v.EntityOf(entry)
		if !ok || v.Entry(e) != entry {
			t.Errorf("Dress is given an entry that leads to %v, %t", e, ok)
		}
		dressed[e]++
		donburi.Add(entry, cSprite, &tSprite{name: fmt.Sprint(e.Row), of: new(int)})
	}
	w, v := newWorld(t, g), newView(t, g)
	var a, b Entity
	inSystem(w, func() {
		a = w.Spawn(OwnedByWorld, vPos)
		b = w.Spawn(OwnedByWorld, vPos)
	})
	first := saved(w)
	v.Update(nil, first, nil, 1)
	if len(dressed) != 3 {
		t.Fatalf("%d entities were dressed, want 3", len(dressed))
	}
	entity, sprite := v.Entry(a).Entity(), cSprite.Get(v.Entry(a))
	inSystem(w, func() { vPos.Put(w, a, posAt(1, 1)) })
	v.Update(first, saved(w), nil, 0.5)
	w.Image().Restore(first)
	inSystem(w, func() { vPos.Put(w, a, posAt(2, 2)); w.Despawn(b) })
	v.Update(first, saved(w), nil, 0.5)
	if v.Entry(a).Entity() != entity || cSprite.Get(v.Entry(a)) != sprite {
		t.Fatal("a rewind took the entity's sprite")
	}
	for _, change := range []func(){
		func() { cVel.Add(w, a, tVel{X: 3}) },
		func() { cTag.Add(w, a, struct{}{}); vPos.Remove(w, a) },
		func() { cVel.Remove(w, a); vPos.Add(w, a, posAt(3, 3)) },
		func() { cTag.Remove(w, a) },
	} {
		inSystem(w, change)
		v.Update(first, saved(w), nil, 1)
		for _, c := range Components(vPos, cVel, cTag) {
			if v.Entry(a).HasComponent(c) != v.Sim.column(c.declared()).regions[0].has(a.Row) {
				t.Fatalf("donburi and queries do not agree whether %s is shown", c.Name())
			}
		}
		if cSprite.Get(v.Entry(a)) != sprite || sprite.name != fmt.Sprint(a.Row) {
			t.Fatal("another set of components took the entity's sprite")
		}
		var c Entity // of the same set, whose archetype must not be born by adding
		inSystem(w, func() { c = w.Spawn(OwnedByWorld, vPos, cVel) })
		v.Update(first, saved(w), nil, 1)
		if !v.Entry(c).HasComponent(cSprite) {
			t.Fatal("a later entity is not dressed")
		}
		if err := v.Sim.CheckDonburi(); err != nil {
			t.Fatal(err)
		}
	}
	if dressed[a] != 1 || dressed[b] != 1 {
		t.Fatalf("dressed %d and %d times, want once each", dressed[a], dressed[b])
	}
	w.Image().Restore(first)
	v.Update(nil, saved(w), nil, 1)
	if dressed[b] != 2 || dressed[a] != 1 {
		t.Fatalf("after b came back a was dressed %d and b %d times, want 1 and 2", dressed[a], dressed[b])
	}
	n := len(dressed)
	v.Update(nil, saved(w), nil, 1)
	if dressed[b] != 2 || len(dressed) != n {
		t.Fatal("an update without news dressed someone")
	}
}

// The row of one that was hit may be taken by the next between two updates: that is another entity, undressed.
func TestRowTakenAgainBetweenUpdatesIsDressedAnew(t *testing.T) {
	g := viewGame()
	var dressed []Entity
	g.Screen.Dress = func(v *View, entry *donburi.Entry) {
		e, _ := v.EntityOf(entry)
		dressed = append(dressed, e)
		donburi.Add(entry, cSprite, &tSprite{name: fmt.Sprint(e.Born)})
	}
	w, v := newWorld(t, g), newView(t, g)
	var a, b Entity
	inSystem(w, func() { a = w.Spawn(OwnedByWorld, vPos) })
	v.Update(nil, saved(w), nil, 1)
	inSystem(w, func() { w.Despawn(a) })
	inSystem(w, func() { b = w.Spawn(OwnedByWorld, vPos) })
	v.Update(nil, saved(w), nil, 1)
	if a.Row != b.Row || len(dressed) != 3 || dressed[2] != b || cSprite.Get(v.Entry(b)).name != fmt.Sprint(b.Born) || v.Entry(a) != nil {
		t.Fatalf("%v after %v: dressed %v", b, a, dressed)
	}
}

// A moving entity costs one call of Lerp, one that stands still in a page of its own none.
func TestLerpIsCalledForMovingPagesOnly(t *testing.T) {
	calls := 0
	counted := NewComponent[tWide]("counted", Roles[tWide]{Lerp: func(a, _ tWide, _ float64) tWide { calls++; return a }})
	g := &Game{Name: "v", TickRate: 60, MaxPlayers: 1, Input: tInput, Components: Components(counted)}
	w, v := newWorld(t, g), newView(t, g)
	var list []Entity
	inSystem(w, func() {
		for range 40 {
			list = append(list, w.Spawn(OwnedByWorld, counted))
		}
	})
	prev := saved(w)
	inSystem(w, func() { counted.Write(w, list[0]).Cells[0]++; counted.Write(w, list[20]).Cells[0]++ })
	v.Update(prev, saved(w), nil, 0.5)
	perPage := 1 << w.column(counted.declaration).info.shift
	if calls == 0 || calls > 2*perPage {
		t.Fatalf("Lerp was called %d times for two pages of %d rows", calls, perPage)
	}
}

// Draw may use what systems use: the game, and data derived from the state that is shown.
func TestDerivedDataOfAViewFollowsWhatIsShown(t *testing.T) {
	count := NewDerived("count", func(w *World, n *int) {
		*n = 0
		for range qShown.All(w) {
			*n++
		}
	}, func(a, b *int) bool { return *a == *b })
	g := viewGame()
	g.Derived = []AnyDerived{count}
	w, v := newWorld(t, g), newView(t, g)
	for want := 1; want < 4; want++ {
		v.Update(nil, saved(w), nil, 1)
		if got := *count.Of(v.Sim); got != want || v.Sim.Game() != g {
			t.Fatalf("%d are counted, want %d", got, want)
		}
		inSystem(w, func() { w.Spawn(OwnedByWorld, vPos) })
	}
}

// A view takes off what Dress put on without harm to later entities: donburi moves the entity to the archetype of its
// simulated components alone, which was born by Create.
func TestUndressingLeavesTheArchetypesSound(t *testing.T) {
	g := viewGame()
	g.Screen.Dress = func(_ *View, entry *donburi.Entry) { donburi.Add(entry, cSprite, &tSprite{}) }
	w, v := newWorld(t, g), newView(t, g)
	var e Entity
	inSystem(w, func() { e = w.Spawn(OwnedByWorld, vPos) })
	v.Update(nil, saved(w), nil, 1)
	inSystem(w, func() { cVel.Add(w, e, tVel{}) })
	v.Update(nil, saved(w), nil, 1)
	v.Entry(e).RemoveComponent(cSprite)
	inSystem(w, func() { w.Spawn(OwnedByWorld, vPos, cVel); w.Spawn(OwnedByWorld, vPos, cVel) })
	v.Update(nil, saved(w), nil, 1)
	if v.Entry(e).HasComponent(cSprite) || v.World.Len() != 4 {
		t.Fatalf("%d entities are shown, want 4", v.World.Len())
	}
	if err := v.Sim.CheckDonburi(); err != nil {
		t.Fatal(err)
	}
}

// A camera, a particle or donburi's event bus may live in a view's world; only what stands for the simulation is the
// engine's.
func TestViewHoldsEntitiesOfTheGamesOwn(t *testing.T) {
	w, v := newWorld(t, viewGame()), newView(t, viewGame())
	camera := v.World.Entry(v.World.Create(cSprite))
	heard := 0
	boom := events.NewEventType[int]()
	boom.Subscribe(v.World, func(donburi.World, int) { heard++ })
	boom.Publish(v.World, 1)
	s := saved(w)
	v.Update(nil, s, nil, 1)
	boom.ProcessEvents(v.World)
	if _, ok := v.EntityOf(camera); ok || heard != 1 || v.World.Len() != 3 {
		t.Fatalf("camera stands for an entity: %t, events heard: %d, entities: %d", ok, heard, v.World.Len())
	}
	mustPanic(t, "World.Spawn", func() { v.World.Create(vPos, cSprite) })
	shown, _ := vPos.First(v.World)
	mustPanic(t, "World.Despawn", shown.Remove)
	v.World.Remove(camera.Entity())
	if v.World.Len() != 3 { // the refused Create, the bus and the entity
		t.Fatalf("%d entities, want 3", v.World.Len())
	}
}

// A view that draws entities and removes some of its own while it walks them sees each once.
func TestRemovingTheCurrentEntryInsideIterVisitsEachOnce(t *testing.T) {
	g := viewGame()
	w, v := newWorld(t, g), newView(t, g)
	inSystem(w, func() {
		for range 50 {
			w.Spawn(OwnedByWorld, vPos)
		}
	})
	v.Update(nil, saved(w), nil, 1)
	visits := map[Entity]int{}
	for e := range vPos.Iter(v.World) {
		id, _ := EntityOf(e)
		visits[id]++
		if len(visits)%3 == 0 {
			continue
		}
		donburi.Add(e, cSprite, &tSprite{}) // moves it to another archetype
	}
	twice := 0
	for id := range visits {
		if visits[id] > 2 {
			t.Errorf("%v was visited %d times", id, visits[id])
		}
		twice += visits[id] - 1
	}
	if len(visits) != 51 || twice != 0 {
		t.Fatalf("%d were visited, %d of them again", len(visits), twice)
	}
}

// The view keeps pages, so a snapshot may be released and its pages used again at once: none that is shown may then
// be taken for unchanged.
func TestViewSurvivesTheReleaseOfWhatItShowed(t *testing.T) {
	g := busyGame()
	w, v := newWorld(t, g), newView(t, g)
	var one, two Snapshot
	for w.Tick() < 200 {
		w.Step(busyInputs(w.Tick() + 1))
		w.Image().Save(&one)
		v.Update(&two, &one, &two, 0.5)
		v.Update(nil, &one, nil, 1)
		sameRows(t, &one, v)
		one.Release()
		two.Release()
		w.Image().Save(&two)
	}
}

// A client that joins another match shows another world in the same view; pages of the first are given back.
func TestViewFollowsToAnotherWorld(t *testing.T) {
	g := busyGame()
	first, second, v := newWorld(t, g), newWorld(t, g), newView(t, g)
	play(first, 120)
	play(second, 30)
	a, b := saved(first), saved(second)
	v.Update(nil, a, nil, 1)
	v.Update(nil, b, nil, 1)
	sameRows(t, b, v)
	a.Release()
	for i := range first.image.live {
		if pg := first.image.live[i].base; pg != nil && pg.refs != 1 {
			t.Fatalf("page %d of the first world has %d references, want only its own", i, pg.refs)
		}
	}
	v.Update(nil, &Snapshot{}, nil, 1)
	if v.World.Len() != 0 || v.Tick != 0 {
		t.Fatalf("an empty state shows %d entities of tick %d", v.World.Len(), v.Tick)
	}
	mustPanic(t, "several worlds", func() { v.Update(saved(first), b, nil, 1) })
	mustPanic(t, "another game", func() { v.Update(nil, saved(newWorld(t, tGame())), nil, 1) })
}

// A view is updated at display rate, on devices that pay for every collection.
func TestUpdateDoesNotAllocateWhileNoEntityComesOrGoes(t *testing.T) {
	g := viewGame()
	w, v := newWorld(t, g), newView(t, g)
	inSystem(w, func() {
		for i := range 500 {
			e := w.Spawn(OwnedByWorld, vPos, vHealth, cVel)
			vPos.Put(w, e, posAt(i, i))
		}
	})
	var ring [4]Snapshot
	tick := func() {
		w.Step(TickInputs{})
		for e := range NewQuery1(Write(vPos)).All(w) {
			e.A.X += fixed.FromInt(1)
		}
		w.Image().Save(&ring[w.Tick()%4])
	}
	for range 8 {
		tick()
		v.Update(&ring[(w.Tick()-1)%4], &ring[w.Tick()%4], &ring[(w.Tick()-2)%4], 0.5)
	}
	if n := testing.AllocsPerRun(50, func() {
		for range 4 {
			v.Update(&ring[(w.Tick()-1)%4], &ring[w.Tick()%4], &ring[(w.Tick()-2)%4], 0.25)
		}
	}); n != 0 {
		t.Fatalf("%v allocations in four updates of one tick", n)
	}
	move := NewQuery1(Write(vPos))
	if n := testing.AllocsPerRun(50, func() {
		w.Step(TickInputs{})
		for e := range move.All(w) {
			e.A.X += fixed.FromInt(1)
		}
		w.Image().Save(&ring[w.Tick()%4])
		v.Update(&ring[(w.Tick()-1)%4], &ring[w.Tick()%4], &ring[(w.Tick()-2)%4], 0.25)
	}); n != 0 {
		t.Fatalf("%v allocations in a tick and an update", n)
	}
}

// Reading an old state answers as the world did then, whatever became of the entity.
func TestReadAtAnswersAsTheWorldDidThen(t *testing.T) {
	w := newWorld(t, busyGame())
	type record struct {
		s   *Snapshot
		pos map[Entity]tPos
	}
	var records []record
	ever := map[Entity]bool{}
	for w.Tick() < 150 {
		play(w, w.Tick()+10)
		r := record{saved(w), map[Entity]tPos{}}
		for e := range qPos.All(w) {
			r.pos[e.Entity()] = e.A
			ever[e.Entity()] = true
		}
		records = append(records, r)
	}
	for _, r := range records {
		for e := range ever {
			want, wantOK := r.pos[e]
			if got, ok := cPos.ReadAt(r.s, e); got != want || ok != wantOK || ExistsAt(r.s, e) != ok {
				t.Fatalf("tick %d: %v is %v, %t; was %v, %t", r.s.Tick(), e, got, ok, want, wantOK)
			}
			if _, ok := cTag.ReadAt(r.s, e); ok {
				t.Fatal("a component that nothing has is read")
			}
		}
	}
	last := records[len(records)-1].s
	for _, e := range []Entity{{}, {Row: 1 << 31}, {Row: regionRows - 1, Born: 1}, {Row: 9 << regionShift}} {
		if _, ok := cPos.ReadAt(last, e); ok || ExistsAt(last, e) {
			t.Errorf("%v exists", e)
		}
	}
	inSystem(w, func() {
		for range 500 {
			w.Spawn(OwnedByWorld, cPos)
		}
	})
	if e := (Entity{Row: 500, Born: w.Tick()}); !w.Exists(e) || ExistsAt(last, e) {
		t.Error("an entity exists in a state from before the image had a page for it")
	}
	if _, ok := cPos.ReadAt(&Snapshot{}, Entity{Row: 1}); ok || ExistsAt(nil, Entity{Row: 1}) {
		t.Error("something exists in no state")
	}
	var e Entity
	for e = range records[0].pos {
		break
	}
	mustPanic(t, "Game.Components", func() { vPos.ReadAt(records[0].s, e) })
	if n := testing.AllocsPerRun(20, func() { cPos.ReadAt(records[0].s, e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A component without fields, and one whose page was never stored because every value is zero, are read as well.
func TestReadAtOfZeroesAndTags(t *testing.T) {
	w := newWorld(t, tGame())
	var e Entity
	inSystem(w, func() { e = w.Spawn(OwnedByWorld, cTag, cVel) })
	s := saved(w)
	if s.pageOf(w.column(cVel.declaration).regions[0].data.info.number, 0) != nil {
		t.Fatal("the page of zeros is stored: the test proves nothing")
	}
	if _, ok := cTag.ReadAt(s, e); !ok {
		t.Error("the tag is not seen")
	}
	if got, ok := cVel.ReadAt(s, e); !ok || got != (tVel{}) {
		t.Errorf("the zero value is read as %v, %t", got, ok)
	}
}

func BenchmarkView(b *testing.B) {
	g := viewGame()
	w, v := newWorld(b, g), newView(b, g)
	for range 10000 {
		w.Spawn(OwnedByWorld, vPos, cVel)
	}
	w.flush()
	prev := saved(w)
	for e := range NewQuery1(Write(vPos)).All(w) {
		e.A.X += fixed.FromInt(1)
	}
	cur := saved(w)
	v.Update(prev, cur, cur, 0.5)
	b.Run("moving=10000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Update(prev, cur, cur, 0.5)
		}
	})
	b.Run("still=10000", func(b *testing.B) {
		for b.Loop() {
			v.Update(cur, cur, cur, 0.5)
		}
	})
}
