package state_test

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems/state"
)

type rock struct {
	Pos fixed.Vec2 `tendon:"step=1/512"`
}

var (
	rocks   = ecs.NewComponent[rock]("rock")
	buttons = ecs.NewInput[struct{ Fire bool }]()
	falling = ecs.NewQuery1(ecs.Write(rocks))
)

// A server replicates falling deltas to a client. The replica equals the server's state, for a few bytes a tick.
func Example() {
	game := &ecs.Game{Name: "rocks", TickRate: 60, MaxPlayers: 1, Input: buttons, Components: ecs.Components(rocks)}
	game.Setup = func(w *ecs.World) {
		for range 100 {
			w.Spawn(ecs.OwnedByWorld, rocks)
		}
	}
	game.Systems = ecs.Systems(func(w *ecs.World) {
		for e := range falling.All(w) {
			e.A.Pos.Y -= fixed.One / 8
		}
	})
	server, _ := ecs.NewWorld(game, 1)
	changes, _ := state.NewChanges(game)
	var states [2]image.Snapshot // of the last two ticks
	var changed image.Changed
	observe := func() {
		base, now := &states[server.Tick()%2^1], &states[server.Tick()%2]
		server.Image().Save(now)
		changed.Find(base, now)
		changes.Observe(now, &changed)
	}
	observe()

	replica, _ := ecs.NewWorld(game, 1)
	if err := replica.Image().Load(states[0].AppendImage(nil)); err != nil {
		panic(err)
	}
	sender := state.NewSender(changes)
	sender.Open(-1, &states[0])
	receiver, _ := state.NewReceiver(replica)
	receiver.Load()

	var delta []byte
	for range 60 {
		server.Step(ecs.TickInputs{})
		observe()
		delta = sender.Append(delta[:0], 1100, changes.All)
		if err := receiver.Receive(delta); err != nil {
			panic(err)
		}
		if err := sender.Acked(receiver.Ack()); err != nil {
			panic(err)
		}
	}
	r, _ := rocks.ReadAt(receiver.State(), ecs.Entity{Row: 42})
	fmt.Println("tick", receiver.Tick(), "height", r.Pos.Y)
	fmt.Println("fewer than 40 bytes for 100 rocks:", len(delta) < 40)
	// Output:
	// tick 60 height -7.5
	// fewer than 40 bytes for 100 rocks: true
}
