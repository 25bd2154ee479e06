package rules

import (
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/predict"
)

// With lag compensation, a tick reads older states. A fork of the server's world reads the same ones, so it computes the
// states that the server recorded.
func TestAForkOfTheServerSeesWhatTheShootersSaw(t *testing.T) {
	type tick struct {
		inputs []ecs.InputBytes
		orders []image.Order
		sum    image.Checksum
	}
	ticks := []tick{{}}
	m := halves.NewLoop(t, halves.Config{Game: Game(), Strategy: predict.New(predict.Config{History: 256}), Seed: 7, Change: func(sc *systems.ServerConfig) {
		sc.States = true
		sc.Taken = func(f systems.FinalTick) {
			c := halves.Clone(f)
			ticks = append(ticks, tick{c.Inputs, c.Orders, f.State.Checksum()})
		}
	}}, 5, 5)
	server := m.Server.Server.(*predict.Server)
	for seat := range 8 {
		dice := image.NewRand(uint64(seat))
		p := m.Add(halves.Plan{Config: systems.ClientConfig{Seat: seat}})
		p.Input = func(int) ecs.InputBytes { return p.Game.Bot(p.World, ecs.Player(seat), dice) }
		p.Enter()
	}
	r, compared, views, blind := rand.New(rand.NewPCG(7, 1)), 0, 0, 0
	for m.Tick < 800 {
		m.Step()
		if done := server.Done(); done > 256 && m.Tick%40 == 0 {
			from := done - ecs.Tick(20+r.IntN(200))
			fork, ok := server.Fork(from)
			other, _ := server.Fork(from)
			if !ok {
				t.Fatalf("no fork of tick %d at tick %d", from, done)
			}
			other.Image().SetPast(nil)
			for fork.Tick() < done {
				next := ticks[fork.Tick()+1]
				for _, o := range next.orders {
					if o.Kind == image.OrderView {
						views++
					}
				}
				fork.Step(ecs.TickInputs{Players: next.inputs, Orders: next.orders})
				other.Step(ecs.TickInputs{Players: next.inputs, Orders: next.orders})
				if got := saved(fork).Checksum(); got != next.sum {
					t.Fatalf("a fork of tick %d differs in tick %d", from, fork.Tick())
				}
				compared++
			}
			if saved(other).Checksum() != ticks[done].sum {
				blind++
			}
		}
	}
	if compared < 1000 || views < 1000 || blind == 0 {
		t.Errorf("a run that proves nothing: %d ticks, %d views, %d forks without a past differ", compared, views, blind)
	}
}
