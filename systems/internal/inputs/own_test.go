package inputs

import (
	"testing"

	"tendon/ecs"
)

// A skipped tick is sent with the input that follows from the one before it, never with one of long ago that its slot still holds.
func TestSkippedTicksHaveNoInputsOfLongAgo(t *testing.T) {
	game := testGame()
	w, err := ecs.NewWorld(game, 1)
	if err != nil {
		t.Fatal(err)
	}
	o := &Own{Kept: 16}
	o.Restart(0, w, -1)
	walk, shot := padInput.Pack(pad{X: 1}), padInput.Pack(pad{X: 1, Fire: true})
	for f := ecs.Tick(1); f <= 16; f++ {
		o.Put(f, shot, false)
	}
	o.Put(17, shot, false)
	o.SkipTo(20, game)
	o.Put(21, walk, false)
	got := o.AppendFrom(nil, 17, ecs.InputBytes{}, game)
	want := []ecs.InputBytes{shot, walk, walk, walk, walk}
	if len(got) != len(want) {
		t.Fatalf("%d inputs, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("tick %d: %x, want %x", 17+i, got[i], want[i])
		}
	}
	if got := o.AppendFrom(nil, 18, shot, game); got[0] != walk {
		t.Errorf("the first tick was skipped: %x, want %x", got[0], walk)
	}
}
