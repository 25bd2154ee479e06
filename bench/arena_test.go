package bench

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
)

// arenaDelay is the delay of messages in a match of the arena, in ticks each way. A relay client then rolls back seven ticks.
const arenaDelay = 3

// newBotLoop returns a match of the arena between bots over a path, by default one with [arenaDelay].
func newBotLoop(t testing.TB, s systems.Strategy, players int, path simnet.Profile) *loop {
	game := rules.Game()
	game.MaxPlayers = max(game.MaxPlayers, players)
	l := &loop{Loop: halves.NewLoop(t, halves.Config{Game: game, Strategy: s, Seed: 1}, arenaDelay, arenaDelay)}
	dice := image.NewRand(1)
	for seat := range players {
		l.Add(halves.Plan{Path: path, Config: systems.ClientConfig{Seat: seat}, Input: func(int) ecs.InputBytes {
			return game.Bot(l.Server.World(), ecs.Player(seat), dice)
		}}).Enter()
	}
	return l
}

// BenchmarkArena measures matches of the arena between bots.
func BenchmarkArena(b *testing.B) {
	for _, c := range []struct {
		players int
		reach   time.Duration
	}{{2, 45}, {4, 75}, {8, 140}, {16, 260}} {
		b.Run(fmt.Sprintf("client/%d", c.players), func(b *testing.B) {
			l := newBotLoop(b, relay.Strategy, c.players, simnet.Profile{})
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
				Note: fmt.Sprintf("%s; %.1f ticks resimulated in a frame", within99(times), float64(l.Peers[0].Half.Stats().Resimulated-before.Resimulated)/float64(l.Tick-began)),
			}.Report(b, measure.Of(float64(c.reach*time.Microsecond), times...))
		})
	}
	b.Run("server", func(b *testing.B) {
		const players, reach = 8, 100 * time.Microsecond
		l := newBotLoop(b, relay.Strategy, players, halves.Profile(b, "P5"))
		l.Run(600)
		l.hold()
		var times []float64
		for b.Loop() {
			times = nil
			for range 3000 {
				l.sendHeld()
				from := time.Now()
				l.Next()
				l.Serve()
				times = append(times, float64(time.Since(from)))
				for seat := range players {
					l.play(seat)
				}
			}
		}
		measure.Row{
			What:      "arena, tick of a relay server with its messages and the simulated network, 8 players on P5",
			Reference: reach.String(), Unit: "tick", Reach: 1, Note: within99(times),
		}.Report(b, measure.Of(float64(reach), times...))
	})
	for _, c := range []struct {
		name     string
		strategy systems.Strategy
	}{{"predict", predict.Strategy}, {"reckon", reckon.Strategy}} {
		b.Run("mean/"+c.name, func(b *testing.B) {
			l := newBotLoop(b, c.strategy, 8, halves.Profile(b, "P3"))
			l.Run(600)
			var times, means []float64
			for b.Loop() {
				times, means = nil, nil
				for range 5 {
					total := 0.0
					for range 1200 {
						l.Next()
						l.Serve()
						for _, p := range l.Peers[1:] {
							p.Frame(p.Now())
						}
						from := time.Now()
						l.Peers[0].Frame(l.Peers[0].Now())
						frame := float64(time.Since(from))
						times, total = append(times, frame), total+frame
					}
					means = append(means, total/1200)
				}
			}
			within := within99(times)
			measure.Row{
				What:      "arena, mean frame of a " + c.name + " client, 8 players on P3, corrections included",
				Reference: "the median of the same frames", Unit: "frame", Reach: 1.5,
				Note: within,
			}.Report(b, measure.Of(times[len(times)/2], means...))
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
				l := newBotLoop(b, c.strategy, c.players, simnet.Profile{})
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

// within99 sorts times, and returns a text with their 99th percentile.
func within99(times []float64) string {
	slices.Sort(times)
	return fmt.Sprintf("99 %% within %.0f µs", times[len(times)*99/100]/1000)
}

// heap returns the bytes of live objects.
func heap() float64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc)
}
