package main

import (
	"time"

	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/cost"
)

// costsRows measure the accounting of a frame of a relay client on a bad network.
func costsRows() []measure.Row {
	return []measure.Row{{
		Name:      "costs",
		What:      "accounting a frame in which the arena with 8 players computes and saves 16 ticks, less the same frame unaccounted",
		Reference: "1 % of the budget of a tick, at 60 ticks per second",
		Reach:     1,
		Run:       accounted,
	}}
}

// frameTicks is the number of ticks in a frame that rolls back 15 ticks.
const frameTicks = 16

func accounted() measure.Result {
	game := rules.Game()
	ledger, err := cost.New(cost.Config{Game: game})
	if err != nil {
		panic(err) // the arena is a game
	}
	bare, watched := arenaFrame(game, nil), arenaFrame(game, ledger)
	return measure.Result{Unit: "frame", Ratio: measure.Compare(
		measure.Op{Run: func() {
			for begin := time.Now(); time.Since(begin) < time.Second/60/100; {
			}
		}},
		measure.Op{Run: watched, Less: &measure.Op{Run: bare}},
	)}
}

// arenaFrame returns a frame that rewinds and resimulates its ticks.
func arenaFrame(game *ecs.Game, o *cost.Ledger) func() {
	w := mustWorld(game)
	inputs, dice := make([]ecs.InputBytes, game.MaxPlayers), image.NewRand(1)
	orders := joins(8)
	for range 300 {
		w.Step(ecs.TickInputs{Players: inputs, Orders: orders})
		orders = nil
		for p := range ecs.Player(8) {
			inputs[p] = game.Bot(w, p, dice)
		}
	}
	var observer image.Observer
	if o != nil {
		observer = o
	}
	var before image.Snapshot
	ring := make([]image.Snapshot, frameTicks)
	w.Image().Save(&before)
	w.Image().SetObserver(observer)
	return func() {
		image.SectionFrame.Enter(observer)
		w.Image().Restore(&before)
		for i := range ring {
			image.SectionResimulate.Enter(observer)
			w.Step(ecs.TickInputs{Players: inputs})
			image.SectionResimulate.Leave(observer)
			w.Image().Save(&ring[i])
		}
		image.SectionFrame.Leave(observer)
		if observer != nil {
			observer.Turn(w.Tick())
		}
	}
}
