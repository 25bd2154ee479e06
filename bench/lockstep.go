package main

import (
	"fmt"
	"os"
	"time"

	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// lockstepRows measure lockstep with the arena and four bots.
func lockstepRows() []measure.Row {
	rows := []measure.Row{
		{Name: "lockstep-forward", What: "fast-forward through 36 000 frames of the arena with 4 bots, messages and simulation",
			Reference: "real time, 60 frames a second", Reach: 1.0 / 50, Run: fastForward},
		{Name: "lockstep-room", What: "lockstep server that simulates: a frame of a room with 4 players of the arena",
			Reference: "the relay server, which simulates too", Run: func() measure.Result { return roomFrame(lockstep.Strategy) }},
		{Name: "journal", What: "journal of that room: one tick of 4 players, half of them with a new input, one write to a file",
			Reference: "the lockstep server's frame of such a room", Run: journalTick},
		{Name: "lockstep-room-relay-only", What: "lockstep server that only relays: the same room",
			Reference: "the relay server, which simulates too", Run: func() measure.Result { return roomFrame(lockstep.New(lockstep.Config{OnDemand: true})) }},
	}
	// The estimates of strategies.md: 4 players, 6 operations a second each, with headers.
	for _, e := range []struct{ interval, kbps int }{{1, 26}, {2, 14}, {5, 6}, {10, 4}} {
		rows = append(rows, measure.Row{Name: fmt.Sprintf("lockstep-bytes-%d", e.interval),
			What:      fmt.Sprintf("down to each of 4 clients at 60 Hz, %d frames to a sync, 6 operations of 6 bytes a second each", e.interval),
			Reference: fmt.Sprintf("an estimate of %d kbit/s", e.kbps),
			Run:       func() measure.Result { return bytesDown(e.interval, float64(e.kbps)) }})
	}
	return rows
}

const (
	lockstepPlayers = 4
	forwardFrames   = 36000
)

// fastForward measures a client that catches up with a match of ten minutes between bots.
func fastForward() measure.Result {
	game := rules.Game()
	half, err := lockstep.New(lockstep.Config{Backlog: 32 << 20}).NewServer(systems.ServerConfig{World: mustWorld(game), Peers: 1})
	if err != nil {
		panic(err)
	}
	server := systems.Full(half)
	bots := make([]*ecs.Rand, lockstepPlayers)
	for p := range bots {
		bots[p] = image.NewRand(uint64(p))
	}
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
			panic(err)
		}
	}
	var turns []float64
	var bytes int
	for range 3 {
		took, sent := catchUp(server, game)
		turns, bytes = append(turns, float64(took)/forwardFrames), sent
	}
	r := measure.Of(float64(time.Second)/float64(game.TickRate), turns...)
	return measure.Result{Unit: "frame", Ratio: r, Note: fmt.Sprintf("%.0f × real time, %.0f frames/s, %.1f s for ten minutes; %.1f bytes a frame",
		1/r.Median, 1e9/r.Subject, r.Subject*forwardFrames/1e9, float64(bytes)/forwardFrames)}
}

// catchUp returns the time that a client needs from State(0) to the server's last frame, and the bytes it is sent.
func catchUp(server systems.Server, game *ecs.Game) (took time.Duration, sent int) {
	client, err := lockstep.Strategy.NewClient(systems.ClientConfig{World: mustWorld(game), Seat: -1})
	if err != nil {
		panic(err)
	}
	client.Load(0, server.Done(), 0)
	var up, down courier
	server.Open(0, -1, 0, 0, &down)
	for n := 1; client.Stats().Present+10 < server.Done(); n++ {
		now := systems.Time(n) * systems.Second / 60
		up.now, down.now = now, now
		server.Send(now, &down)
		for _, p := range down.queue {
			sent += len(p.text)
		}
		began := time.Now()
		down.deliver(now, client.Receive)
		client.Frame(now)
		client.Effects(func(systems.Effect) {})
		client.Send(now, &up)
		took += time.Since(began)
		up.deliver(now, func(ch systems.Channel, message []byte, now systems.Time) error {
			return server.Receive(0, ch, message, now, &down)
		})
		if n > 10*forwardFrames {
			panic(fmt.Sprintf("a client stops catching up at frame %d of %d", client.Stats().Present, server.Done()))
		}
	}
	server.Close(0)
	return took, sent
}

// arenaMatch returns a match of four players in the arena. Bots play it.
func arenaMatch(s systems.Strategy) *match {
	m := newMatch(s, rules.Game(), lockstepPlayers, 50*systems.Second/1000)
	bots := make([]*ecs.Rand, lockstepPlayers)
	for i := range bots {
		bots[i] = image.NewRand(uint64(i))
	}
	m.input = func(p int) ecs.InputBytes { return m.game.Bot(m.worlds[p], ecs.Player(p), bots[p]) }
	return m
}

// settled returns an arena match after ten seconds of play.
func settled(s systems.Strategy) *match {
	m := arenaMatch(s)
	m.play(600)
	return m
}

// roomFrame compares a frame of a room on two servers, without sockets and seals.
func roomFrame(s systems.Strategy) measure.Result {
	ours, theirs := settled(s), settled(relay.Strategy)
	r := measure.Compare(measure.Op{Prepare: theirs.playClients, Run: theirs.playServer}, measure.Op{Prepare: ours.playClients, Run: ours.playServer})
	return measure.Result{Unit: "frame", Ratio: r, Note: fmt.Sprintf("%.2f ms of a core per room-second", r.Subject*60/1e6)}
}

// Headers of a packet: IPv4, UDP and, as the estimates have it, KCP.
const wireHeaders = 20 + 8 + 24

// sessionBytes is the size of the session's header before a strategy's message.
const sessionBytes = 2

// bytesDown counts the bytes that a client is sent while each player changes its input six times a second.
func bytesDown(interval int, estimate float64) measure.Result {
	m := arenaMatch(lockstep.New(lockstep.Config{Interval: interval}))
	rand := image.NewRand(7)
	var held [lockstepPlayers]ecs.InputBytes
	m.input = func(p int) ecs.InputBytes {
		if rand.Chance(1, 10) {
			for i := range min(6, m.game.Input.Size()) {
				held[p][i] = byte(rand.Uint64())
			}
			held[p] = m.game.Input.Clean(held[p])
		}
		return held[p]
	}
	m.play(600)
	const seconds = 60
	m.messages, m.bytes = 0, 0
	m.play(seconds * 60)
	perSecond := float64(m.bytes+m.messages*(sessionBytes+wireHeaders)) / seconds / lockstepPlayers
	return measure.Result{Ratio: measure.Of(1, perSecond*8/1000/estimate),
		Text: fmt.Sprintf("%.1f kbit/s", perSecond*8/1000),
		Note: fmt.Sprintf("%.0f bytes a second on the wire, %.0f of them payload, in %.1f packets", perSecond, float64(m.bytes)/seconds/lockstepPlayers, float64(m.messages)/seconds/lockstepPlayers)}
}

// journalTick compares a tick in the journal with the server's frame.
func journalTick() measure.Result {
	file, err := os.CreateTemp("", "tendon-bench")
	if err != nil {
		panic(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	game := rules.Game()
	w, err := record.NewWriter(file, game, record.HeaderOf(game, 1, "bench"))
	if err != nil {
		panic(err)
	}
	rand, inputs := image.NewRand(3), make([]ecs.InputBytes, game.MaxPlayers)
	f := ecs.Tick(0)
	write := func() {
		f++
		err := w.Tick(record.Tick{Tick: f, Inputs: inputs})
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			panic(err)
		}
	}
	m := settled(lockstep.Strategy)
	r := measure.Compare(measure.Op{Prepare: m.playClients, Run: m.playServer}, measure.Op{Run: write, Prepare: func() {
		for p := range lockstepPlayers {
			if rand.Chance(1, 2) {
				inputs[p][0] ^= 1
				inputs[p] = game.Input.Clean(inputs[p])
			}
		}
	}})
	info, err := file.Stat()
	if err != nil {
		panic(err)
	}
	return measure.Result{Unit: "tick", Ratio: r,
		Note: fmt.Sprintf("%.2f ms and %.0f bytes a room-second; the disk is not waited for", r.Subject*60/1e6, float64(info.Size())/float64(f)*60)}
}
