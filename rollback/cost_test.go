package rollback

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
)

// A tick must not feed the collector, on a client that goes back eight ticks each tick and on a server that never
// does.
func TestATickAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, policy := range policies {
		w := newWorld(t, skirmish())
		client := seated(t, Config{World: w, Policy: policy, MaxPrediction: 9, Local: 0, Effects: NewEffects(w.Image().Schema(), 64, 0)})
		inputs, f := packed(skPad{}, skPad{}, skPad{}, skPad{}), ecs.Tick(1)
		step(t, client, 8)
		tick := func() {
			f++
			client.SetLocal(client.Furthest()+1, skInput.Pack(skPad{DX: 1, Fire: f%4 == 0}))
			inputs[1] = skInput.Pack(skPad{DX: int8(f), Fire: f%3 == 0})
			own, _ := client.InputAt(f, 0)
			inputs[0] = own
			if err := client.Confirm(f, inputs, 0, 0); err != nil {
				t.Fatal(err)
			}
			client.Rewind(client.Present())
			for client.Present() < f+8 {
				client.Step()
			}
			client.config.Effects.Drain(client.Present(), func(ecs.Effect) {})
		}
		for range 300 {
			tick()
		}
		before := client.Stats
		if n := testing.AllocsPerRun(200, tick); n != 0 {
			t.Errorf("policy %v: a client tick allocates %v times", policy, n)
		}
		if s := client.Stats; s.Rewinds < before.Rewinds+200 || s.Resimulated < before.Resimulated+8*200 {
			t.Fatalf("proves nothing: %+v", s)
		}
	}
	server := seated(t, Config{MaxPrediction: 1, Local: -1})
	inputs, f := packed(skPad{}, skPad{}), ecs.Tick(1)
	tick := func() {
		f++
		inputs[0] = skInput.Pack(skPad{DX: int8(f), Fire: f%3 == 0})
		if server.Confirm(f, inputs, 0, 0) != nil || server.Rewind(server.Present()) != 0 || !server.Step() {
			t.Fatal(f)
		}
		s, _ := server.Snapshot(f)
		s.Checksum()
	}
	for range 300 {
		tick()
	}
	if n := testing.AllocsPerRun(200, tick); n != 0 {
		t.Errorf("a server tick allocates %v times", n)
	}
}

func noopGame() *ecs.Game {
	return &ecs.Game{Name: "noop", TickRate: 60, MaxPlayers: 2, Input: skInput, Systems: ecs.Systems(func(*ecs.World) {})}
}

// BenchmarkTimelineOverhead compares a timeline that rewinds 7 ticks each tick, in a game that does nothing, with a minimal
// loop. The loop has an array ring of states, and inputs by tick, copied and compared. Reach: 20 times.
func BenchmarkTimelineOverhead(b *testing.B) {
	b.Run("timeline", func(b *testing.B) {
		tl := newTimeline(b, Config{World: newWorld(b, noopGame()), MaxPrediction: 8, Local: 0})
		joins := []image.Order{{Kind: image.OrderJoin, Player: 0}, {Kind: image.OrderJoin, Player: 1}}
		for _, o := range joins {
			tl.AddOrder(1, o)
		}
		tl.Confirm(1, nil, 0, DigestOrders(joins))
		step(b, tl, 9)
		inputs, f := make([]ecs.InputBytes, 2), ecs.Tick(1)
		for b.Loop() {
			f++
			tl.SetLocal(tl.Furthest()+1, ecs.InputBytes{})
			inputs[1][0]++
			if tl.Confirm(f, inputs, 0, 0) != nil {
				b.Fatal(f)
			}
			tl.Rewind(tl.Present())
			for tl.Present() < f+8 {
				tl.Step()
			}
		}
		if s := tl.Stats; s.Resimulated < 7*uint64(b.N) {
			b.Fatalf("%+v", s)
		}
	})
	b.Run("minimal", func(b *testing.B) {
		b.ReportMetric(minimalLoop(b), "sum")
	})
}

type minimalState struct {
	tick, sum uint64
	inputs    [2]ecs.InputBytes
}

//go:noinline
func (s *minimalState) step(in *[2]ecs.InputBytes) {
	s.tick++
	s.inputs = *in
}

func minimalLoop(b *testing.B) float64 {
	var ring [16]minimalState
	var inputs [16][2]ecs.InputBytes
	var state minimalState
	present, f := uint64(8), uint64(0)
	var confirmed [2]ecs.InputBytes
	for b.Loop() {
		f++
		confirmed[1][0]++
		if inputs[f&15] != confirmed {
			inputs[f&15] = confirmed
			state = ring[(f-1)&15]
			for k := f; k <= present; k++ {
				if k > f {
					inputs[k&15] = inputs[(k-1)&15]
				}
				state.step(&inputs[k&15])
				ring[k&15] = state
			}
		}
		present++
		inputs[present&15] = inputs[(present-1)&15]
		state.step(&inputs[present&15])
		ring[present&15] = state
	}
	return float64(state.sum)
}

// RB-11: the policies give the same states and differ in their costs. One that saves fewer states computes more ticks again.
// Every fifth input is mispredicted and confirmed eight ticks later.
func TestAPolicyThatSavesLessComputesMore(t *testing.T) {
	var last Stats
	sum := image.Checksum(0)
	for i, policy := range []SavePolicy{{}, Sparse(3), Speculative, ConfirmedOnly} {
		tl := seated(t, Config{Policy: policy, MaxPrediction: 9, Depth: 64})
		for f := ecs.Tick(2); f < 500; f++ {
			confirm(t, tl, f, skPad{DX: int8(f / 5)})
			tl.Rewind(tl.Present())
			for tl.Present() < f+8 {
				tl.Step()
			}
		}
		s, end := tl.Stats, checksum(tl.world)
		if i > 0 && (s.WrongInputs != last.WrongInputs || s.Saved >= last.Saved || s.Resimulated <= last.Resimulated || end != sum) {
			t.Errorf("%v: %+v, state %x\nafter %+v, state %x", policy, s, end, last, sum)
		}
		last, sum = s, end
	}
}
