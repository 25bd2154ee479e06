package cli_test

import (
	"tendon/cmd/cli"
	"tendon/cmd/cli/backend/queue"
	"tendon/ecs"
)

type mark struct{ X int32 }
type step struct{ DX int8 }

var (
	marks  = ecs.NewComponent[mark]("mark")
	seats  = ecs.NewComponent[ecs.Seat]("seat")
	steps  = ecs.NewInput[step]()
	placed = ecs.NewQuery2(ecs.Write(marks), ecs.Read(seats))
)

func move(w *ecs.World) {
	for e := range placed.All(w) {
		e.A.X += int32(steps.Of(w, e.B.Player).DX)
	}
}

// This is a whole program with every verb, both server and client.
func ExampleMain() {
	cli.Main(ecs.Game{
		Name: "steps", TickRate: 60, MaxPlayers: 4, Input: steps,
		Components: ecs.Components(marks, seats), Systems: ecs.Systems(move),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			seats.Put(w, w.Spawn(ecs.OwnedBy(p), marks, seats), ecs.Seat{Player: p})
		},
	})
}

// matchPlayers matches the players of the queue ranked by their ratings, and those of other queues by arrival.
func matchPlayers(v queue.View) []queue.Proposal {
	if v.Queue == "ranked" {
		return queue.ByRating(queue.Rating{Attribute: "rating", Spread: 100, PerSecond: 20})(v)
	}
	return queue.Fill(v)
}

// This program has a match function for the verb backend.
func ExampleProgram() {
	cli.Program{
		Game:  ecs.Game{Name: "steps", TickRate: 60, MaxPlayers: 4, Input: steps, Components: ecs.Components(marks, seats)},
		Match: matchPlayers,
	}.Run()
}
