package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// BenchmarkLockstep measures lockstep with the arena and four bots.
func BenchmarkLockstep(b *testing.B) {
	b.Run("forward", fastForward)
	b.Run("room", func(b *testing.B) {
		roomFrame(b, lockstep.Strategy, "lockstep server that simulates: a frame of a room with 4 players of the arena")
	})
	b.Run("journal", journalTick)
	b.Run("room-relay-only", func(b *testing.B) {
		roomFrame(b, lockstep.New(lockstep.Config{OnDemand: true}), "lockstep server that only relays: the same room")
	})
	// Estimates in kbit/s: 4 players, 6 operations a second each, with headers.
	for _, e := range []struct{ interval, kbps int }{{1, 26}, {2, 14}, {5, 6}, {10, 4}} {
		b.Run(fmt.Sprintf("bytes/%d", e.interval), func(b *testing.B) { bytesDown(b, e.interval, e.kbps) })
	}
}

const (
	lockstepPlayers = 4
	forwardFrames   = 36000
)

// fastForward measures a client that catches up with a match of ten minutes between bots.
func fastForward(b *testing.B) {
	game := rules.Game()
	strategy := lockstep.New(lockstep.Config{Backlog: 32 << 20})
	server := systems.Full(measure.Must(strategy.NewServer(systems.ServerConfig{World: newWorld(game), Peers: 1})))
	bots := newBots()
	inputs := make([]ecs.InputBytes, game.MaxPlayers)
	for f := ecs.Tick(1); f <= forwardFrames; f++ {
		t := systems.FinalTick{FinalTick: rollback.FinalTick{Tick: f, Inputs: inputs}}
		if f == 1 {
			t.Orders = joins(lockstepPlayers)
		} else {
			for p := range bots {
				inputs[p] = game.Bot(server.World(), ecs.Player(p), bots[p])
			}
		}
		if err := server.Adopt(t); err != nil {
			b.Fatal(err)
		}
	}
	var turns []float64
	var bytes int
	for b.Loop() {
		turns = nil
		for range 3 {
			took, sent := catchUp(b, server, game)
			turns, bytes = append(turns, float64(took)/forwardFrames), sent
		}
	}
	r := measure.Of(float64(time.Second)/float64(game.TickRate), turns...)
	measure.Row{
		What:      "fast-forward through 36 000 frames of the arena with 4 bots, messages and simulation",
		Reference: "real time, 60 frames a second",
		Unit:      "frame", Reach: 1.0 / 50,
		Note: fmt.Sprintf("%.0f × real time, %.0f frames/s, %.1f s for ten minutes; %.1f bytes a frame",
			1/r.Median, 1e9/r.Subject, r.Subject*forwardFrames/1e9, float64(bytes)/forwardFrames),
	}.Report(b, r)
}

// catchUp returns the time that a client needs from State(0) to the server's last frame, and the bytes it is sent.
func catchUp(b *testing.B, server systems.FullServer, game *ecs.Game) (took time.Duration, sent int) {
	l := &loop{Loop: halves.NewLoop(b, halves.Config{Game: game, Strategy: lockstep.Strategy, Seed: 1}, 1, 1)}
	client := l.Add(halves.Plan{Config: systems.ClientConfig{Seat: -1}})
	client.Take(halves.Image(l.Server.World()))
	l.hold()
	l.Server, l.NoRTT = server, true
	client.Load(server.Done())
	client.OpenNow(0)
	for client.Half.Stats().Present+10 < server.Done() {
		l.next()
		l.Serve()
		began := time.Now()
		l.play(0)
		took += time.Since(began)
		if l.Tick > 10*forwardFrames {
			b.Fatalf("a client stops catching up at frame %d of %d", client.Half.Stats().Present, server.Done())
		}
	}
	server.Close(0)
	return took, l.Down.Bytes
}

func newBots() (bots [lockstepPlayers]*ecs.Rand) {
	for p := range bots {
		bots[p] = image.NewRand(uint64(p))
	}
	return bots
}

// newArenaLoop returns a match of four players in the arena, with 50 ms each way. Bots play it.
func newArenaLoop(t testing.TB, s systems.Strategy) *loop {
	game, bots := rules.Game(), newBots()
	l := &loop{Loop: halves.NewLoop(t, halves.Config{Game: game, Strategy: s, Seed: 1, Change: func(c *systems.ServerConfig) {
		c.Peers = lockstepPlayers
	}}, 3, 3)}
	l.AddPlayers(lockstepPlayers, func(seat, _ int) ecs.InputBytes {
		return game.Bot(l.Peers[seat].World, ecs.Player(seat), bots[seat])
	})
	return l
}

// settled returns an arena match after ten seconds of play.
func settled(t testing.TB, s systems.Strategy) *loop {
	l := newArenaLoop(t, s)
	l.Run(600)
	return l.hold()
}

// playClients plays a frame of all clients.
func (l *loop) playClients() { l.play(0, 1, 2, 3) }

// serve begins the next tick: the server receives what has arrived, and runs.
func (l *loop) serve() {
	l.next()
	l.Serve()
}

// roomFrame compares a frame of a room on two servers, without sockets and seals.
func roomFrame(b *testing.B, s systems.Strategy, what string) {
	ours, theirs := settled(b, s), settled(b, relay.Strategy)
	r := measure.Compare(b, measure.Op{Prepare: theirs.playClients, Run: theirs.serve}, measure.Op{Prepare: ours.playClients, Run: ours.serve})
	measure.Row{
		What: what, Reference: "the relay server, which simulates too",
		Unit: "frame", Note: fmt.Sprintf("%.2f ms of a core per room-second", r.Subject*60/1e6),
	}.Report(b, r)
}

const (
	wireHeaders  = 20 + 8 + 24 // of a packet: IPv4, UDP and, as the estimates have it, KCP
	sessionBytes = 2           // of the session's header before a strategy's message
)

// bytesDown counts the bytes that a client is sent while each player changes its input six times a second.
func bytesDown(b *testing.B, interval, estimate int) {
	const seconds = 60
	var bytes, messages float64 // per second and client
	for b.Loop() {
		l := newArenaLoop(b, lockstep.New(lockstep.Config{Interval: interval}))
		rand := image.NewRand(7)
		var held [lockstepPlayers]ecs.InputBytes
		for p := range held {
			l.Peers[p].Input = func(int) ecs.InputBytes {
				if rand.Chance(1, 10) {
					for i := range min(6, l.Game.Input.Size()) {
						held[p][i] = byte(rand.Uint64())
					}
					held[p] = l.Game.Input.Clean(held[p])
				}
				return held[p]
			}
		}
		down := 0
		l.OnDown = func(*halves.Peer, systems.Channel, []byte) { down++ }
		l.Run(600)
		l.Down.Bytes, down = 0, 0
		l.Run(seconds * 60)
		bytes, messages = float64(l.Down.Bytes)/seconds/lockstepPlayers, float64(down)/seconds/lockstepPlayers
	}
	onWire := bytes + messages*(sessionBytes+wireHeaders)
	measure.Row{
		What:      fmt.Sprintf("down to each of 4 clients at 60 Hz, %d frames to a sync, 6 operations of 6 bytes a second each", interval),
		Reference: fmt.Sprintf("an estimate of %d kbit/s", estimate),
		Text:      fmt.Sprintf("%.1f kbit/s", onWire*8/1000),
		Note:      fmt.Sprintf("%.0f bytes a second on the wire, %.0f of them payload, in %.1f packets", onWire, bytes, messages),
	}.Report(b, measure.Of(float64(estimate), onWire*8/1000))
}

// journalTick compares a tick in the journal with the server's frame.
func journalTick(b *testing.B) {
	file := measure.Must(os.Create(filepath.Join(b.TempDir(), "journal")))
	defer file.Close()
	game := rules.Game()
	w := measure.Must(record.NewWriter(file, game, record.HeaderOf(game, 1, "bench")))
	rand, inputs := image.NewRand(3), make([]ecs.InputBytes, game.MaxPlayers)
	f := ecs.Tick(0)
	write := func() {
		f++
		err := w.Tick(record.Tick{Tick: f, Inputs: inputs})
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	l := settled(b, lockstep.Strategy)
	r := measure.Compare(b, measure.Op{Prepare: l.playClients, Run: l.serve}, measure.Op{Run: write, Prepare: func() {
		for p := range lockstepPlayers {
			if rand.Chance(1, 2) {
				inputs[p][0] ^= 1
				inputs[p] = game.Input.Clean(inputs[p])
			}
		}
	}})
	size := measure.Must(file.Stat()).Size()
	measure.Row{
		What:      "journal of that room: one tick of 4 players, half of them with a new input, one write to a file",
		Reference: "the lockstep server's frame of such a room",
		Unit:      "tick",
		Note: fmt.Sprintf("%.2f ms and %.0f bytes a room-second; the disk is not waited for",
			r.Subject*60/1e6, float64(size)/float64(f)*60),
	}.Report(b, r)
}
