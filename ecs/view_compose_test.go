//go:build moving

package ecs

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/yohamta/donburi"

	"tendon/ecs/fixed"
)

// composeGame has components of all roles, in pages of all sizes, and systems that change them and who has them.
func composeGame() *Game {
	g := &Game{Name: "compose", TickRate: 60, MaxPlayers: 4, Input: tInput,
		Components: Components(vPos, vHealth, vWide, cVel, cTag, dMoving, dExact), Resources: Resources(vClock)}
	everyPos, everyWide, everyMoving := NewQuery1(Write(vPos)), NewQuery1(Write(vWide)), NewQuery1(Write(dMoving))
	g.Setup = func(w *World) {
		for i := range 60 {
			w.Spawn(Owner(i%5), vPos, vHealth, vWide, dMoving, dExact)
		}
	}
	g.Systems = []System{{"move", func(w *World) {
		for e := range everyPos.All(w) {
			e.A.X += fixed.FromInt(int(e.Entity().Row%7) + 1)
		}
		for e := range everyWide.All(w) {
			e.A.Cells[99] += 100
		}
		for e := range everyMoving.All(w) {
			e.A.Pos.Y, e.A.Ammo = e.A.Pos.Y+fixed.One, uint16(w.Tick())
		}
		vClock.Write(w).Left++
	}}, {"change", func(w *World) {
		r := w.Rand()
		for e := range everyPos.All(w) {
			switch r.IntN(60) {
			case 0:
				w.Despawn(e.Entity())
				vHealth.Put(w, w.Spawn(e.Entity().Owner(), vPos, vHealth, dMoving), tHealth{int32(w.Tick())})
			case 1:
				cTag.Add(w, e.Entity(), struct{}{})
				vHealth.Add(w, e.Entity(), tHealth{int32(w.Tick())})
			case 2:
				cTag.Remove(w, e.Entity())
				vWide.Remove(w, e.Entity())
				vHealth.Remove(w, e.Entity())
			case 3:
				cVel.Add(w, e.Entity(), tVel{X: 3})
			}
		}
	}}}
	return g
}

// liveRow returns everything a world has of a row now: identity, presence and values.
func liveRow(w *World, o Owner, i uint32) (all []byte) {
	for n := range w.image.columns {
		c := &w.image.columns[n]
		if c.info.single {
			continue
		}
		r := &c.regions[o]
		if !r.has(i) {
			all = append(append(all, 0), make([]byte, c.info.stride)...)
			continue
		}
		all = append(append(all, 1), unsafe.Slice((*byte)(c.rowOf(r, i)), c.info.stride)...)
	}
	return all
}

// Own rows are what Update shows, the others what the server said, whatever was shown, moved or hidden before. Update is
// tested on its own, so it is the oracle.
func TestComposeShowsOwnRowsAsUpdateDoesAndOthersAsRemote(t *testing.T) {
	g := composeGame()
	w, v, u := newWorld(t, g), newView(t, g), newView(t, g)
	r := rand.New(rand.NewPCG(12, 5))
	var ring [12]Snapshot
	pick := func() *Snapshot {
		if r.IntN(12) == 0 {
			return nil
		}
		return &ring[r.IntN(12)]
	}
	mine, others := 0, 0
	for round := range 200 {
		w.Step(TickInputs{})
		w.Image().Save(&ring[round%12])
		prev, cur, confirmed, remote, alpha := pick(), pick(), pick(), pick(), r.Float64()
		own := randomRows(r)
		switch r.IntN(10) {
		case 0:
			own = nil
		case 1:
			own = everyRow
		case 2:
			cur, confirmed = remote, remote
		}
		v.Compose(prev, cur, confirmed, alpha, remote, own)
		if u.Update(prev, cur, confirmed, alpha); cur.Empty() {
			u.Update(nil, remote, remote, alpha)
			own = nil
		}
		n := 0
		eachRow(w.image, func(o Owner, i uint32) {
			got, want := liveRow(v.Sim, o, i), []byte(nil)
			if own.word(o, int(i/blockRows))>>(i%blockRows)&1 != 0 {
				want = liveRow(u.Sim, o, i)
				mine += int(want[0])
			} else {
				if want = make([]byte, len(got)); !remote.Empty() {
					want = rowBytes(remote, o, i)
				}
				others += int(want[0])
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("round %d: row %d of owner %d is neither own nor remote", round, i, o)
			}
			n += int(want[0])
		})
		if *v.Sim.core() != *u.Sim.core() || vClock.Read(v.Sim) != vClock.Read(u.Sim) || v.Tick != u.Tick || v.Alpha != u.Alpha {
			t.Fatalf("round %d: tick, players or resources are not cur's", round)
		}
		if r.IntN(2) == 0 {
			n -= disturb(v, r, &ring[r.IntN(12)])
		}
		v.Dress()
		if err := v.Sim.CheckDonburi(); err != nil || v.World.Len() != n {
			t.Fatalf("round %d: donburi shows %d entities, the picture has %d: %v", round, v.World.Len(), n, err)
		}
		if len(v.Sim.image.dirty) > len(v.Sim.image.live) {
			t.Fatal("the list of written pages grows")
		}
	}
	if mine < 1000 || others < 1000 || w.Image().Strays() != 0 {
		t.Errorf("%d own rows, %d others, %d strays: the test shows too little", mine, others, w.Image().Strays())
	}
	before := saved(w)
	for i := range ring {
		ring[i].Release()
	}
	if saved(w).Checksum() != before.Checksum() {
		t.Error("views changed the simulation")
	}
}

// Where own rows and others share pages, donburi follows a change of either, and of nothing else.
func TestAPageOfTwoTimelinesIsFollowedOnBoth(t *testing.T) {
	g := composeGame()
	g.Systems = nil
	w, v := newWorld(t, g), newView(t, g)
	var mine, other Entity
	inSystem(w, func() { mine, other = w.Spawn(OwnedByWorld, vPos), w.Spawn(OwnedByWorld, vPos) })
	own := &RowSet{}
	own.Add(mine.Row)
	cur, remote := saved(w), saved(w)
	for _, c := range []struct {
		state *Snapshot
		e     Entity
	}{{cur, mine}, {remote, other}} {
		v.Compose(nil, cur, cur, 1, remote, own)
		v.Dress()
		cTag.Add(w, c.e, struct{}{})
		w.flush()
		w.Image().Save(c.state)
		v.Compose(nil, cur, cur, 1, remote, own)
		if v.Dress(); !v.Entry(c.e).HasComponent(cTag) {
			t.Errorf("donburi does not follow row %d", c.e.Row)
		}
		changes := v.Sim.structure.changes
		if v.Compose(nil, cur, cur, 1, remote, own); v.Sim.structure.changes != changes {
			t.Error("a picture without news is taken for another structure")
		}
	}
}

// disturb does what strategies do to single entities and returns how many it has hidden.
func disturb(v *View, r *rand.Rand, s *Snapshot) (hidden int) {
	var all []Entity
	for e := range NewQuery1(Read(vPos)).All(v.Sim) {
		all = append(all, e.Entity())
	}
	for _, e := range all {
		switch r.IntN(8) {
		case 0:
			v.Picture.Hide(e)
			v.Picture.Hide(e)
			hidden++
		case 1:
			v.Picture.Move(e, Motion{Pos: across(fixed.FromInt(1000))})
		case 2:
			v.Picture.Shift(e, across(fixed.One))
		case 3:
			v.Picture.Blend(e, s, s, 0.5)
		}
	}
	return hidden
}

// One case per rule of Blend.
func TestBlendShowsAnEntityBetweenTwoStates(t *testing.T) {
	g := composeGame()
	g.Systems = nil
	w, v := newWorld(t, g), newView(t, g)
	var e, old, young Entity
	inSystem(w, func() {
		e, old = w.Spawn(OwnedBy(0), vPos, cVel, vHealth, cTag), w.Spawn(OwnedBy(0), vPos)
		vPos.Put(w, e, posAt(10, 0))
	})
	a := saved(w)
	inSystem(w, func() { w.Despawn(old) })
	inSystem(w, func() {
		young = w.Spawn(OwnedBy(0), vPos)
		vPos.Put(w, young, posAt(3, 3))
		vPos.Put(w, e, posAt(20, 0))
		cVel.Put(w, e, tVel{X: 8})
		vHealth.Put(w, e, tHealth{7})
	})
	if young.Row != old.Row {
		t.Fatal("the row was not taken again: the test proves less")
	}
	b := saved(w)
	vPos.Put(w, e, posAt(90, 90))
	vPos.Put(w, young, posAt(90, 90))
	cVel.Remove(w, e)
	w.flush()
	v.Compose(nil, nil, nil, 1, saved(w), nil)
	for _, c := range []struct{ t, want float64 }{{0.25, 12.5}, {0, 10}, {1, 20}, {-5, 10}, {7, 20}, {0.5, 15}} {
		v.Picture.Blend(e, a, b, c.t)
		if got, _ := vPos.Read(v.Sim, e); got.X != fixed.FromFloat(c.want) || got.Y != 0 {
			t.Errorf("at %v of the way it is shown at %v, want %v", c.t, got, c.want)
		}
	}
	if h, _ := vHealth.Read(v.Sim, e); h.Points != 7 || cVel.Has(v.Sim, e) {
		t.Errorf("a component without Lerp is %v, want b's; one it is not shown with: %t", h, cVel.Has(v.Sim, e))
	}
	v.Picture.Blend(young, a, b, 0.25) // not in a, where another has its row
	if got, _ := vPos.Read(v.Sim, young); got != posAt(3, 3) {
		t.Errorf("who is not in a is shown at %v, want b's place", got)
	}
	v.Picture.Blend(young, b, a, 0.25) // not in b
	v.Picture.Blend(Entity{Row: 900, Born: 3}, a, b, 0.5)
	v.Picture.Blend(young, b, nil, 0.5)
	if got, _ := vPos.Read(v.Sim, young); got != posAt(3, 3) {
		t.Errorf("who is not in b is moved to %v", got)
	}
	mustPanic(t, "several worlds", func() { v.Picture.Blend(e, a, saved(newWorld(t, composeGame())), 0.5) })
}

// A teleport, a ghost's own path, the rest of a correction: all are offsets in the picture alone.
func TestMoveAndShiftChangeThePictureAlone(t *testing.T) {
	w, v := newWorld(t, composeGame()), newView(t, composeGame())
	var e Entity
	inSystem(w, func() {
		e = w.Spawn(OwnedBy(0), dMoving, dExact, vPos)
		*dMoving.Write(w, e) = dBody{Pos: across(3), Vel: across(4), Ammo: 9}
	})
	s := saved(w)
	before := s.Checksum()
	v.Compose(nil, s, s, 1, nil, everyRow)
	v.Picture.Shift(e, across(10))
	v.Picture.Shift(e, across(100))
	if got, _ := dMoving.Read(v.Sim, e); got != (dBody{Pos: across(113), Vel: across(4), Ammo: 9}) {
		t.Errorf("shifted to %+v", got)
	}
	v.Picture.Move(e, Motion{Pos: across(7), Vel: across(8)})
	v.Dress()
	if got := dMoving.GetValue(v.Entry(e)); got != (dBody{Pos: across(7), Vel: across(8), Ammo: 9}) {
		t.Errorf("moved to %+v", got)
	}
	if got, _ := dExact.Read(v.Sim, e); got.Pos != (fixed.Vec3{}) {
		t.Error("a component without SetMotion was moved")
	}
	v.Picture.Move(Entity{Row: 900, Born: 3}, Motion{})
	v.Picture.Shift(Entity{Row: 900, Born: 3}, across(1))
	v.Picture.Hide(Entity{Row: 900, Born: 3})
	if saved(w).Checksum() != before || w.Image().Strays() != 0 {
		t.Error("the simulation was moved")
	}
	v.Compose(nil, s, s, 1, nil, everyRow)
	if got, _ := dMoving.Read(v.Sim, e); got.Pos != across(3) {
		t.Error("a move outlives its picture:", got)
	}
}

// Who is hidden before the picture ends is never seen, so it is not dressed; who comes back is dressed anew. An entry
// asked for in between takes nobody's dress.
func TestDressEndsThePicture(t *testing.T) {
	g := composeGame()
	g.Setup = nil
	dressed := map[Entity]int{}
	g.Screen.Dress = func(v *View, entry *donburi.Entry) {
		e, _ := v.EntityOf(entry)
		dressed[e]++
		donburi.Add(entry, cSprite, &tSprite{})
	}
	w, v := newWorld(t, g), newView(t, g)
	var a, b Entity
	inSystem(w, func() { a, b = w.Spawn(OwnedBy(0), vPos), w.Spawn(OwnedBy(1), vPos) })
	s := saved(w)
	own := &RowSet{}
	own.AddOwner(OwnedBy(0))
	compose := func(hide ...Entity) {
		v.Compose(nil, s, s, 1, s, own)
		if v.Entry(a) == nil {
			t.Fatal("an entity has no entry in an unfinished picture")
		}
		for _, e := range hide {
			v.Picture.Hide(e)
		}
		v.Dress()
	}
	compose(b)
	if dressed[a] != 1 || dressed[b] != 0 || v.Entry(b) != nil || v.Sim.Exists(b) {
		t.Fatalf("dressed %v, the hidden one has an entry: %t", dressed, v.Entry(b) != nil)
	}
	compose()
	compose()
	if dressed[a] != 1 || dressed[b] != 1 || !v.Entry(b).HasComponent(cSprite) {
		t.Fatalf("after it is shown: dressed %v", dressed)
	}
	compose(a, b)
	if v.World.Len() != 0 {
		t.Fatal("hidden entities are shown")
	}
	v.Update(nil, s, s, 1)
	if dressed[a] != 2 || dressed[b] != 2 {
		t.Fatalf("after both were hidden: dressed %v", dressed)
	}
}

func TestComposeAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	g := composeGame()
	w, v := newWorld(t, g), newView(t, g)
	var states [4]Snapshot
	for i := range states {
		w.Step(TickInputs{})
		w.Image().Save(&states[i])
	}
	own := &RowSet{}
	own.AddOwner(OwnedBy(0))
	own.Add(5)
	var e Entity
	for r := range NewQuery2(Read(vPos), Read(dMoving)).All(w) {
		e = r.Entity()
	}
	frame := 0
	if n := testing.AllocsPerRun(50, func() {
		frame++
		v.Compose(&states[2], &states[3], &states[1], 0.5, &states[frame%2], own)
		v.Picture.Blend(e, &states[0], &states[1], 0.25)
		v.Picture.Move(e, Motion{})
		v.Picture.Shift(e, across(fixed.One))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
