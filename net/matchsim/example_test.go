package matchsim_test

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems/relay"
)

// A match in which one client computes a tick wrong: the server finds the difference and sends its own state.
func Example() {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: relay.Strategy, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	typical, _ := simnet.ByName("P3")
	good, faulty := m.Join(matchsim.Plan{Profile: typical}), m.Join(matchsim.Plan{Profile: typical, At: time.Second})
	m.Run(3 * time.Second)
	faulty.Fault(faulty.Core.World().Tick(), func(w *ecs.World) { w.Rand().Uint64() })
	m.Run(5 * time.Second)
	fmt.Println("good:", good.Live(), good.Mismatches)
	fmt.Println("faulty:", faulty.Live(), faulty.Mismatches > 0, "resynced", faulty.Core.Stats().Resyncs)
	// Output:
	// good: true 0
	// faulty: true true resynced 1
}
