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

// The strategies have different requirements of a game. Ticks are due on a fixed grid.
func Example() {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, reckon.Strategy, verify.Strategy} {
		fmt.Printf("%-8s predicts %-5v same result everywhere %-5v motion %-5v between %v\n", s.Name, s.Predicts, s.Needs.Exact, s.Needs.Motion, s.Needs.Between)
	}
	fmt.Println("tick 90 at 60 a second:", float64(systems.TickTime(0, 90, 60))/float64(systems.Second), "s")
	// Output:
	// relay    predicts true  same result everywhere true  motion false between false
	// lockstep predicts false same result everywhere true  motion false between false
	// predict  predicts true  same result everywhere false motion false between true
	// reckon   predicts false same result everywhere false motion true  between false
	// verify   predicts false same result everywhere false motion false between false
	// tick 90 at 60 a second: 1.5 s
}
