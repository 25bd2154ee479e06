package lockstep_test

import (
	"fmt"
	"time"

	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems/lockstep"
)

// A sync every third frame and four frames in hand, over 290 ms and 5 % loss. Nothing is predicted, so nothing is
// corrected.
func ExampleNew() {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Seed: 1,
		Strategy: lockstep.New(lockstep.Config{Interval: 3, Margin: 4})})
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
	fmt.Println("rollbacks:", s.Rollbacks, "behind the server:", s.Present < s.ServerTick)
	// Output:
	// live: true true
	// states equal: true 0
	// rollbacks: 0 behind the server: true
}
