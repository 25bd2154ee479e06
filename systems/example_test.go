package systems_test

import (
	"fmt"

	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// What the strategies demand of a game, and when its ticks are due.
func Example() {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, reckon.Strategy, verify.Strategy} {
		fmt.Printf("%-8s predicts %-5v same result everywhere %-5v positions %v\n", s.Name, s.Predicts, s.Needs.Exact, s.Needs.Motion)
	}
	fmt.Println("tick 90 at 60 a second:", float64(systems.TickTime(0, 90, 60))/float64(systems.Second), "s")
	// Output:
	// relay    predicts true  same result everywhere true  positions false
	// lockstep predicts false same result everywhere true  positions false
	// predict  predicts true  same result everywhere false positions true
	// reckon   predicts false same result everywhere false positions true
	// verify   predicts false same result everywhere false positions false
	// tick 90 at 60 a second: 1.5 s
}
