package lab_test

import (
	"fmt"
	"time"

	"tendon/net/lab"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// The same players on the same network, by two strategies: one shows an own action at once, the other when it is certain.
func ExampleRun() {
	typical, _ := simnet.ByName("P3")
	report, err := lab.Run(lab.Config{
		Game:       halves.Dots(),
		Strategies: []systems.Strategy{relay.Strategy, lockstep.Strategy},
		Profiles:   []simnet.Profile{typical},
		Players:    2, For: 5 * time.Second, Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		fmt.Println(r.Strategy, "shows it at once:", r.Display.P50 == 0, "desyncs:", r.Desyncs)
	}
	// Output:
	// relay shows it at once: true desyncs: 0
	// lockstep shows it at once: false desyncs: 0
}
