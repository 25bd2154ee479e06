package predict_test

import (
	"fmt"
	"time"

	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems/predict"
)

// Thirty states a second over 290 ms and 5 % loss: the client runs ahead of the server, and mispredictions are
// corrected.
func ExampleNew() {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Seed: 1,
		Strategy: predict.New(predict.Config{SnapshotRate: 30})})
	if err != nil {
		fmt.Println(err)
		return
	}
	bad, _ := simnet.ByName("P5")
	one, two := m.Join(matchsim.Plan{Profile: bad}), m.Join(matchsim.Plan{Profile: bad})
	m.Run(20 * time.Second) // of virtual time
	s := one.Core.Stats().Strategy
	fmt.Println("live:", one.Live(), two.Live())
	fmt.Println("ahead of the server:", s.Present > s.ServerTick, "corrected:", s.Rollbacks > 0)
	// Output:
	// live: true true
	// ahead of the server: true corrected: true
}
