package bench

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/relay"
)

// arenaDelay is the delay of messages in a match of the arena, in ticks each way. A relay client then rolls back seven ticks.
const arenaDelay = 3

// newBotLoop returns a match of the arena between bots.
func newBotLoop(t testing.TB, s systems.Strategy, players int) *loop {
	game := rules.Game()
	game.MaxPlayers = max(game.MaxPlayers, players)
	l := &loop{Loop: halves.NewLoop(t, halves.Config{Game: game, Strategy: s, Seed: 1}, arenaDelay, arenaDelay)}
	dice := image.NewRand(1)
	l.AddPlayers(players, func(seat, _ int) ecs.InputBytes { return game.Bot(l.Server.World(), ecs.Player(seat), dice) })
	return l
}

// BenchmarkArena measures matches of the arena between bots.
func BenchmarkArena(b *testing.B) {
	for _, c := range []struct {
		players int
		reach   time.Duration
	}{{2, 45}, {4, 75}, {8, 140}, {16, 260}} {
		b.Run(fmt.Sprintf("client/%d", c.players), func(b *testing.B) {
			l := newBotLoop(b, relay.Strategy, c.players)
			l.Run(600)
			l.hold()
			before, began := l.Peers[0].Half.Stats(), l.Tick
			var times []float64
			for b.Loop() {
				times = nil
				for range 3000 {
					l.next()
					l.Serve()
					for seat := 1; seat < c.players; seat++ {
						l.play(seat)
					}
					from := time.Now()
					l.play(0)
					times = append(times, float64(time.Since(from)))
				}
			}
			measure.Row{
				What:      fmt.Sprintf("arena, frame of a relay client, %d players at a round trip of %d ticks", c.players, 2*arenaDelay),
				Reference: (c.reach * time.Microsecond).String(), Unit: "frame", Reach: 1,
				Note: fmt.Sprintf("%.1f ticks resimulated in a frame", float64(l.Peers[0].Half.Stats().Resimulated-before.Resimulated)/float64(l.Tick-began)),
			}.Report(b, measure.Of(float64(c.reach*time.Microsecond), times...))
		})
	}
	for _, c := range []struct {
		name, what string
		strategy   systems.Strategy
		players    int
		reach      float64
		drop       func(l *loop)
	}{
		{"memory/client", "memory of a relay client with 16 players", relay.Strategy, 16, 4, func(l *loop) { *l.Peers[0] = halves.Peer{} }},
		{"memory/relay", "memory of a relay server's half with 4 players", relay.Strategy, 4, 1, func(l *loop) { l.Server = systems.FullServer{} }},
		{"memory/predict", "memory of a predict server's half with 4 players", predict.Strategy, 4, 10, func(l *loop) { l.Server = systems.FullServer{} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var bytes float64
			for b.Loop() {
				l := newBotLoop(b, c.strategy, c.players)
				l.Run(1800)
				l.Net, l.Peers[0].Effects = nil, nil // of the harness
				with := heap()
				c.drop(l)
				bytes = with - heap()
				runtime.KeepAlive(l)
			}
			measure.Row{What: "arena, " + c.what + ", after half a minute", Reference: "1 MB", Reach: c.reach,
				Text: fmt.Sprintf("%.2f MB", bytes/1e6)}.Report(b, measure.Of(1e6, bytes))
		})
	}
}

// heap returns the bytes of live objects.
func heap() float64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc)
}
