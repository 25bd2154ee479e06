package bench

import (
	"testing"

	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
)

// BenchmarkResimulate measures a rollback of 8 ticks in the arena with 8 players: it restores a state, and simulates and saves each
// tick again. It runs on every target, to compare WebAssembly with native code.
func BenchmarkResimulate(b *testing.B) {
	const ticks, players = 8, 8
	game := rules.Game()
	w := newWorld(game)
	inputs, dice := make([]ecs.InputBytes, game.MaxPlayers), image.NewRand(1)
	orders := joins(players)
	for range 300 {
		w.Step(ecs.TickInputs{Players: inputs, Orders: orders})
		orders = nil
		for p := range ecs.Player(players) {
			inputs[p] = game.Bot(w, p, dice)
		}
	}
	var before image.Snapshot
	var ring [ticks]image.Snapshot
	w.Image().Save(&before)
	for b.Loop() {
		w.Image().Restore(&before)
		for i := range ring {
			w.Step(ecs.TickInputs{Players: inputs})
			w.Image().Save(&ring[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/rollback")
}
