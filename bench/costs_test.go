package bench

import (
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/cost"
)

// BenchmarkCosts measures the accounting of a frame of a relay client on a bad network.
func BenchmarkCosts(b *testing.B) {
	ledger := measure.Must(cost.New(cost.Config{Game: rules.Game()}))
	measure.Row{
		What:      "accounting a frame in which the arena with 8 players computes and saves 16 ticks, less the same frame unaccounted",
		Reference: "1 % of the budget of a tick, at 60 ticks per second",
		Unit:      "frame", Reach: 1,
	}.Report(b, measure.Compare(b,
		measure.Op{Run: func() {
			for begin := time.Now(); time.Since(begin) < time.Second/60/100; {
			}
		}},
		measure.Op{Run: arenaFrame(ledger), Less: &measure.Op{Run: arenaFrame(nil)}}))
}

// frameTicks is the number of ticks in a frame that rolls back 15 ticks.
const frameTicks = 16

// arenaFrame returns a frame of the arena that rewinds and resimulates its ticks.
func arenaFrame(ledger *cost.Ledger) func() {
	game := rules.Game()
	w := newWorld(game)
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
	if ledger != nil {
		observer = ledger
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
