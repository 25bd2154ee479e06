//go:build moving

package ecs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// limitedWorld returns a world of the busy game with four players, in which only player 1's rows are predicted.
func limitedWorld(t testing.TB, g *Game) (*World, *RowSet) {
	w := newWorld(t, g)
	w.Step(TickInputs{Orders: []Order{{Kind: OrderJoin, Player: 0}, {Kind: OrderJoin, Player: 1}, {Kind: OrderJoin, Player: 2}}})
	rows := &RowSet{}
	rows.AddOwner(OwnedBy(1))
	return w, rows
}

// rowBytes returns everything a state has of a row: identity, presence and values.
func rowBytes(s *Snapshot, o Owner, i uint32) (all []byte) {
	for c := range s.image.columns {
		col := &s.image.columns[c]
		if col.info.single {
			continue
		}
		all = append(all, 0)
		if s.has(col, o, i) {
			all[len(all)-1] = 1
		}
		all = append(all, unsafe.Slice((*byte)(s.row(col, o, i)), col.info.stride)...)
	}
	return all
}

// eachRow calls f for the first 256 rows of each owner, more than these tests fill.
func eachRow(im *image, f func(o Owner, i uint32)) {
	identity := &im.columns[columnIdentity]
	for o := range identity.regions {
		for i := range min(256, uint32(len(identity.regions[o].words)*blockRows)) {
			f(Owner(o), i)
		}
	}
}

// What is not predicted is the server's word: no system may move it, whatever it does, while predicted rows move as
// they do in a world that is not limited.
func TestALimitedTickChangesOnlyRowsOfTheSet(t *testing.T) {
	w, rows := limitedWorld(t, busyGame())
	w.Image().SetPredicted(rows)
	moved, fired := 0, 0
	for w.Tick() < 200 {
		before := saved(w)
		core := *w.core()
		w.Step(busyInputs(w.Tick() + 1))
		after := saved(w)
		eachRow(w.image, func(o Owner, i uint32) {
			same := bytes.Equal(rowBytes(before, o, i), rowBytes(after, o, i))
			switch {
			case !same && !rows.Has(uint32(o)<<regionShift|i):
				t.Fatalf("tick %d: row %d of owner %d has changed", w.Tick(), i, o)
			case !same:
				moved++
			}
			if e := after.entityAt(o, i); o == OwnedBy(1) && e.Born == w.Tick() {
				fired++
			}
		})
		for _, r := range w.game.Resources {
			c := w.column(r.declared())
			if string(unsafe.Slice((*byte)(before.row(c, 0, 0)), c.info.stride)) != string(c.singleRow()) {
				t.Fatalf("tick %d: resource %q has changed", w.Tick(), c.info.name)
			}
		}
		if now := *w.core(); now.Tick != core.Tick+1 || now.Players != core.Players || now.Rand != core.Rand {
			t.Fatalf("tick %d: players or random source have changed: %+v, then %+v", w.Tick(), core, now)
		}
		before.Release()
		after.Release()
	}
	if moved < 200 || fired < 10 || w.Image().Strays() != 0 {
		t.Errorf("%d rows moved, %d spawned, %d strays: the test shows too little", moved, fired, w.Image().Strays())
	}
	w.Image().SetPredicted(nil)
	before := saved(w)
	w.Step(busyInputs(w.Tick() + 1))
	if rClock.Read(w).Left == 0 || string(rowBytes(before, 0, 1)) == string(rowBytes(saved(w), 0, 1)) {
		t.Error("a world whose limit was lifted does not move the rest")
	}
}

// Reading is not limited: systems see the others where the server last said they were.
func TestLimitedQueriesYieldWhatTheyMayWriteAndReadAll(t *testing.T) {
	w := newWorld(t, tGame())
	all := scatter(w)
	inSystem(w, func() { // a long run over many blocks
		for range 700 {
			cVel.Put(w, w.Spawn(OwnedBy(3), cPos, cVel), tVel{X: 1})
		}
	})
	for e := range NewQuery1(Read(cPos)).All(w) {
		if e.Entity().Owner() == OwnedBy(3) && !slices.Contains(all, e.Entity()) {
			all = append(all, e.Entity())
		}
	}
	slices.SortFunc(all, func(a, b Entity) int { return int(a.Row) - int(b.Row) })
	writes := NewQuery2(Read(cPos), Write(cVel))
	narrow := NewQuery1(Write(cPos), With(cVel), Without(cTag))
	reads := NewQuery2(Read(cPos), Read(cVel))
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		rows := &RowSet{}
		for o := range Owner(5) {
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
		want := func(limited bool, with *Component[tVel], without AnyComponent) (list []Entity) {
			for _, e := range all {
				tagged := without != nil && w.column(without.declared()).regions[e.Owner()].has(e.Row%regionRows)
				if with.Has(w, e) && !tagged && (!limited || rows.Has(e.Row)) {
					list = append(list, e)
				}
			}
			return list
		}
		for _, c := range []struct {
			name     string
			all, run []Entity
			want     []Entity
		}{
			{"writes", entitiesOf2(w, rows, writes), runsOf2(w, rows, writes), want(true, cVel, nil)},
			{"reads", entitiesOf2(w, rows, reads), runsOf2(w, rows, reads), want(false, cVel, nil)},
			{"narrow", entitiesOf1(w, rows, narrow), runsOf1(w, rows, narrow), want(true, cVel, cTag)},
		} {
			if !slices.Equal(c.all, c.want) || !slices.Equal(c.run, c.want) {
				t.Fatalf("round %d, %s: All yields %d, Runs %d, want %d", round, c.name, len(c.all), len(c.run), len(c.want))
			}
		}
	}
}

// limited runs f as a system of a limited tick would run.
func limited(w *World, rows *RowSet, f func()) {
	w.limit.open = rows
	f()
	w.limit.open = nil
}

func entitiesOf1[A, PA any](w *World, rows *RowSet, q *Query1[A, PA]) (list []Entity) {
	limited(w, rows, func() {
		for r := range q.All(w) {
			list = append(list, r.Entity())
		}
	})
	return list
}

func runsOf1[A, PA any](w *World, rows *RowSet, q *Query1[A, PA]) (list []Entity) {
	limited(w, rows, func() {
		for r := range q.Runs(w) {
			list = append(list, r.Entities...)
		}
	})
	return list
}

func entitiesOf2[A, PA, B, PB any](w *World, rows *RowSet, q *Query2[A, PA, B, PB]) (list []Entity) {
	limited(w, rows, func() {
		for r := range q.All(w) {
			list = append(list, r.Entity())
		}
	})
	return list
}

func runsOf2[A, PA, B, PB any](w *World, rows *RowSet, q *Query2[A, PA, B, PB]) (list []Entity) {
	limited(w, rows, func() {
		for r := range q.Runs(w) {
			list = append(list, r.Entities...)
		}
	})
	return list
}

// Pages that a limited query passes over are not written, so saving a predicted tick costs what was predicted.
func TestALimitedQueryMarksOnlyPagesOfTheSet(t *testing.T) {
	g := tGame()
	g.Systems = Systems(busyMove)
	w := newWorld(t, g)
	inSystem(w, func() {
		for range 1000 {
			w.Spawn(OwnedByWorld, cPos, cVel)
		}
		w.Spawn(OwnedBy(0), cPos, cVel)
	})
	saved(w)
	rows := &RowSet{}
	rows.AddOwner(OwnedBy(0))
	w.Image().SetPredicted(rows)
	w.Step(TickInputs{})
	for _, number := range w.image.dirty {
		if p := w.image.live[number].store.info; p.column.name == "pos" && p.owner != OwnedBy(0) {
			t.Fatalf("a page of owner %d is marked", p.owner)
		}
	}
}

// limitedModel is a plain account of a limited world: what each entity has, and the rules of World.SetPredicted.
type limitedModel struct {
	rows      map[uint32]bool
	pos       map[Entity]tPos
	vel       map[Entity]tVel
	exists    map[Entity]bool
	score     int32
	later     []func()
	predicted Owner
}

func (m *limitedModel) may(e Entity) bool { return m.rows[e.Row] || e.Owner() == m.predicted }

// One random machine for all rules at once: systems do what they like to random entities, the model says what of it
// lasts.
func TestALimitedWorldIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := tGame()
		do := []func(w *World){func(*World) {}, func(*World) {}}
		g.Systems = []System{{"one", func(w *World) { do[0](w) }}, {"two", func(w *World) { do[1](w) }}}
		w, err := NewWorld(g, 5)
		if err != nil {
			t.Fatal(err)
		}
		m := &limitedModel{rows: map[uint32]bool{}, pos: map[Entity]tPos{}, vel: map[Entity]tVel{}, exists: map[Entity]bool{}, predicted: OwnedBy(0)}
		rows := &RowSet{}
		rows.AddOwner(m.predicted)
		var all []Entity
		inSystem(w, func() {
			for i := range 12 {
				e := w.Spawn(Owner(i%3), cPos, cVel)
				all = append(all, e)
				m.exists[e], m.pos[e], m.vel[e] = true, tPos{}, tVel{}
			}
		})
		rows.Add(all[0].Row)
		m.rows[all[0].Row] = true
		w.Image().SetPredicted(rows)
		system := func(w *World) {
			for range rapid.IntRange(0, 6).Draw(t, "actions") {
				act(t, w, m, &all)
			}
		}
		do = []func(w *World){
			func(w *World) { system(w) },
			func(w *World) { m.flush(); m.check(t, w, all); system(w) },
		}
		for range rapid.IntRange(1, 5).Draw(t, "ticks") {
			w.Step(TickInputs{})
			m.flush()
			m.score = 0
			m.check(t, w, all)
		}
	})
}

func (m *limitedModel) flush() {
	for _, f := range m.later {
		f()
	}
	m.later = m.later[:0]
}

// act does one random thing to the world and to the model.
func act(t *rapid.T, w *World, m *limitedModel, all *[]Entity) {
	e := rapid.SampledFrom(*all).Draw(t, "entity")
	value := int8(rapid.IntRange(1, 100).Draw(t, "value"))
	pos := posAt(int(value), 0)
	switch rapid.IntRange(0, 7).Draw(t, "action") {
	case 0, 1:
		_, has := m.pos[e]
		if want := has && m.may(e); cPos.Put(w, e, pos) != want || (cPos.Write(w, e) != nil) != want {
			t.Fatalf("writing %v is not %t", e, want)
		} else if want {
			m.pos[e] = pos
		}
	case 2:
		cVel.Add(w, e, tVel{X: pos.X})
		m.later = append(m.later, func() {
			if m.exists[e] && m.may(e) {
				m.vel[e] = tVel{X: pos.X}
			}
		})
	case 3:
		cVel.Remove(w, e)
		m.later = append(m.later, func() {
			if m.may(e) {
				delete(m.vel, e)
			}
		})
	case 4:
		w.Despawn(e)
		m.later = append(m.later, func() {
			if m.may(e) {
				m.drop(e)
			}
		})
	case 5:
		m.spawn(t, w, all, pos)
	case 6:
		for r := range qMove.All(w) {
			r.A.X += r.B.X
		}
		for e := range m.pos {
			if v, ok := m.vel[e]; ok && m.may(e) && !m.fresh(w, e) {
				m.pos[e] = tPos{m.pos[e].X + v.X, m.pos[e].Y}
			}
		}
	case 7:
		rScore.Write(w).Points[1] += int32(value)
		m.score += int32(value)
	}
}

// fresh reports whether e is spawned by the running system, whose queries do not see it.
func (m *limitedModel) fresh(w *World, e Entity) bool {
	return !w.identity().regions[e.Owner()].has(e.Row % regionRows)
}

func (m *limitedModel) drop(e Entity) {
	delete(m.exists, e)
	delete(m.pos, e)
	delete(m.vel, e)
}

// spawn takes a row and fills it. It may be used at once, whoever owns it.
func (m *limitedModel) spawn(t *rapid.T, w *World, all *[]Entity, pos tPos) {
	e := w.Spawn(Owner(rapid.IntRange(0, 2).Draw(t, "owner")), cPos)
	if !cPos.Put(w, e, pos) || !w.Exists(e) {
		t.Fatalf("%v cannot be filled", e)
	}
	cVel.Add(w, e, tVel{X: 1})
	m.exists[e], m.pos[e] = true, pos
	lasts := e.Owner() == m.predicted
	m.later = append(m.later, func() {
		if m.vel[e] = (tVel{X: 1}); !lasts {
			m.drop(e)
		}
	})
	if lasts {
		*all = append(*all, e)
	}
}

func (m *limitedModel) check(t *rapid.T, w *World, all []Entity) {
	for _, e := range all {
		pos, hasPos := cPos.Read(w, e)
		vel, hasVel := cVel.Read(w, e)
		_, wantPos := m.pos[e]
		_, wantVel := m.vel[e]
		if w.Exists(e) != m.exists[e] || hasPos != wantPos || hasVel != wantVel || pos != m.pos[e] || vel != m.vel[e] {
			t.Fatalf("%v: exists %t at %v (%t) with %v (%t), want %t, %v (%t), %v (%t)", e, w.Exists(e), pos, hasPos, vel, hasVel,
				m.exists[e], m.pos[e], wantPos, m.vel[e], wantVel)
		}
	}
	if n := count(w, qPos); n != len(m.pos) {
		t.Fatalf("the world has %d entities, want %d", n, len(m.pos))
	}
	if got := rScore.Read(w).Points[1]; got != m.score {
		t.Fatalf("the score is %d, want %d", got, m.score)
	}
}

// Donburi code in systems is limited like everything else: Get gives nothing to write to, Set stores nothing.
func TestEntriesAreLimitedToo(t *testing.T) {
	g := tGame()
	var mine, other, fresh Entity
	g.Setup = func(w *World) {
		mine, other = w.Spawn(OwnedBy(0), cPos), w.Spawn(OwnedBy(1), cPos)
	}
	g.Systems = []System{{"write", func(w *World) {
		if p := cPos.Get(w.Entry(other)); p != nil {
			t.Error("Get lets another's row be written")
		}
		cPos.Set(w.Entry(other), &tPos{X: 3})
		cPos.SetValue(w.Entry(other), tPos{X: 3})
		cPos.SetValue(w.Entry(mine), tPos{X: 4})
		if got := cPos.GetValue(w.Entry(other)); got != (tPos{}) {
			t.Error("Set stored", got)
		}
		fresh = w.Spawn(OwnedBy(1), cPos)
	}}, {"look", func(w *World) {
		if w.Exists(fresh) || w.Entry(fresh) != nil {
			t.Error("another owner's spawn outlives its system")
		}
	}}}
	w := newWorld(t, g)
	rows := &RowSet{}
	rows.AddOwner(OwnedBy(0))
	w.Image().SetPredicted(rows)
	w.Step(TickInputs{})
	if got, _ := cPos.Read(w, mine); got.X != 4 {
		t.Error("the own row was not written:", got)
	}
	if err := w.CheckDonburi(); err != nil {
		t.Error(err)
	}
	cPos.SetValue(w.Entry(other), tPos{X: 9}) // outside Step nothing is limited
	if got, _ := cPos.Read(w, other); got.X != 9 {
		t.Error("a limit holds outside Step")
	}
}

// A rocket predicted here and the one the server spawns in the same tick are the same entity, also the second of a
// tick, after others were freed: a client and its server agree on rows without talking.
func TestOwnSpawnsOfALimitedWorldAreThoseOfTheFullOne(t *testing.T) {
	full := newWorld(t, busyGame())
	part, rows := limitedWorld(t, busyGame())
	full.Step(TickInputs{Orders: []Order{{Kind: OrderJoin, Player: 0}, {Kind: OrderJoin, Player: 1}, {Kind: OrderJoin, Player: 2}}})
	part.Image().SetPredicted(rows)
	own := func(w *World) (list []Entity) {
		for e := range qPos.All(w) {
			if e.Entity().Owner() == OwnedBy(1) {
				list = append(list, e.Entity())
			}
		}
		return list
	}
	born, twice := 0, 0
	for full.Tick() < 500 {
		in := TickInputs{Players: make([]InputBytes, 4)}
		for p := range Player(4) {
			in.Players[p] = tInput.Pack(tPad{DX: int8(p), Fire: (uint64(full.Tick())/uint64(p+3))%2 == 0})
		}
		full.Step(in)
		part.Step(in)
		x, y := own(full), own(part)
		for _, w := range []*World{full, part} { // what the random source decides may differ: it is the server's word
			for e := range qMixed.All(w) {
				if e.Entity().Owner() == OwnedBy(1) && e.Entity().Born == w.Tick() && e.A.Lives != 25 {
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

// A row may be left out of its owner's region, for an entity that is shown as the server has it. The next entity in
// that row is one's own again.
func TestASpawnTakesItsRowIntoTheSet(t *testing.T) {
	g := tGame()
	var e Entity
	g.Systems = []System{{"spawn", func(w *World) {
		if e.IsZero() {
			e = w.Spawn(OwnedBy(0), cPos, cVel)
			cVel.Put(w, e, tVel{X: 1})
		}
	}}, {"move", busyMove}}
	w, rows := newWorld(t, g), &RowSet{}
	rows.AddOwner(OwnedBy(0))
	rows.Remove(uint32(OwnedBy(0)) << regionShift)
	w.Image().SetPredicted(rows)
	w.Step(TickInputs{})
	if got, ok := cPos.Read(w, e); !ok || got.X != 1 || !rows.Has(e.Row) {
		t.Errorf("row %d, %t, at %v after one move", e.Row, ok, got.X)
	}
}

// A predicted tick that is rewound and computed again is the same tick, or no prediction could be compared with
// anything.
func TestALimitedTickIsTheSameAfterARewind(t *testing.T) {
	w, rows := limitedWorld(t, busyGame())
	rows.Add(3)
	w.Image().SetPredicted(rows)
	r := rand.New(rand.NewPCG(8, 8))
	sums := map[Tick]Checksum{}
	var ring [16]Snapshot
	again := 0
	for w.Tick() < 300 {
		w.Step(busyInputs(w.Tick() + 1))
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

// Systems keep derived data in step with what they do; what of it does not last must not stay in there.
func TestDerivedDataFollowsWhatLasts(t *testing.T) {
	total := NewDerived("total", func(w *World, into *int32) { *into = rScore.Read(w).Points[0] }, func(a, b *int32) bool { return *a == *b })
	g := tGame()
	g.Derived = []AnyDerived{total}
	g.Systems = []System{{"score", func(w *World) {
		rScore.Write(w).Points[0]++
		*total.Of(w)++
	}}}
	w := newWorld(t, g)
	w.Image().SetPredicted(&RowSet{})
	w.Step(TickInputs{})
	if got := *total.Of(w); got != 0 || rScore.Read(w).Points[0] != 0 {
		t.Errorf("derived data says %d, the state %d", got, rScore.Read(w).Points[0])
	}
}

// Joining and leaving are the server's word like all else: a client that hears of them early plays with them for a
// tick at most.
func TestAJoinLastsInALimitedWorldOnlyForWhomItPredicts(t *testing.T) {
	w := newWorld(t, busyGame())
	rows := &RowSet{}
	rows.AddOwner(OwnedBy(1))
	w.Image().SetPredicted(rows)
	w.Step(TickInputs{Orders: []Order{{Kind: OrderJoin, Player: 0}, {Kind: OrderJoin, Player: 1}}})
	var owners []Owner
	for e := range qSeated.All(w) {
		owners = append(owners, e.Entity().Owner())
	}
	if fmt.Sprint(owners) != fmt.Sprint([]Owner{OwnedBy(1)}) || w.Players() != 0 {
		t.Errorf("avatars of %v, players %b", owners, w.Players())
	}
}

func TestALimitedTickAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w, rows := limitedWorld(t, busyGame())
	rows.Remove(uint32(OwnedBy(1))<<regionShift | 70)
	w.Image().SetPredicted(rows)
	var inputs [256]TickInputs
	for i := range inputs {
		inputs[i] = busyInputs(Tick(i))
		inputs[i].Orders = nil
	}
	var s Snapshot
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
