package image_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
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
