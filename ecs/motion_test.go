//go:build moving

package ecs

import (
	"testing"

	"tendon/ecs/fixed"
)

// What shows or weighs entities knows no components: it asks where they are.
func TestASnapshotTellsWhereAnEntityIs(t *testing.T) {
	g := tGame()
	g.Components = Components(cPos, dExact, dLoose)
	w := newWorld(t, g)
	at := func(x int) dPoint { return dPoint{Pos: fixed.Vec3{X: fixed.FromInt(x)}} }
	one, both, none := w.Spawn(OwnedBy(0), dLoose), w.Spawn(OwnedByWorld, dLoose, dExact), w.Spawn(OwnedByWorld, cPos)
	dLoose.Put(w, one, at(3))
	dLoose.Put(w, both, at(4))
	dExact.Put(w, both, at(5))
	w.Step(TickInputs{})
	s := saved(w)
	for e, want := range map[Entity]int{one: 3, both: 5} {
		if m, ok := s.Motion(e); !ok || m.Pos.X != fixed.FromInt(want) {
			t.Errorf("entity %v is at %v, want %d", e, m.Pos, want)
		}
	}
	for _, e := range []Entity{none, {}, {Row: one.Row, Born: 9}} {
		if _, ok := s.Motion(e); ok {
			t.Errorf("entity %v is somewhere", e)
		}
	}
}

// A client that goes on from the server's state must know what its player held in that tick, or it takes a key that is
// held for one that is pressed.
func TestWhatIsPutAsAnInputIsTheLastOneOfTheNextTick(t *testing.T) {
	g := tGame()
	w := newWorld(t, g)
	w.Step(TickInputs{})
	in := tInput.Pack(tPad{DX: 7})
	w.Image().PutInput(1, in)
	if w.Image().Input(1) != in || w.Image().Input(0) != (InputBytes{}) {
		t.Fatal("the input is not there")
	}
	w.Step(TickInputs{})
	if got := tInput.Last(w, 1); got.DX != 7 || w.Image().Input(1) != (InputBytes{}) {
		t.Errorf("the last input is %+v", got)
	}
}
