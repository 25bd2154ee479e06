package relay_test

import (
	"fmt"
	"time"

	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems/relay"
)

// Two clients play over 290 ms and 5 % loss. They predict inputs, roll back mispredictions, and confirm what the server confirms.
func Example() {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Seed: 1,
		Strategy: relay.Strategy})
	if err != nil {
		fmt.Println(err)
		return
	}
	bad, _ := simnet.ByName("P5")
	one, two := m.Join(matchsim.Plan{Profile: bad}), m.Join(matchsim.Plan{Profile: bad})
	m.Run(20 * time.Second) // of virtual time
	s := one.Core.Stats().Strategy
	fmt.Println("live:", one.Live(), two.Live())
	fmt.Println("states equal:", one.Checked > 600, one.Mismatches+two.Mismatches)
	fmt.Println("went back:", s.Rollbacks > 0, "ahead of the server:", s.Present > s.ServerTick)
	// Output:
	// live: true true
	// states equal: true 0
	// went back: true ahead of the server: true
}
