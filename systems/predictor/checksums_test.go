package predictor

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// keptStates are the states of the ticks 1 to 50 of a match, but for that of tick 20.
type keptStates map[ecs.Tick]*image.Snapshot

func newKeptStates(t *testing.T) keptStates {
	w, states := newWorld(t), keptStates{}
	for f := ecs.Tick(1); f <= 50; f++ {
		w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 2)})
		states[f] = &image.Snapshot{}
		w.Image().Save(states[f])
	}
	delete(states, 20)
	return states
}

func (k keptStates) at(f ecs.Tick) (*image.Snapshot, bool) { s, ok := k[f]; return s, ok }

// sent returns the ticks whose checksums an outbox was given, and checks each.
func (k keptStates) sent(t *testing.T, out *outbox) (ticks []ecs.Tick) {
	t.Helper()
	for _, message := range out.messages {
		r := wire.NewReader(message)
		kind, f, sum := r.U8(), ecs.Tick(r.Uvarint()), image.Checksum(r.U64())
		if r.Close() != nil || kind != 4 || sum != k[f].Checksum() {
			t.Errorf("message %x", message)
		}
		ticks = append(ticks, f)
	}
	out.messages = nil
	return ticks
}

// Each checked tick is reported once, in order. Ticks whose state is not kept, or that are too old, are skipped.
func TestChecksumsAreSentOnce(t *testing.T) {
	c, states := newCore(t, 0), newKeptStates(t)
	var out outbox
	c.Out = &out
	sums := Checksums{Kind: 4, Every: 5}
	sums.Begin(3)
	for _, until := range []ecs.Tick{4, 12, 12, 47} {
		sums.Send(c, until, 10, states.at)
	}
	want := []ecs.Tick{10, 15, 25, 30, 35, 40, 45}
	if ticks := states.sent(t, &out); !slices.Equal(ticks, want) || c.Counted.Hashes != uint64(len(want)) {
		t.Errorf("checksums of %v, want %v", ticks, want)
	}
}

// A state that is loaded begins the checksums again after its tick, which may be before or after the last one that was sent.
func TestChecksumsBeginAfterTheLoadedState(t *testing.T) {
	c, states := newCore(t, 0), newKeptStates(t)
	var out outbox
	c.Out = &out
	sums := Checksums{Kind: 4, Every: 5}
	for _, step := range []struct {
		begin, until ecs.Tick
		want         []ecs.Tick
	}{{3, 17, []ecs.Tick{5, 10, 15}}, {9, 17, []ecs.Tick{10, 15}}, {10, 17, []ecs.Tick{15}}, {34, 44, []ecs.Tick{35, 40}}, {45, 49, nil}} {
		sums.Begin(step.begin)
		sums.Send(c, step.until, 0, states.at)
		if ticks := states.sent(t, &out); !slices.Equal(ticks, step.want) {
			t.Errorf("a state of tick %d, then the ticks to %d: checksums of %v, want %v", step.begin, step.until, ticks, step.want)
		}
	}
}
