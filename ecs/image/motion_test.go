package image_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// Code that shows or weighs entities reads positions without knowing the components.
func TestASnapshotReturnsTheMotionOfAnEntity(t *testing.T) {
	g := sample.Bare()
	g.Components = ecs.Components(sample.Positions, dExact, dLoose)
	w := sample.NewWorld(t, g)
	at := func(x int) dPoint { return dPoint{Pos: fixed.Vec3{X: fixed.FromInt(x)}} }
	one, both, none := w.Spawn(ecs.OwnedBy(0), dLoose), w.Spawn(ecs.OwnedByWorld, dLoose, dExact), w.Spawn(ecs.OwnedByWorld, sample.Positions)
	dLoose.Put(w, one, at(3))
	dLoose.Put(w, both, at(4))
	dExact.Put(w, both, at(5))
	w.Step(ecs.TickInputs{})
	s := sample.Saved(w)
	for e, want := range map[ecs.Entity]int{one: 3, both: 5} {
		if m, ok := s.Motion(e); !ok || m.Pos.X != fixed.FromInt(want) {
			t.Errorf("entity %v is at %v, want %d", e, m.Pos, want)
		}
	}
	for _, e := range []ecs.Entity{none, {}, {Row: one.Row, Born: 9}} {
		if _, ok := s.Motion(e); ok {
			t.Errorf("entity %v is somewhere", e)
		}
	}
}

// dWide is so large that a block of its rows spans several pages.
type dWide struct {
	Pos  fixed.Vec3
	Rest [30]int64
}

var dWides = ecs.NewComponent("wide", ecs.Roles[dWide]{Motion: func(w *dWide) ecs.Motion { return ecs.Motion{Pos: w.Pos} }})

// Changed.Motions returns what Snapshot.Motion returns for each changed row.
func TestTheMotionsOfChangedRowsAreThoseOfTheirEntities(t *testing.T) {
	g := sample.Bare()
	g.Components = ecs.Components(sample.Positions, dWides, dLoose)
	random := rand.New(rand.NewPCG(3, 3))
	var all []ecs.Entity
	tick := 0
	g.Systems = ecs.Systems(func(w *ecs.World) {
		at := fixed.Vec3{X: fixed.FromInt(tick)}
		for range random.IntN(40) {
			e := w.Spawn([]image.Owner{ecs.OwnedByWorld, ecs.OwnedBy(1)}[random.IntN(2)])
			all = append(all, e)
			if random.IntN(2) == 0 {
				sample.Positions.Add(w, e, sample.PosAt(tick, 1))
			}
			if random.IntN(2) == 0 {
				dWides.Add(w, e, dWide{Pos: at})
			}
			if random.IntN(2) == 0 {
				dLoose.Add(w, e, dPoint{Pos: at})
			}
		}
		for range random.IntN(30) {
			switch e := all[random.IntN(len(all))]; random.IntN(3) {
			case 0:
				w.Despawn(e)
			case 1:
				dWides.Remove(w, e)
			case 2:
				dLoose.Put(w, e, dPoint{Pos: at})
			}
		}
	})
	w := sample.NewWorld(t, g)
	before, seen := sample.Saved(w), map[string]int{}
	for tick = range 40 {
		w.Step(ecs.TickInputs{})
		now := sample.Saved(w)
		var changed image.Changed
		changed.Find(before, now)
		rows := map[uint32]bool{}
		changed.Motions(now, func(row uint32, e ecs.Entity, m image.Motion, ok bool) {
			want, has := now.Motion(e)
			if e != now.EntityAt(row) || m != want || ok != has || rows[row] {
				t.Fatalf("tick %d, row %d: %v at %v %v, want %v at %v %v", tick, row, e, m, ok, now.EntityAt(row), want, has)
			}
			rows[row] = true
			seen[fmt.Sprint(e.IsZero(), ok)]++
		})
		for row := range changed.Rows {
			if !rows[row] {
				t.Fatalf("tick %d: row %d is missing", tick, row)
			}
			delete(rows, row)
		}
		if len(rows) > 0 {
			t.Fatalf("tick %d: rows %v did not change", tick, rows)
		}
		before = now
	}
	if seen["true false"] < 20 || seen["false false"] < 20 || seen["false true"] < 100 {
		t.Errorf("proves nothing: %v", seen)
	}
}

// A client that predicts from the server's state must have its player's last input, or it mistakes a held key for a
// press.
func TestPutInputIsTheLastInputOfTheNextTick(t *testing.T) {
	g := sample.Bare()
	w := sample.NewWorld(t, g)
	w.Step(ecs.TickInputs{})
	in := sample.Pads.Pack(sample.Pad{DX: 7})
	w.Image().PutInput(1, in)
	if w.Image().Input(1) != in || w.Image().Input(0) != (ecs.InputBytes{}) {
		t.Fatal("the input is not there")
	}
	w.Step(ecs.TickInputs{})
	if got := sample.Pads.Last(w, 1); got.DX != 7 || w.Image().Input(1) != (ecs.InputBytes{}) {
		t.Errorf("the last input is %+v", got)
	}
}
