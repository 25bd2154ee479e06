package cost_test

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/net/cost"
)

// A world reports ticks and systems to its observer. Rooms and clients also report the phases around them, and end the
// turns. The clock of this example advances by 10 µs with every reading.
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
		fmt.Printf("%-8s %d calls, %v self, %v total, %.2f %% of the budget\n", row.Label(), row.Calls, row.Self, row.Total, 100*row.Share)
	}
	fmt.Printf("%.2f %% of the budget used, %d ticks over it\n", 100*report.Used(), report.Over)
	// Output:
	// simulate 3 calls, 90µs self, 150µs total, 0.30 % of the budget
	// move     3 calls, 30µs self, 30µs total, 0.10 % of the budget
	// rockets  3 calls, 30µs self, 30µs total, 0.10 % of the budget
	// 0.50 % of the budget used, 0 ticks over it
}
