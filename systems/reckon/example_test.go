package reckon_test

import (
	"fmt"
	"time"

	"tendon/ecs/fixed"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems/reckon"
)

// Clients send the positions of their avatars. The server accepts up to 20 units a second.
func ExampleNew() {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Seed: 1,
		Strategy: reckon.New(reckon.Config{MaxSpeed: fixed.FromInt(20)})})
	if err != nil {
		fmt.Println(err)
		return
	}
	bad, _ := simnet.ByName("P5")
	one, two := m.Join(matchsim.Plan{Profile: bad}), m.Join(matchsim.Plan{Profile: bad})
	m.Run(20 * time.Second) // of virtual time
	s := one.Core.Stats().Strategy
	fmt.Println("live:", one.Live(), two.Live())
	fmt.Println("stalls:", s.Stalls)
	// Output:
	// live: true true
	// stalls: 0
}
