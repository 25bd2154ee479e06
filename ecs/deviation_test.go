//go:build moving

package ecs

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tendon/ecs/fixed"
)

// dBody has all roles of a moving thing, and a field that is no motion.
type dBody struct {
	Pos, Vel fixed.Vec3
	Ammo     uint16
	_        [6]uint8
}

type dPoint struct{ Pos fixed.Vec3 }

var (
	dMoving = NewComponent("moving", Roles[dBody]{
		Motion:    func(b *dBody) Motion { return Motion{b.Pos, b.Vel} },
		SetMotion: func(b *dBody, m Motion) { b.Pos, b.Vel = m.Pos, m.Vel },
		Tolerance: fixed.Half,
		Lerp:      func(a, b dBody, t float64) dBody { b.Pos = a.Pos.Lerp(b.Pos, fixed.FromFloat(t)); return b },
	})
	dExact = NewComponent("exact", Roles[dPoint]{Motion: func(p *dPoint) Motion { return Motion{Pos: p.Pos} }})
	dLoose = NewComponent("loose", Roles[dPoint]{Motion: func(p *dPoint) Motion { return Motion{Pos: p.Pos} }, Tolerance: fixed.One})
)

func deviationGame() *Game {
	return &Game{Name: "d", TickRate: 60, MaxPlayers: 3, Input: tInput, Components: Components(dMoving, dExact, dLoose, cVel, cTag),
		Resources: Resources(rClock)}
}

func across(x fixed.Num) fixed.Vec3 { return fixed.Vec3{X: x} }

// One case per rule.
func TestDeviationToleratesPositionsUpToDelta(t *testing.T) {
	w := newWorld(t, deviationGame())
	var e, other, gone Entity
	inSystem(w, func() {
		e = w.Spawn(OwnedBy(0), dMoving, dExact, dLoose, cVel)
		other, gone = w.Spawn(OwnedBy(1), dMoving), w.Spawn(OwnedBy(0), cTag)
	})
	base := saved(w)
	rows := &RowSet{}
	rows.AddOwner(OwnedBy(0))
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
		{"without Motion", func() { cVel.Write(w, e).X = 1 }, false, 0},
		{"a component more", func() { cTag.Add(w, e, struct{}{}) }, false, 0},
		{"a component less", func() { dMoving.Remove(w, e) }, false, 0},
		{"an entity less", func() { w.Despawn(gone) }, false, 0},
		{"an entity more", func() { w.Spawn(OwnedBy(0), cVel) }, false, 0},
		{"rows outside the set", func() { dMoving.Write(w, other).Ammo = 5; w.Spawn(OwnedByWorld, cTag) }, true, 0},
		{"a resource", func() { rClock.Write(w).Left = 5 }, true, 0},
		{"the farthest of all", func() {
			cVel.Write(w, e).X = 1
			dLoose.Write(w, e).Pos = across(fixed.FromInt(-3))
			dMoving.Write(w, e).Pos = across(fixed.FromInt(2))
		}, false, fixed.FromInt(3)},
	} {
		w.Image().Restore(base)
		inSystem(w, c.change)
		now := saved(w)
		for _, d := range []Deviated{Deviation(base, now, rows), Deviation(now, base, rows)} {
			if d.Within != c.within || d.Distance != c.distance {
				t.Errorf("%s: within %t, %v apart; want %t, %v", c.name, d.Within, d.Distance, c.within, c.distance)
			}
		}
	}
}

// The row of one that is gone may be taken by another: that is no near miss of the same thing.
func TestDeviationTellsTwoEntitiesOfOneRowApart(t *testing.T) {
	w := newWorld(t, deviationGame())
	var e Entity
	inSystem(w, func() { e = w.Spawn(OwnedBy(0), dMoving) })
	a := saved(w)
	inSystem(w, func() { w.Despawn(e) })
	var next Entity
	inSystem(w, func() { next = w.Spawn(OwnedBy(0), dMoving); dMoving.Write(w, next).Pos = across(fixed.FromInt(50)) })
	d := Deviation(a, saved(w), everyRow)
	if d.Within || d.Distance != 0 || next.Row != e.Row {
		t.Errorf("within %t, %v apart", d.Within, d.Distance)
	}
	a = saved(w)
	inSystem(w, func() { dMoving.Remove(w, next) })
	if d := Deviation(a, saved(w), everyRow); d.Within || d.Distance != 0 {
		t.Errorf("from a place to none it is %v", d.Distance)
	}
}

// Where nothing is tolerated, a deviation is a difference in the bytes of a row.
func TestDeviationOfAnExactGameIsADifferenceOfRows(t *testing.T) {
	w := newWorld(t, crowdedGame())
	r := rand.New(rand.NewPCG(6, 6))
	within, beyond := 0, 0
	var ring [8]Snapshot
	for round := range 300 {
		w.Step(busyInputs(w.Tick() + 1))
		w.Image().Save(&ring[round%8])
		a, b := &ring[r.IntN(8)], &ring[r.IntN(8)]
		if a.Empty() || b.Empty() {
			continue
		}
		rows := &RowSet{}
		for range r.IntN(3) {
			rows.Add(uint32(r.IntN(5))<<regionShift | uint32(r.IntN(30)))
		}
		same := true
		eachRow(w.image, func(o Owner, i uint32) {
			same = same && (!rows.Has(uint32(o)<<regionShift|i) || bytes.Equal(rowBytes(a, o, i), rowBytes(b, o, i)))
		})
		d := Deviation(a, b, rows)
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
	w := newWorld(t, tGame())
	mustPanic(t, "different worlds", func() { Deviation(saved(w), saved(newWorld(t, tGame())), everyRow) })
	mustPanic(t, "empty", func() { Deviation(saved(w), nil, everyRow) })
}

// A client compares with every state that arrives.
func TestDeviationAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := newWorld(t, deviationGame())
	inSystem(w, func() {
		for range 300 {
			w.Spawn(OwnedBy(0), dMoving, dLoose)
		}
	})
	a := saved(w)
	for e := range NewQuery2(Write(dMoving), Write(dLoose)).All(w) {
		e.A.Pos.X, e.B.Pos.Y = e.A.Pos.X+1, 2*fixed.One
	}
	b := saved(w)
	rows := &RowSet{}
	rows.AddOwner(OwnedBy(0))
	if n := testing.AllocsPerRun(50, func() {
		if Deviation(a, b, rows).Within {
			t.Error("the states do not deviate: the test proves less")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
