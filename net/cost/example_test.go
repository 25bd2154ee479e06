package cost_test

import (
	"fmt"

	"tendon/ecs"
	"tendon/net/cost"
)

// A world reports ticks and systems to its observer. Rooms and clients also report the phases around them, and end the
// turns.
func Example() {
	game := &ecs.Game{Name: "example", TickRate: 1, MaxPlayers: 1, Input: ecs.NewInput[struct{ DX int8 }](),
		Systems: []ecs.System{{Name: "move", Run: func(*ecs.World) {}}}}
	ledger, err := cost.New(cost.Config{Game: game, Name: "server"})
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
		fmt.Println(row.Label(), row.Calls)
	}
	fmt.Println("turns over the budget:", report.Over)
	// Output:
	// simulate 3
	// move 3
	// turns over the budget: 0
}
