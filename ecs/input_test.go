package ecs_test

import (
	"testing"
	"unsafe"

	"tendon/ecs"
	"tendon/ecs/internal/sample"
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

// Predicted inputs are checked with ==, so equal inputs must be equal bytes, whatever their padding holds.
func TestPackScrubsPadding(t *testing.T) {
	v := sample.Pad{DX: 1, DY: -2, Fire: true, Aim: 77}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))
	raw[unsafe.Offsetof(v.Aim)-1] = 0xff // padding before Aim
	if a, b := sample.Pads.Pack(v), sample.Pads.Pack(sample.Pad{DX: 1, DY: -2, Fire: true, Aim: 77}); a != b {
		t.Errorf("%x differs from %x", a, b)
	}
	if got := sample.Pads.Unpack(sample.Pads.Pack(v)); got.DX != 1 || got.DY != -2 || !got.Fire || got.Aim != 77 {
		t.Error(got)
	}
}

// Inputs from a wire are arbitrary bytes. Clean returns only bytes that Pack could have made.
func TestCleanReturnsOnlyBytesThatPackMakes(t *testing.T) {
	g := sample.Bare()
	var in ecs.InputBytes
	for i := range in {
		in[i] = 0xff
	}
	in = g.Input.Clean(in)
	if in != sample.Pads.Pack(sample.Pads.Unpack(in)) {
		t.Errorf("%x", in)
	}
	if v := sample.Pads.Unpack(in); v.DX != -1 || !v.Fire || v.Aim != 1<<32-1 {
		t.Error("clean changed a value that was fine:", v)
	}
	if *(*byte)(unsafe.Pointer(&in[2])) != 1 {
		t.Error("a boolean of 255 remains", in[2])
	}
	valid := 0
	for i := range in {
		dirty := in
		dirty[i] ^= 0xff
		if g.Input.Valid(dirty) != (g.Input.Clean(dirty) == dirty) {
			t.Errorf("Valid differs from Clean when byte %d is %#x", i, dirty[i])
		}
		if g.Input.Valid(dirty) {
			valid++
		}
	}
	if valid == 0 || valid == len(in) || !g.Input.Valid(in) {
		t.Errorf("%d of %d changed inputs are valid", valid, len(in))
	}
}

// A key that is held is one press.
func TestAPressBeginsOnce(t *testing.T) {
	var last ecs.InputBytes
	presses := 0
	for f := range 10 {
		now := sample.Pads.Pack(sample.Pad{DX: 1, Fire: f%5 != 4})
		if in := sample.Pads.Unpack(sample.Pads.Begin(last, now)); in.Fire {
			presses++
		} else if in.DX != 1 {
			t.Error("what lasts is not held")
		}
		last = now
	}
	if presses != 2 {
		t.Errorf("%d presses, want 2", presses)
	}
}

// A press must not fire twice when it is repeated, and must not be lost when it is late.
func TestPressesAreClearedWhenRepeatedAndKeptWhenLate(t *testing.T) {
	g := sample.Bare()
	last := sample.Pads.Pack(sample.Pad{DX: 3, Fire: true, Aim: 5})
	if got := sample.Pads.Unpack(g.Input.Predict(last)); got != (sample.Pad{DX: 3, Aim: 5}) {
		t.Error("predicted", got)
	}
	if got := sample.Pads.Unpack(g.Input.MergeLate(last, sample.Pads.Pack(sample.Pad{DX: 1}))); got != (sample.Pad{DX: 1, Fire: true}) {
		t.Error("merged", got)
	}
	if got := sample.Pads.Unpack(g.Input.MergeLate(ecs.InputBytes{}, last)); got != (sample.Pad{DX: 3, Fire: true, Aim: 5}) {
		t.Error("merged nothing late", got)
	}
}

// An input type may have its own rules, as methods.
func TestAnInputTypeMayPredictAndMergeItself(t *testing.T) {
	in := ecs.NewInput[tCustom]()
	g := sample.Bare()
	g.Input = in
	if got := in.Unpack(g.Input.Predict(in.Pack(tCustom{100, true}))); got != (tCustom{50, true}) {
		t.Error(got)
	}
	if got := in.Unpack(g.Input.MergeLate(in.Pack(tCustom{9, true}), in.Pack(tCustom{4, false}))); got != (tCustom{9, false}) {
		t.Error(got)
	}
}

// Of is this tick's input and Last the one before. Their difference is an edge, also after a rewind.
func TestOfAndLastAreThisTicksInputAndTheLast(t *testing.T) {
	g := sample.Bare()
	type pair struct{ of, last sample.Pad }
	var seen []pair
	g.Systems = ecs.Systems(func(w *ecs.World) { seen = append(seen, pair{sample.Pads.Of(w, 2), sample.Pads.Last(w, 2)}) })
	w := sample.NewWorld(t, g)
	input := func(dx int8) ecs.TickInputs {
		return ecs.TickInputs{Players: []ecs.InputBytes{{}, sample.Pads.Pack(sample.Pad{DX: 99}), sample.Pads.Pack(sample.Pad{DX: dx})}}
	}
	w.Step(input(1))
	s := sample.Saved(w)
	w.Step(input(2))
	w.Step(ecs.TickInputs{}) // missing ones count as zero
	w.Image().Restore(s)
	w.Step(input(4))
	want := []pair{{sample.Pad{DX: 1}, sample.Pad{}}, {sample.Pad{DX: 2}, sample.Pad{DX: 1}}, {sample.Pad{}, sample.Pad{DX: 2}}, {sample.Pad{DX: 4}, sample.Pad{DX: 1}}}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("tick %d sees %v, want %v", i+1, seen[i], want[i])
		}
	}
	if got := sample.Pads.Unpack(w.Image().Input(2)); got.DX != 4 {
		t.Error(got)
	}
	w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 64)}) // more than the game has seats for
}

// A game may have no inputs: only orders, or a demonstration. Its input has no bytes.
func TestAGameMayHaveAnInputAndAResourceWithoutFields(t *testing.T) {
	none := ecs.NewInput[struct{}]()
	empty := ecs.NewResource[struct{}]("empty")
	g := sample.Bare()
	g.Input, g.Resources = none, ecs.Resources(empty)
	w := sample.NewWorld(t, g)
	w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 4)})
	if none.Of(w, 1) != none.Last(w, 1) || empty.Read(w) != *empty.Write(w) || w.Image().Input(3) != (ecs.InputBytes{}) {
		t.Error("nothing differs from nothing")
	}
	s := sample.Saved(w)
	if err := w.Image().Load(s.AppendImage(nil)); err != nil {
		t.Error(err)
	}
	w.Image().Restore(s)
}
