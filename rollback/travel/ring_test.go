package travel_test

import (
	"errors"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/recording"
	"tendon/rollback/travel"
)

// ringOf plays a match into a ring and returns it with the match's states.
func ringOf(t testing.TB, ticks ecs.Tick, kept int) (*travel.Ring, match) {
	t.Helper()
	m := played{ticks: ticks, seed: 31}.play(t)
	ring, err := travel.NewRing(travel.RingConfig{Header: recording.HeaderOf(walk, 31, "test"), Ticks: kept})
	if err != nil {
		t.Fatal(err)
	}
	w, err := ecs.NewWorld(walk, 31)
	if err != nil {
		t.Fatal(err)
	}
	for e := range m.open(t).Entries(1, ticks) {
		w.Step(ecs.TickInputs{Players: e.Inputs, Orders: e.Orders})
		ring.Take(*e, w)
	}
	return ring, m
}

// Whoever looks at a running server sees its last seconds as they were, and the match goes on meanwhile: nothing that it
// does later shows in the clip.
func TestAClipOfARunningMatchIsItsLastSecondsAsTheyWere(t *testing.T) {
	ring, m := ringOf(t, 500, 10*rate)
	clip := ring.Clip()
	w, _ := ecs.NewWorld(walk, 0)
	for f := ecs.Tick(501); f < 900; f++ { // the ring is used again for other ticks
		ring.Take(recording.Entry{Tick: f, Inputs: make([]ecs.InputBytes, 3)}, w)
	}
	tr, err := travel.New(travel.Config{Game: walk, Source: clip})
	if err != nil {
		t.Fatal(err)
	}
	if tr.First() != 300 || tr.Last() != 500 {
		t.Errorf("the clip is of [%d, %d], want [300, 500]: ten seconds from a state on", tr.First(), tr.Last())
	}
	for f := tr.First(); f <= tr.Last(); f++ {
		if err := tr.Seek(f); err != nil {
			t.Fatal(err)
		}
		if tr.State().Checksum() != m.states[f].Checksum() || f > tr.First() && tr.Frame().Match != travel.Matches {
			t.Fatalf("tick %d is not what it was", f)
		}
	}
}

// A ring costs its room a copy of the inputs per tick, and no allocation.
func TestARingThatIsFullAllocatesNothing(t *testing.T) {
	ring, m := ringOf(t, 500, 3*rate)
	w, err := m.open(t).WorldAt(walk, 500)
	if err != nil {
		t.Fatal(err)
	}
	e := recording.Entry{Tick: 500, Inputs: make([]ecs.InputBytes, 3), Orders: []image.Order{{Payload: []byte("buy")}}}
	step := func() {
		e.Tick++
		w.Step(ecs.TickInputs{Players: e.Inputs})
		ring.Take(e, w)
	}
	for range 10 * rate {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n != 0 && !raceEnabled {
		t.Errorf("%v allocations a tick", n)
	}
}

// A ring that jumped, as a client's does with a resync, knows nothing of before.
func TestARingBeginsAnewWithATickThatDoesNotFollow(t *testing.T) {
	ring, _ := ringOf(t, 100, 40)
	if ring.First() != 60 || ring.Last() != 100 {
		t.Errorf("(%d, %d] is kept, want (60, 100]", ring.First(), ring.Last())
	}
	if encoded := (travel.Image{Tick: 59}); ring.Between(100, encoded) != nil {
		t.Error("a clip was made from a tick that is not kept")
	}
	ring.Take(recording.Entry{Tick: 105}, nil)
	if ring.First() != 104 || ring.Last() != 105 || ring.Clip() != nil {
		t.Errorf("after a jump (%d, %d] is kept", ring.First(), ring.Last())
	}
	ring.Take(recording.Entry{Tick: 106, Inputs: make([]ecs.InputBytes, 1), Late: 3}, nil)
	clip := ring.Between(106, travel.Image{Tick: 104})
	entries := slices.Collect(clip.Entries(0, 1000))
	if clip.Header().Start != 104 || clip.Last() != 106 || len(entries) != 2 || entries[1].Late != 3 {
		t.Errorf("the clip is of [%d, %d] with %d entries", clip.Header().Start, clip.Last(), len(entries))
	}
	for _, wrong := range []int{0, -1, 1 << 20} {
		if _, err := travel.NewRing(travel.RingConfig{Header: recording.HeaderOf(walk, 1, ""), Ticks: wrong}); !errors.Is(err, travel.ErrRing) {
			t.Errorf("%d ticks: %v", wrong, err)
		}
	}
}
