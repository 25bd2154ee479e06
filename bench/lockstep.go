package main

import (
	"fmt"
	"os"
	"time"

	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/rollback/journal"
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
		{Name: "journal", What: "journal of that room: one tick of 4 players, half of whom change their input, one write to a file",
			Reference: "the lockstep server's frame of such a room", Run: journalTick},
		{Name: "lockstep-room-relay-only", What: "lockstep server that only relays: the same room",
			Reference: "the relay server, which simulates too", Run: func() measure.Result { return roomFrame(lockstep.New(lockstep.Config{Simulate: lockstep.OnDemand})) }},
	}
	// strategies.md's estimates of what a client hears: 4 players, 6 operations a second each, headers counted.
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

// joinsOf are the orders by which so many players enter.
func joinsOf(players int) (orders []ecs.Order) {
	for p := range players {
		orders = append(orders, ecs.Order{Kind: ecs.OrderJoin, Player: ecs.Player(p)})
	}
	return orders
}

func mustWorld(g *ecs.Game) *ecs.World {
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		panic(err)
	}
	return w
}

// fastForward lets a client catch up with a match of ten minutes, which bots have played.
func fastForward() measure.Result {
	game := rules.Game()
	server, err := lockstep.New(lockstep.Config{Backlog: 32 << 20}).NewServer(systems.ServerConfig{World: mustWorld(game), Peers: 1})
	if err != nil {
		panic(err)
	}
	bots := make([]*ecs.Rand, lockstepPlayers)
	for p := range bots {
		bots[p] = ecs.NewRand(uint64(p))
	}
	inputs := make([]ecs.InputBytes, game.MaxPlayers)
	for f := ecs.Tick(1); f <= forwardFrames; f++ {
		t := systems.FinalTick{Tick: f, Inputs: inputs}
		if f == 1 {
			t.Orders = joinsOf(lockstepPlayers)
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
	low, median, high := sorted3(turns)
	real := float64(time.Second) / float64(game.TickRate)
	return measure.Result{Unit: "frame", Ratio: measure.Ratio{Median: median / real, Low: low / real, High: high / real, Subject: median, Reference: real},
		Note: fmt.Sprintf("%.0f × real time, %.0f frames/s, %.1f s for ten minutes; %.1f bytes a frame", real/median, 1e9/median, median*forwardFrames/1e9, float64(bytes)/forwardFrames)}
}

func sorted3(v []float64) (low, median, high float64) {
	low, high = min(v[0], v[1], v[2]), max(v[0], v[1], v[2])
	return low, v[0] + v[1] + v[2] - low - high, high
}

// catchUp returns what it takes a client that holds State(0) to compute all that the server has, and what it was sent.
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
			panic(fmt.Sprintf("a client that catches up stands still at frame %d of %d", client.Stats().Present, server.Done()))
		}
	}
	server.Close(0)
	return took, sent
}

// table is a match of four bots in virtual time, with a constant delay each way.
type table struct {
	game     *ecs.Game
	server   systems.Server
	clients  [lockstepPlayers]systems.Client
	up, down [lockstepPlayers]courier
	bots     [lockstepPlayers]*ecs.Rand
	f        int64
	play     func(t *table, p int) ecs.InputBytes
	messages int // to clients
	bytes    int // in them
}

// Send implements systems.Outbox for the server.
func (t *table) Send(to systems.Peer, ch systems.Channel, message []byte) {
	t.messages, t.bytes = t.messages+1, t.bytes+len(message)
	t.down[to].Send(to, ch, message)
}

const tableDelay = 50 * systems.Second / 1000

func newTable(s systems.Strategy) *table {
	t := &table{game: rules.Game(), play: func(t *table, p int) ecs.InputBytes {
		return t.game.Bot(t.clients[p].World(), ecs.Player(p), t.bots[p])
	}}
	var err error
	if t.server, err = s.NewServer(systems.ServerConfig{World: mustWorld(t.game), Peers: lockstepPlayers}); err != nil {
		panic(err)
	}
	for i := range t.clients {
		t.up[i].delay, t.down[i].delay, t.bots[i] = tableDelay, tableDelay, ecs.NewRand(uint64(i))
		if t.clients[i], err = s.NewClient(systems.ClientConfig{World: mustWorld(t.game), Seat: i, Params: s.Params}); err != nil {
			panic(err)
		}
		t.clients[i].Load(0, 0, 2*tableDelay)
		t.server.Open(systems.Peer(i), i, 0, 0, t)
		t.server.Stamp(ecs.Order{Kind: ecs.OrderJoin, Player: ecs.Player(i)}, t)
	}
	return t
}

func (t *table) now() systems.Time { return systems.TickTime(0, ecs.Tick(t.f), t.game.TickRate) }

// guests is the clients' part of a tick.
func (t *table) guests() {
	t.f++
	now := t.now()
	for i, c := range t.clients {
		t.down[i].deliver(now, c.Receive)
		c.SetInput(t.play(t, i))
		c.Frame(now)
		t.up[i].now = now
		c.Send(now, &t.up[i])
		c.Effects(func(systems.Effect) {})
	}
}

// host is the server's part.
func (t *table) host() {
	now := t.now()
	for i := range t.up {
		t.up[i].deliver(now, func(ch systems.Channel, message []byte, now systems.Time) error {
			return t.server.Receive(systems.Peer(i), ch, message, now, t)
		})
		t.down[i].now = now
	}
	t.server.Tick(now)
	t.server.Send(now, t)
}

// settled returns a table at which everybody has played for ten seconds.
func settled(s systems.Strategy) *table {
	t := newTable(s)
	for range 600 {
		t.guests()
		t.host()
	}
	return t
}

// roomFrame compares what a frame of a room costs two servers, without sockets and seals.
func roomFrame(s systems.Strategy) measure.Result {
	ours, theirs := settled(s), settled(relay.Strategy)
	r := measure.Compare(measure.Op{Prepare: theirs.guests, Run: theirs.host}, measure.Op{Prepare: ours.guests, Run: ours.host})
	return measure.Result{Unit: "frame", Ratio: r, Note: fmt.Sprintf("%.2f ms of a core per room-second", r.Subject*60/1e6)}
}

// Headers of a packet: IPv4, UDP and, as the estimates have it, KCP.
const wireHeaders = 20 + 8 + 24

// sessionBytes is what the session puts before a strategy's message.
const sessionBytes = 2

// bytesDown counts what a client is sent while everybody does something six times a second.
func bytesDown(interval int, estimate float64) measure.Result {
	t := newTable(lockstep.New(lockstep.Config{Interval: interval}))
	rand := ecs.NewRand(7)
	var held [lockstepPlayers]ecs.InputBytes
	t.play = func(t *table, p int) ecs.InputBytes {
		if rand.Chance(1, 10) {
			for i := range min(6, t.game.InputSize()) {
				held[p][i] = byte(rand.Uint64())
			}
			t.game.CleanInput(&held[p])
		}
		return held[p]
	}
	for range 600 {
		t.guests()
		t.host()
	}
	const seconds = 60
	t.messages, t.bytes = 0, 0
	for range seconds * 60 {
		t.guests()
		t.host()
	}
	perSecond := float64(t.bytes+t.messages*(sessionBytes+wireHeaders)) / seconds / lockstepPlayers
	ratio := perSecond * 8 / 1000 / estimate
	return measure.Result{Ratio: measure.Ratio{Median: ratio, Low: ratio, High: ratio},
		Text: fmt.Sprintf("%.1f kbit/s", perSecond*8/1000),
		Note: fmt.Sprintf("%.0f bytes a second on the wire, %.0f of them payload, in %.1f packets", perSecond, float64(t.bytes)/seconds/lockstepPlayers, float64(t.messages)/seconds/lockstepPlayers)}
}

// journalTick compares what a tick costs in a journal with what it costs the server beside it.
func journalTick() measure.Result {
	file, err := os.CreateTemp("", "tendon-bench")
	if err != nil {
		panic(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	game := rules.Game()
	w, err := journal.NewWriter(file, game, journal.HeaderOf(game, 1, "bench"))
	if err != nil {
		panic(err)
	}
	rand, inputs := ecs.NewRand(3), make([]ecs.InputBytes, game.MaxPlayers)
	f := ecs.Tick(0)
	write := func() {
		f++
		err := w.Tick(journal.Tick{Tick: f, Inputs: inputs})
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			panic(err)
		}
	}
	t := settled(lockstep.Strategy)
	r := measure.Compare(measure.Op{Prepare: t.guests, Run: t.host}, measure.Op{Run: write, Prepare: func() {
		for p := range lockstepPlayers {
			if rand.Chance(1, 2) {
				inputs[p][0] ^= 1
				game.CleanInput(&inputs[p])
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
