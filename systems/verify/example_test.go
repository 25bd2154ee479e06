package verify_test

import (
	"fmt"
	"time"

	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems/verify"
)

// Clients compute nothing: what they hold is what the server had a moment ago.
func ExampleNew() {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Seed: 1,
		Strategy: verify.New(verify.Config{MaxOutstanding: 4})})
	if err != nil {
		fmt.Println(err)
		return
	}
	bad, _ := simnet.ByName("P5")
	one, two := m.Join(matchsim.Plan{Profile: bad}), m.Join(matchsim.Plan{Profile: bad})
	m.Run(20 * time.Second) // of virtual time
	s := one.Core.Stats().Strategy
	fmt.Println("live:", one.Live(), two.Live())
	fmt.Println("computed again:", s.Resimulated, "behind the server:", s.Present <= s.ServerTick)
	// Output:
	// live: true true
	// computed again: 0 behind the server: true
}
