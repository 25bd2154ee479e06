package rollback_test

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

type keys struct{ Right int8 }

type walker struct{ X int32 }

var (
	input   = ecs.NewInput[keys]()
	walkers = ecs.NewComponent[walker]("walker")
	walking = ecs.NewQuery1(ecs.Write(walkers))
)

func walk(w *ecs.World) {
	for e := range walking.All(w) {
		e.A.X += int32(input.Of(w, 0).Right)
	}
}

func stroll() *ecs.Game {
	return &ecs.Game{
		Name: "stroll", TickRate: 60, MaxPlayers: 1, Input: input,
		Components: ecs.Components(walkers), Systems: ecs.Systems(walk),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) { w.Spawn(ecs.OwnedBy(p), walkers) },
	}
}

// A client runs ahead, receives an input that it mispredicted, rewinds and resimulates.
func Example() {
	world, err := ecs.NewWorld(stroll(), 1)
	if err != nil {
		panic(err)
	}
	timeline, err := rollback.New(rollback.Config{World: world, MaxPrediction: 8, Local: -1})
	if err != nil {
		panic(err)
	}
	join := image.Order{Kind: image.OrderJoin, Player: 0}
	timeline.AddOrder(1, join)
	timeline.Confirm(1, nil, 0, rollback.DigestOrders([]image.Order{join}))
	for range 4 {
		timeline.Step() // ticks 2 to 4 are predicted
	}

	timeline.Confirm(2, []ecs.InputBytes{input.Pack(keys{Right: 3})}, 0, 0)
	fmt.Println("went back", timeline.Rewind(timeline.Present()), "ticks")
	for timeline.Present() < 4 {
		timeline.Step()
	}
	for e := range walking.All(world) {
		fmt.Println("confirmed", timeline.Confirmed(), "present", timeline.Present(), "at", e.A.X)
	}
	// Output:
	// went back 3 ticks
	// confirmed 2 present 4 at 9
}

// walked returns a timeline in which the player has walked for six confirmed ticks, faster by 1 in each.
func walked() *rollback.Timeline {
	world, err := ecs.NewWorld(stroll(), 1)
	if err != nil {
		panic(err)
	}
	timeline, err := rollback.New(rollback.Config{World: world, MaxPrediction: 8, Local: -1})
	if err != nil {
		panic(err)
	}
	join := image.Order{Kind: image.OrderJoin, Player: 0}
	timeline.AddOrder(1, join)
	digest := rollback.DigestOrders([]image.Order{join})
	for f := ecs.Tick(1); f <= 6; f++ {
		timeline.Confirm(f, []ecs.InputBytes{input.Pack(keys{Right: int8(f)})}, 0, digest)
		timeline.Step()
		digest = 0
	}
	return timeline
}

// Every tick of the ring can be rewound to. Step then computes the same states again.
func ExampleTimeline_Rewind() {
	timeline := walked()
	before, _ := timeline.Snapshot(6)
	sum := before.Checksum()

	fmt.Println("went back", timeline.Rewind(2), "ticks to", timeline.Present(), "of", timeline.Oldest(), "to", timeline.Confirmed())
	for timeline.Present() < 6 {
		timeline.Step()
	}
	after, _ := timeline.Snapshot(6)
	fmt.Println("the same state:", after.Checksum() == sum)
	// Output:
	// went back 4 ticks to 2 of 0 to 6
	// the same state: true
}

// A second world shows the past as it was, or as it could have been.
func ExampleTimeline_Fork() {
	timeline := walked()
	at := func(w *ecs.World) (x int32) {
		for e := range walking.All(w) {
			x = e.A.X
		}
		return x
	}

	replay, _ := timeline.Fork(2)
	for timeline.Follow(replay) {
		fmt.Println("tick", replay.Tick(), "at", at(replay))
	}
	other, _ := timeline.Fork(2)
	for range 4 {
		other.Step(ecs.TickInputs{Players: []ecs.InputBytes{input.Pack(keys{Right: -1})}})
	}
	fmt.Println("to the left", at(other), "at", other.Tick())
	// Output:
	// tick 3 at 6
	// tick 4 at 10
	// tick 5 at 15
	// tick 6 at 21
	// to the left -1 at 6
}

func ExampleSyncTest() {
	report, err := rollback.SyncTest(rollback.SyncTestConfig{Game: stroll(), Seed: 1, Ticks: 120})
	fmt.Println(err, report.Ticks, "ticks compared")
	// Output:
	// <nil> 120 ticks compared
}
