//go:build moving

package ecs

import (
	"testing"
	"unsafe"
)

// tCustom takes prediction into its own hands.
type tCustom struct {
	Throttle uint8
	Jump     bool `tendon:"press"`
}

func (c tCustom) Predict() tCustom { c.Throttle /= 2; return c }
func (c tCustom) MergeLate(next tCustom) tCustom {
	next.Throttle = max(next.Throttle, c.Throttle)
	return next
}

// Predictions are compared with ==, so equal inputs must be equal bytes, whatever lies in their padding.
func TestPackScrubsPadding(t *testing.T) {
	v := tPad{DX: 1, DY: -2, Fire: true, Aim: 77}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))
	if len(tInput.layout.padding) == 0 {
		t.Fatal("the input type has no padding: the test shows nothing")
	}
	for _, p := range tInput.layout.padding {
		raw[p.from] = 0xff
	}
	if a, b := tInput.Pack(v), tInput.Pack(tPad{DX: 1, DY: -2, Fire: true, Aim: 77}); a != b {
		t.Errorf("%x differs from %x", a, b)
	}
	if got := tInput.Unpack(tInput.Pack(v)); got.DX != 1 || got.DY != -2 || !got.Fire || got.Aim != 77 {
		t.Error(got)
	}
}

// Inputs off a wire are bytes that a stranger chose; after CleanInput they are bytes that Pack could have made.
func TestCleanInputLeavesOnlyWhatPackCouldHaveMade(t *testing.T) {
	g := tGame()
	var in InputBytes
	for i := range in {
		in[i] = 0xff
	}
	in = g.Input.Clean(in)
	if in != tInput.Pack(tInput.Unpack(in)) {
		t.Errorf("%x", in)
	}
	if v := tInput.Unpack(in); v.DX != -1 || !v.Fire || v.Aim != 1<<32-1 {
		t.Error("clean changed a value that was fine:", v)
	}
	if *(*byte)(unsafe.Pointer(&in[2])) != 1 {
		t.Error("a boolean of 255 remains", in[2])
	}
	again := in
	if again = g.Input.Clean(again); again != in {
		t.Error("clean is not idempotent")
	}
}

// A repeated press would fire twice, a lost one never.
func TestPressesAreClearedWhenRepeatedAndKeptWhenLate(t *testing.T) {
	g := tGame()
	last := tInput.Pack(tPad{DX: 3, Fire: true, Aim: 5})
	if got := tInput.Unpack(g.Input.Predict(last)); got != (tPad{DX: 3, Aim: 5}) {
		t.Error("predicted", got)
	}
	if got := tInput.Unpack(g.Input.MergeLate(last, tInput.Pack(tPad{DX: 1}))); got != (tPad{DX: 1, Fire: true}) {
		t.Error("merged", got)
	}
	if got := tInput.Unpack(g.Input.MergeLate(InputBytes{}, last)); got != (tPad{DX: 3, Fire: true, Aim: 5}) {
		t.Error("merged nothing late", got)
	}
}

// A game that knows better how its inputs go on says so with methods.
func TestAnInputTypeMayPredictAndMergeItself(t *testing.T) {
	in := NewInput[tCustom]()
	g := tGame()
	g.Input = in
	if got := in.Unpack(g.Input.Predict(in.Pack(tCustom{100, true}))); got != (tCustom{50, true}) {
		t.Error(got)
	}
	if got := in.Unpack(g.Input.MergeLate(in.Pack(tCustom{9, true}), in.Pack(tCustom{4, false}))); got != (tCustom{9, false}) {
		t.Error(got)
	}
}

// Of is this tick's input and Last the one before: an edge is their difference, also after a rewind.
func TestOfAndLastAreThisTicksInputAndTheLast(t *testing.T) {
	g := tGame()
	type pair struct{ of, last tPad }
	var seen []pair
	g.Systems = Systems(func(w *World) { seen = append(seen, pair{tInput.Of(w, 2), tInput.Last(w, 2)}) })
	w := newWorld(t, g)
	input := func(dx int8) TickInputs {
		return TickInputs{Players: []InputBytes{{}, tInput.Pack(tPad{DX: 99}), tInput.Pack(tPad{DX: dx})}}
	}
	w.Step(input(1))
	s := saved(w)
	w.Step(input(2))
	w.Step(TickInputs{}) // missing ones count as zero
	w.Image().Restore(s)
	w.Step(input(4))
	want := []pair{{tPad{DX: 1}, tPad{}}, {tPad{DX: 2}, tPad{DX: 1}}, {tPad{}, tPad{DX: 2}}, {tPad{DX: 4}, tPad{DX: 1}}}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("tick %d sees %v, want %v", i+1, seen[i], want[i])
		}
	}
	if got := tInput.Unpack(w.Image().Input(2)); got.DX != 4 {
		t.Error(got)
	}
	w.Step(TickInputs{Players: make([]InputBytes, 64)}) // more than the game has seats for
}

// A game may have nothing to say: orders alone, or a demonstration. Its input has no bytes.
func TestAGameMayHaveAnInputAndAResourceWithoutFields(t *testing.T) {
	none := NewInput[struct{}]()
	empty := NewResource[struct{}]("empty")
	g := tGame()
	g.Input, g.Resources = none, Resources(empty)
	w := newWorld(t, g)
	w.Step(TickInputs{Players: make([]InputBytes, 4)})
	if none.Of(w, 1) != none.Last(w, 1) || empty.Read(w) != *empty.Write(w) || w.Image().Input(3) != (InputBytes{}) {
		t.Error("nothing differs from nothing")
	}
	s := saved(w)
	if err := w.Image().Load(s.AppendImage(nil)); err != nil {
		t.Error(err)
	}
	w.Image().Restore(s)
}
