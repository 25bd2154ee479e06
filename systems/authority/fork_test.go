package authority_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/verify"
)

// A server gives any state in its history. A fork of it that is stepped with the recorded inputs and orders computes the
// recorded states, and one that is changed does not change the match.
func TestEachServerForksAnyStateOfItsHistory(t *testing.T) {
	for _, c := range []struct {
		strategy systems.Strategy
		depth    int // of the server
	}{{predict.Strategy, 128}, {predict.New(predict.Config{History: 300}), 512}, {reckon.Strategy, 128},
		{reckon.New(reckon.Config{History: 64}), 64}, {verify.New(verify.Config{History: 64}), 64}, {verify.Strategy, 2*60 + 2}} {
		t.Run(c.strategy.Name, func(t *testing.T) {
			m := halves.New(t, halves.Config{Game: halves.Dots(), Strategy: c.strategy, Seed: 3, Change: func(sc *systems.ServerConfig) { sc.States = true }})
			server := m.Server.Server.(interface {
				Fork(f ecs.Tick) (*ecs.World, bool)
			})
			for seat := range 3 {
				play := halves.Wander(uint64(seat))
				m.Join(halves.Plan{Path: halves.Profile(t, "P3"), Clock: simnet.Clock{}, Config: systems.ClientConfig{Seat: seat}, FromOpen: true,
					Input: func(int) ecs.InputBytes { return halves.PadInput.Pack(play()) }})
			}
			for k := range 60 {
				m.Net.At(time.Duration(1+k*200)*time.Millisecond, func() {
					m.Server.Stamp(image.Order{Kind: image.OrderGame, Player: 1, Payload: []byte{byte(k)}}, m)
				})
			}
			r, compared, deepest := rand.New(rand.NewPCG(3, 1)), 0, ecs.Tick(0)
			check := func() {
				done := m.Server.Done()
				f := done - ecs.Tick(r.IntN(min(int(done), c.depth)))
				fork, ok := server.Fork(f)
				if !ok {
					t.Fatalf("no fork of tick %d at tick %d", f, done)
				}
				for ; fork.Tick() <= done; compared++ {
					if k := fork.Tick(); k > 0 && sum(fork) != m.Ticks[k].Sum {
						t.Fatalf("a fork of tick %d differs in tick %d", f, k)
					}
					if fork.Tick() == done {
						break
					}
					next := m.Ticks[fork.Tick()+1]
					fork.Step(ecs.TickInputs{Players: next.Inputs, Orders: next.Orders})
				}
				for e := range halves.Steered.All(fork) {
					e.A.Pos.X += 1 << 16
				}
				fork.Step(ecs.TickInputs{})
				if sum(m.Server.World()) != m.Ticks[done].Sum {
					t.Fatalf("a fork of tick %d changed the match", f)
				}
				deepest = max(deepest, done-f)
			}
			for at := time.Second; at < 12*time.Second; at += 150 * time.Millisecond {
				m.Net.At(at, check)
			}
			m.Net.RunUntil(12 * time.Second)
			m.WantChange()
			if compared < 500 || int(deepest) < c.depth*3/4 {
				t.Errorf("a run that proves nothing: %d ticks compared, %d ticks back at most", compared, deepest)
			}
			if _, ok := server.Fork(m.Server.Done() - ecs.Tick(c.depth)); ok {
				t.Errorf("the server keeps more than %d states", c.depth)
			}
		})
	}
}

func TestADepthThatAServerCannotKeepIsRefused(t *testing.T) {
	for _, depth := range []int{-1, 1, 4097} {
		for _, s := range []systems.Strategy{predict.New(predict.Config{History: depth}), reckon.New(reckon.Config{History: depth}), verify.New(verify.Config{History: depth})} {
			if _, err := s.NewServer(systems.ServerConfig{World: halves.NewWorld(t, halves.Dots(), 1), Peers: 1}); err == nil || !strings.Contains(err.Error(), "History") {
				t.Errorf("%s with %d ticks: %v", s.Name, depth, err)
			}
		}
	}
}

func sum(w *ecs.World) image.Checksum {
	var s image.Snapshot
	w.Image().Save(&s)
	defer s.Release()
	return s.Checksum()
}
