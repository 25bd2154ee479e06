package matchsim_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/relay"
)

// The view of a whole client has the confirmed past under the strategies that simulate the match. It begins again with a
// resync. A client whose ticks are forked in random frames continues without a mismatch.
func TestAViewHasThePastOfTheMatch(t *testing.T) {
	for _, c := range []struct {
		strategy systems.Strategy
		past     bool
	}{{relay.Strategy, true}, {lockstep.Strategy, true}, {predict.Strategy, false}} {
		t.Run(c.strategy.Name, func(t *testing.T) {
			m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: c.strategy, Seed: 4})
			if err != nil {
				t.Fatal(err)
			}
			typical, _ := simnet.ByName("P3")
			faulty := m.Join(matchsim.Plan{Profile: typical})
			m.Join(matchsim.Plan{Profile: typical})
			m.Run(3 * time.Second)
			past := faulty.Core.View(0).Past
			if (past != nil) != c.past {
				t.Fatalf("the view has a past: %t", past != nil)
			}
			if !c.past {
				return
			}
			r, old := rand.New(rand.NewPCG(4, 1)), faulty.Core.Stats().Strategy.Confirmed
			compared := 0
			for range 60 {
				m.Run(70 * time.Millisecond)
				f := faulty.Core.Stats().Strategy.Confirmed - ecs.Tick(r.IntN(100))
				compared += followed(t, faulty, past, f)
			}
			if faulty.Mismatches != 0 || compared < 1000 || faulty.Core.Stats().Resyncs != 0 {
				t.Fatalf("%d mismatches and %d resyncs, %d ticks compared", faulty.Mismatches, faulty.Core.Stats().Resyncs, compared)
			}
			fork, _ := past.Fork(faulty.Core.Stats().Strategy.Confirmed)
			faulty.Fault(faulty.Core.Stats().Strategy.Confirmed+60, func(w *ecs.World) { w.Rand().Uint64() })
			m.Run(5 * time.Second)
			if faulty.Core.Stats().Resyncs != 1 {
				t.Fatalf("%d resyncs", faulty.Core.Stats().Resyncs)
			}
			if _, ok := past.Fork(old); ok || past.Follow(fork) {
				t.Error("a past from before the resync is kept")
			}
			followed(t, faulty, past, faulty.Core.Stats().Strategy.Confirmed-60)
		})
	}
}

// followed forks tick f and compares all ticks from there with those of the client.
func followed(t *testing.T, c *matchsim.Client, past ecs.Past, f ecs.Tick) (ticks int) {
	t.Helper()
	keeper := c.Core.Strategy().(systems.Keeper)
	w, ok := past.Fork(f)
	if !ok {
		t.Fatalf("no fork of tick %d of %d", f, c.Core.Stats().Strategy.Confirmed)
	}
	for past.Follow(w) {
		var s image.Snapshot
		w.Image().Save(&s)
		if want, held := keeper.Kept(w.Tick()); held && want.Checksum() != s.Checksum() {
			t.Fatalf("a fork of tick %d differs in tick %d", f, w.Tick())
		}
		s.Release()
		ticks++
	}
	return ticks
}
