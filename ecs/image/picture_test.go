package image_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/yohamta/donburi"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

// composeGame has components of all roles, in pages of all sizes, and systems that change them and who has them.
func composeGame() *ecs.Game {
	g := &ecs.Game{Name: "compose", TickRate: 60, MaxPlayers: 4, Input: sample.Pads,
		Components: ecs.Components(sample.ShownPositions, sample.Healths, sample.ShownWides, sample.Velocities, sample.Tags, dMoving, dExact), Resources: ecs.Resources(sample.Clocks)}
	everyPos, everyWide, everyMoving := ecs.NewQuery1(ecs.Write(sample.ShownPositions)), ecs.NewQuery1(ecs.Write(sample.ShownWides)), ecs.NewQuery1(ecs.Write(dMoving))
	g.Setup = func(w *ecs.World) {
		for i := range 60 {
			w.Spawn(image.Owner(i%5), sample.ShownPositions, sample.Healths, sample.ShownWides, dMoving, dExact)
		}
	}
	g.Systems = []ecs.System{{Name: "move", Run: func(w *ecs.World) {
		for e := range everyPos.All(w) {
			e.A.X += fixed.FromInt(int(e.Entity().Row%7) + 1)
		}
		for e := range everyWide.All(w) {
			e.A.Cells[99] += 100
		}
		for e := range everyMoving.All(w) {
			e.A.Pos.Y, e.A.Ammo = e.A.Pos.Y+fixed.One, uint16(w.Tick())
		}
		sample.Clocks.Write(w).Left++
	}}, {Name: "change", Run: func(w *ecs.World) {
		r := w.Rand()
		for e := range everyPos.All(w) {
			switch r.IntN(60) {
			case 0:
				w.Despawn(e.Entity())
				sample.Healths.Put(w, w.Spawn(e.Entity().Owner(), sample.ShownPositions, sample.Healths, dMoving), sample.Health{Points: int32(w.Tick())})
			case 1:
				sample.Tags.Add(w, e.Entity(), struct{}{})
				sample.Healths.Add(w, e.Entity(), sample.Health{Points: int32(w.Tick())})
			case 2:
				sample.Tags.Remove(w, e.Entity())
				sample.ShownWides.Remove(w, e.Entity())
				sample.Healths.Remove(w, e.Entity())
			case 3:
				sample.Velocities.Add(w, e.Entity(), sample.Vel{X: 3})
			}
		}
	}}}
	return g
}

// liveRow returns everything a world has of a row now: identity, presence and values.
func liveRow(w *ecs.World, o image.Owner, i uint32) (all []byte) {
	for n := range w.Image().Columns() {
		c := &w.Image().Columns()[n]
		if c.Info().Single() {
			continue
		}
		r := &c.Regions()[o]
		if !r.Has(i) {
			all = append(append(all, 0), make([]byte, c.Info().Stride())...)
			continue
		}
		all = append(append(all, 1), unsafe.Slice((*byte)(c.RowOf(r, i)), c.Info().Stride())...)
	}
	return all
}

// Own rows are shown as by Update, the others with the server's values, whatever was shown, moved or hidden before.
// Update has its own tests and is the reference.
func TestComposeShowsOwnRowsAsUpdateDoesAndOthersAsRemote(t *testing.T) {
	g := composeGame()
	w, v, u := sample.NewWorld(t, g), sample.NewView(t, g), sample.NewView(t, g)
	r := rand.New(rand.NewPCG(12, 5))
	var ring [12]image.Snapshot
	pick := func() *image.Snapshot {
		if r.IntN(12) == 0 {
			return nil
		}
		return &ring[r.IntN(12)]
	}
	mine, others := 0, 0
	for round := range 200 {
		w.Step(ecs.TickInputs{})
		w.Image().Save(&ring[round%12])
		prev, cur, confirmed, remote, alpha := pick(), pick(), pick(), pick(), r.Float64()
		own := randomRows(r)
		switch r.IntN(10) {
		case 0:
			own = nil
		case 1:
			own = image.EveryRow()
		case 2:
			cur, confirmed = remote, remote
		}
		v.Compose(image.Shown{Prev: prev, Cur: cur, Confirmed: confirmed, Remote: remote, Own: own}, alpha)
		if u.Update(prev, cur, confirmed, alpha); cur.Empty() {
			u.Update(nil, remote, remote, alpha)
			own = nil
		}
		n := 0
		eachRow(w.Image(), func(o image.Owner, i uint32) {
			got, want := liveRow(v.Sim, o, i), []byte(nil)
			if own.Word(o, int(i/image.BlockRows))>>(i%image.BlockRows)&1 != 0 {
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
		if *v.Sim.Image().Core() != *u.Sim.Image().Core() || sample.Clocks.Read(v.Sim) != sample.Clocks.Read(u.Sim) || v.Tick != u.Tick || v.Alpha != u.Alpha {
			t.Fatalf("round %d: tick, players or resources are not cur's", round)
		}
		if r.IntN(2) == 0 {
			n -= disturb(v, r, &ring[r.IntN(12)])
		}
		v.Dress()
		if err := v.Sim.Check(); err != nil || v.World.Len() != n {
			t.Fatalf("round %d: donburi shows %d entities, the picture has %d: %v", round, v.World.Len(), n, err)
		}
		if len(v.Sim.Image().Dirty()) > len(v.Sim.Image().Live()) {
			t.Fatal("the list of written pages grows")
		}
	}
	if mine < 1000 || others < 1000 || w.Image().Strays() != 0 {
		t.Errorf("%d own rows, %d others, %d strays: the test shows too little", mine, others, w.Image().Strays())
	}
	before := sample.Saved(w)
	for i := range ring {
		ring[i].Release()
	}
	if sample.Saved(w).Checksum() != before.Checksum() {
		t.Error("views changed the simulation")
	}
}

// If own rows and others share pages, donburi follows a change of either, and of nothing else.
func TestAPageOfTwoTimelinesIsFollowedOnBoth(t *testing.T) {
	g := composeGame()
	g.Systems = nil
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	var mine, other ecs.Entity
	sample.InSystem(w, func() {
		mine, other = w.Spawn(ecs.OwnedByWorld, sample.ShownPositions), w.Spawn(ecs.OwnedByWorld, sample.ShownPositions)
	})
	own := &image.RowSet{}
	own.Add(mine.Row)
	cur, remote := sample.Saved(w), sample.Saved(w)
	for _, c := range []struct {
		state *image.Snapshot
		e     ecs.Entity
	}{{cur, mine}, {remote, other}} {
		v.Compose(image.Shown{Cur: cur, Confirmed: cur, Remote: remote, Own: own}, 1)
		v.Dress()
		sample.Tags.Add(w, c.e, struct{}{})
		w.Image().Flush()
		w.Image().Save(c.state)
		v.Compose(image.Shown{Cur: cur, Confirmed: cur, Remote: remote, Own: own}, 1)
		if v.Dress(); !v.Sim.Entry(c.e).HasComponent(sample.Tags) {
			t.Errorf("donburi does not follow row %d", c.e.Row)
		}
		changes := v.Sim.Image().Structure().Changes()
		if v.Compose(image.Shown{Cur: cur, Confirmed: cur, Remote: remote, Own: own}, 1); v.Sim.Image().Structure().Changes() != changes {
			t.Error("a picture without news is taken for another structure")
		}
	}
}

// disturb does what strategies do to single entities and returns how many it has hidden.
func disturb(v *ecs.View, r *rand.Rand, s *image.Snapshot) (hidden int) {
	var all []ecs.Entity
	for e := range ecs.NewQuery1(ecs.Read(sample.ShownPositions)).All(v.Sim) {
		all = append(all, e.Entity())
	}
	for _, e := range all {
		switch r.IntN(8) {
		case 0:
			v.Sim.Image().DropRow(e.Row)
			v.Sim.Image().DropRow(e.Row)
			hidden++
		case 1:
			v.Picture.Move(e, ecs.Motion{Pos: across(fixed.FromInt(1000))})
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
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	var e, old, young ecs.Entity
	sample.InSystem(w, func() {
		e, old = w.Spawn(ecs.OwnedBy(0), sample.ShownPositions, sample.Velocities, sample.Healths, sample.Tags), w.Spawn(ecs.OwnedBy(0), sample.ShownPositions)
		sample.ShownPositions.Put(w, e, sample.PosAt(10, 0))
	})
	a := sample.Saved(w)
	sample.InSystem(w, func() { w.Despawn(old) })
	sample.InSystem(w, func() {
		young = w.Spawn(ecs.OwnedBy(0), sample.ShownPositions)
		sample.ShownPositions.Put(w, young, sample.PosAt(3, 3))
		sample.ShownPositions.Put(w, e, sample.PosAt(20, 0))
		sample.Velocities.Put(w, e, sample.Vel{X: 8})
		sample.Healths.Put(w, e, sample.Health{Points: 7})
	})
	if young.Row != old.Row {
		t.Fatal("the row was not taken again: the test proves less")
	}
	b := sample.Saved(w)
	sample.ShownPositions.Put(w, e, sample.PosAt(90, 90))
	sample.ShownPositions.Put(w, young, sample.PosAt(90, 90))
	sample.Velocities.Remove(w, e)
	w.Image().Flush()
	v.Compose(image.Shown{Remote: sample.Saved(w)}, 1)
	for _, c := range []struct{ t, want float64 }{{0.25, 12.5}, {0, 10}, {1, 20}, {-5, 10}, {7, 20}, {0.5, 15}} {
		v.Picture.Blend(e, a, b, c.t)
		if got, _ := sample.ShownPositions.Read(v.Sim, e); got.X != fixed.FromFloat(c.want) || got.Y != 0 {
			t.Errorf("at %v of the way it is shown at %v, want %v", c.t, got, c.want)
		}
	}
	if h, _ := sample.Healths.Read(v.Sim, e); h.Points != 7 || sample.Velocities.Has(v.Sim, e) {
		t.Errorf("a component without Lerp is %v, want b's; one it is not shown with: %t", h, sample.Velocities.Has(v.Sim, e))
	}
	v.Picture.Blend(young, a, b, 0.25) // not in a, where another has its row
	if got, _ := sample.ShownPositions.Read(v.Sim, young); got != sample.PosAt(3, 3) {
		t.Errorf("who is not in a is shown at %v, want b's place", got)
	}
	v.Picture.Blend(young, b, a, 0.25) // not in b
	v.Picture.Blend(ecs.Entity{Row: 900, Born: 3}, a, b, 0.5)
	v.Picture.Blend(young, b, nil, 0.5)
	if got, _ := sample.ShownPositions.Read(v.Sim, young); got != sample.PosAt(3, 3) {
		t.Errorf("who is not in b is moved to %v", got)
	}
	sample.MustPanic(t, "several worlds", func() { v.Picture.Blend(e, a, sample.Saved(sample.NewWorld(t, composeGame())), 0.5) })
}

// A teleport, a remote entity's track and the rest of a correction are offsets in the picture alone.
func TestMoveAndShiftChangeThePictureAlone(t *testing.T) {
	w, v := sample.NewWorld(t, composeGame()), sample.NewView(t, composeGame())
	var e ecs.Entity
	sample.InSystem(w, func() {
		e = w.Spawn(ecs.OwnedBy(0), dMoving, dExact, sample.ShownPositions)
		*dMoving.Write(w, e) = dBody{Pos: across(3), Vel: across(4), Ammo: 9}
	})
	s := sample.Saved(w)
	before := s.Checksum()
	v.Compose(image.Shown{Cur: s, Confirmed: s, Own: image.EveryRow()}, 1)
	v.Picture.Shift(e, across(10))
	v.Picture.Shift(e, across(100))
	if got, _ := dMoving.Read(v.Sim, e); got != (dBody{Pos: across(113), Vel: across(4), Ammo: 9}) {
		t.Errorf("shifted to %+v", got)
	}
	v.Picture.Move(e, ecs.Motion{Pos: across(7), Vel: across(8)})
	v.Dress()
	if got := dMoving.GetValue(v.Sim.Entry(e)); got != (dBody{Pos: across(7), Vel: across(8), Ammo: 9}) {
		t.Errorf("moved to %+v", got)
	}
	if got, _ := dExact.Read(v.Sim, e); got.Pos != (fixed.Vec3{}) {
		t.Error("a component without SetMotion was moved")
	}
	v.Picture.Move(ecs.Entity{Row: 900, Born: 3}, ecs.Motion{})
	v.Picture.Shift(ecs.Entity{Row: 900, Born: 3}, across(1))
	v.Sim.Image().DropRow(900)
	if sample.Saved(w).Checksum() != before || w.Image().Strays() != 0 {
		t.Error("the simulation was moved")
	}
	v.Compose(image.Shown{Cur: s, Confirmed: s, Own: image.EveryRow()}, 1)
	if got, _ := dMoving.Read(v.Sim, e); got.Pos != across(3) {
		t.Error("a move outlives its picture:", got)
	}
}

// An entity hidden before the picture ends is not dressed; it is dressed when it is shown again. World.Entry in
// between does not change which entities are dressed.
func TestDressEndsThePicture(t *testing.T) {
	g := composeGame()
	g.Setup = nil
	dressed := map[ecs.Entity]int{}
	g.Screen.Dress = func(v *ecs.View, entry *donburi.Entry) {
		e, _ := ecs.EntityOf(entry)
		dressed[e]++
		donburi.Add(entry, sample.Sprites, &sample.Sprite{})
	}
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	var a, b ecs.Entity
	sample.InSystem(w, func() {
		a, b = w.Spawn(ecs.OwnedBy(0), sample.ShownPositions), w.Spawn(ecs.OwnedBy(1), sample.ShownPositions)
	})
	s := sample.Saved(w)
	own := &image.RowSet{}
	own.AddOwner(ecs.OwnedBy(0))
	compose := func(hide ...ecs.Entity) {
		v.Compose(image.Shown{Cur: s, Confirmed: s, Remote: s, Own: own}, 1)
		if v.Sim.Entry(a) == nil {
			t.Fatal("an entity has no entry in an unfinished picture")
		}
		for _, e := range hide {
			v.Sim.Image().DropRow(e.Row)
		}
		v.Dress()
	}
	compose(b)
	if dressed[a] != 1 || dressed[b] != 0 || v.Sim.Entry(b) != nil || v.Sim.Exists(b) {
		t.Fatalf("dressed %v, the hidden one has an entry: %t", dressed, v.Sim.Entry(b) != nil)
	}
	compose()
	compose()
	if dressed[a] != 1 || dressed[b] != 1 || !v.Sim.Entry(b).HasComponent(sample.Sprites) {
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
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	g := composeGame()
	w, v := sample.NewWorld(t, g), sample.NewView(t, g)
	var states [4]image.Snapshot
	for i := range states {
		w.Step(ecs.TickInputs{})
		w.Image().Save(&states[i])
	}
	own := &image.RowSet{}
	own.AddOwner(ecs.OwnedBy(0))
	own.Add(5)
	var e ecs.Entity
	for r := range ecs.NewQuery2(ecs.Read(sample.ShownPositions), ecs.Read(dMoving)).All(w) {
		e = r.Entity()
	}
	frame := 0
	if n := testing.AllocsPerRun(50, func() {
		frame++
		v.Compose(image.Shown{Prev: &states[2], Cur: &states[3], Confirmed: &states[1], Remote: &states[frame%2], Own: own}, 0.5)
		v.Picture.Blend(e, &states[0], &states[1], 0.25)
		v.Picture.Move(e, ecs.Motion{})
		v.Picture.Shift(e, across(fixed.One))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
