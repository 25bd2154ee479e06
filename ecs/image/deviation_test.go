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

// dBody has all roles of a moving thing, and a field that is no motion.
type dBody struct {
	Pos, Vel fixed.Vec3
	Ammo     uint16
	_        [6]uint8
}

type dPoint struct{ Pos fixed.Vec3 }

var (
	dMoving = ecs.NewComponent("moving", ecs.Roles[dBody]{
		Motion:    func(b *dBody) ecs.Motion { return ecs.Motion{b.Pos, b.Vel} },
		SetMotion: func(b *dBody, m ecs.Motion) { b.Pos, b.Vel = m.Pos, m.Vel },
		Tolerance: fixed.Half,
		Lerp:      func(a, b dBody, t float64) dBody { b.Pos = a.Pos.Lerp(b.Pos, fixed.FromFloat(t)); return b },
	})
	dExact = ecs.NewComponent("exact", ecs.Roles[dPoint]{Motion: func(p *dPoint) ecs.Motion { return ecs.Motion{Pos: p.Pos} }})
	dLoose = ecs.NewComponent("loose", ecs.Roles[dPoint]{Motion: func(p *dPoint) ecs.Motion { return ecs.Motion{Pos: p.Pos} }, Tolerance: fixed.One})
)

func deviationGame() *ecs.Game {
	return &ecs.Game{Name: "d", TickRate: 60, MaxPlayers: 3, Input: sample.Pads, Components: ecs.Components(dMoving, dExact, dLoose, sample.Velocities, sample.Tags),
		Resources: ecs.Resources(sample.Clocks)}
}

func across(x fixed.Num) fixed.Vec3 { return fixed.Vec3{X: x} }

// One case per rule.
func TestDeviationToleratesPositionsUpToDelta(t *testing.T) {
	w := sample.NewWorld(t, deviationGame())
	var e, other, gone ecs.Entity
	sample.InSystem(w, func() {
		e = w.Spawn(ecs.OwnedBy(0), dMoving, dExact, dLoose, sample.Velocities)
		other, gone = w.Spawn(ecs.OwnedBy(1), dMoving), w.Spawn(ecs.OwnedBy(0), sample.Tags)
	})
	base := sample.Saved(w)
	rows := &image.RowSet{}
	rows.AddOwner(ecs.OwnedBy(0))
	for _, c := range []struct {
		name     string
		change   func()
		within   bool
		distance fixed.Num
	}{
		{"nothing", func() {}, true, 0},
		{"position by δ", func() { dMoving.Write(w, e).Pos = across(-fixed.Half) }, true, fixed.Half},
		{"position by more than δ", func() { dMoving.Write(w, e).Pos = across(fixed.Half + 1) }, false, fixed.Half + 1},
		{"velocity", func() { dMoving.Write(w, e).Vel = across(fixed.FromInt(9)) }, true, 0},
		{"velocity and position", func() { *dMoving.Write(w, e) = dBody{Pos: across(1), Vel: across(1)} }, true, 1},
		{"what is no motion", func() { *dMoving.Write(w, e) = dBody{Pos: across(1), Ammo: 3} }, false, 1},
		{"without a tolerance", func() { dExact.Write(w, e).Pos = across(1) }, false, 1},
		{"without SetMotion", func() { dLoose.Write(w, e).Pos = across(fixed.One) }, true, fixed.One},
		{"without SetMotion, too far", func() { dLoose.Write(w, e).Pos = across(2 * fixed.One) }, false, 2 * fixed.One},
		{"without Motion", func() { sample.Velocities.Write(w, e).X = 1 }, false, 0},
		{"a component more", func() { sample.Tags.Add(w, e, struct{}{}) }, false, 0},
		{"a component less", func() { dMoving.Remove(w, e) }, false, 0},
		{"an entity less", func() { w.Despawn(gone) }, false, 0},
		{"an entity more", func() { w.Spawn(ecs.OwnedBy(0), sample.Velocities) }, false, 0},
		{"rows outside the set", func() { dMoving.Write(w, other).Ammo = 5; w.Spawn(ecs.OwnedByWorld, sample.Tags) }, true, 0},
		{"a resource", func() { sample.Clocks.Write(w).Left = 5 }, true, 0},
		{"the farthest of all", func() {
			sample.Velocities.Write(w, e).X = 1
			dLoose.Write(w, e).Pos = across(fixed.FromInt(-3))
			dMoving.Write(w, e).Pos = across(fixed.FromInt(2))
		}, false, fixed.FromInt(3)},
	} {
		w.Image().Restore(base)
		sample.InSystem(w, c.change)
		now := sample.Saved(w)
		for _, d := range []image.Deviated{image.Deviation(base, now, rows), image.Deviation(now, base, rows)} {
			if d.Within != c.within || d.Distance != c.distance {
				t.Errorf("%s: within %t, %v apart; want %t, %v", c.name, d.Within, d.Distance, c.within, c.distance)
			}
		}
	}
}

// Another entity may have taken the row of a removed one: that is a difference, however close the two are.
func TestDeviationDistinguishesTwoEntitiesOfOneRow(t *testing.T) {
	w := sample.NewWorld(t, deviationGame())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedBy(0), dMoving) })
	a := sample.Saved(w)
	sample.InSystem(w, func() { w.Despawn(e) })
	var next ecs.Entity
	sample.InSystem(w, func() {
		next = w.Spawn(ecs.OwnedBy(0), dMoving)
		dMoving.Write(w, next).Pos = across(fixed.FromInt(50))
	})
	d := image.Deviation(a, sample.Saved(w), image.EveryRow())
	if d.Within || d.Distance != 0 || next.Row != e.Row {
		t.Errorf("within %t, %v apart", d.Within, d.Distance)
	}
	a = sample.Saved(w)
	sample.InSystem(w, func() { dMoving.Remove(w, next) })
	if d := image.Deviation(a, sample.Saved(w), image.EveryRow()); d.Within || d.Distance != 0 {
		t.Errorf("from a place to none it is %v", d.Distance)
	}
}

// Without a tolerance, a deviation is a difference in the bytes of a row.
func TestDeviationOfAnExactGameIsADifferenceOfRows(t *testing.T) {
	w := sample.NewWorld(t, filledGame())
	r := rand.New(rand.NewPCG(6, 6))
	within, beyond := 0, 0
	var ring [8]image.Snapshot
	for round := range 300 {
		w.Step(sample.Inputs(w.Tick() + 1))
		w.Image().Save(&ring[round%8])
		a, b := &ring[r.IntN(8)], &ring[r.IntN(8)]
		if a.Empty() || b.Empty() {
			continue
		}
		rows := &image.RowSet{}
		for range r.IntN(3) {
			rows.Add(uint32(r.IntN(5))<<image.RegionShift | uint32(r.IntN(30)))
		}
		same := true
		eachRow(w.Image(), func(o image.Owner, i uint32) {
			same = same && (!rows.Has(uint32(o)<<image.RegionShift|i) || bytes.Equal(rowBytes(a, o, i), rowBytes(b, o, i)))
		})
		d := image.Deviation(a, b, rows)
		if d.Within != same {
			t.Fatalf("tick %d: within %t, the rows are equal: %t", w.Tick(), d.Within, same)
		}
		if same {
			within++
			continue
		}
		beyond++
	}
	if within < 20 || beyond < 20 {
		t.Errorf("%d times equal, %d times not: the test shows too little", within, beyond)
	}
}

func TestDeviationRefusesStatesOfSeveralWorlds(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	sample.MustPanic(t, "different worlds", func() {
		image.Deviation(sample.Saved(w), sample.Saved(sample.NewWorld(t, sample.Bare())), image.EveryRow())
	})
	sample.MustPanic(t, "empty", func() { image.Deviation(sample.Saved(w), nil, image.EveryRow()) })
}

// A client compares with every state that arrives.
func TestDeviationAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w := sample.NewWorld(t, deviationGame())
	sample.InSystem(w, func() {
		for range 300 {
			w.Spawn(ecs.OwnedBy(0), dMoving, dLoose)
		}
	})
	a := sample.Saved(w)
	for e := range ecs.NewQuery2(ecs.Write(dMoving), ecs.Write(dLoose)).All(w) {
		e.A.Pos.X, e.B.Pos.Y = e.A.Pos.X+1, 2*fixed.One
	}
	b := sample.Saved(w)
	rows := &image.RowSet{}
	rows.AddOwner(ecs.OwnedBy(0))
	if n := testing.AllocsPerRun(50, func() {
		if image.Deviation(a, b, rows).Within {
			t.Error("the states do not deviate: the test proves less")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
