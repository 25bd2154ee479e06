package cost_test

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/net/cost"
)

// A world tells its observer of ticks and systems; rooms and clients tell of everything around them as well, and end the
// turns. Here the clock goes on by 10 µs whenever it is looked at.
func Example() {
	now := time.Duration(0)
	game := someGame()
	ledger, err := cost.New(cost.Config{Game: game, Name: "server", Clock: func() time.Duration { now += 10 * time.Microsecond; return now }})
	if err != nil {
		panic(err)
	}
	world, err := ecs.NewWorld(game, 1)
	if err != nil {
		panic(err)
	}
	world.Image().SetObserver(ledger)
	for range 3 {
		world.Step(ecs.TickInputs{})
		ledger.Turn(world.Tick())
	}
	report := ledger.Report()
	for _, row := range report.Rows {
		fmt.Printf("%-8s %d calls, %v of its own, %v with what is inside, %.2f %% of the budget\n", row.Label(), row.Calls, row.Self, row.Total, 100*row.Share)
	}
	fmt.Printf("%.2f %% of the budget used, %d ticks over it\n", 100*report.Used(), report.Over)
	// Output:
	// simulate 3 calls, 90µs of its own, 150µs with what is inside, 0.30 % of the budget
	// move     3 calls, 30µs of its own, 30µs with what is inside, 0.10 % of the budget
	// rockets  3 calls, 30µs of its own, 30µs with what is inside, 0.10 % of the budget
	// 0.50 % of the budget used, 0 ticks over it
}
