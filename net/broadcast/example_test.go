package broadcast_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/broadcast"
	"tendon/rollback"
	"tendon/rollback/record"
)

type keys struct{ Jump bool }

// A match is broadcast into a directory and watched from there.
func Example() {
	game := &ecs.Game{Name: "example", TickRate: 20, MaxPlayers: 2, Input: ecs.NewInput[keys]()}
	dir, _ := os.MkdirTemp("", "broadcast")
	defer os.RemoveAll(dir)

	// The server's side: one Writer for each room, called from a sink of the room.
	store, err := broadcast.OpenDir(filepath.Join(dir, "main"))
	if err != nil {
		panic(err)
	}
	w, err := broadcast.NewWriter(broadcast.Config{Game: game, Header: record.HeaderOf(game, 1, "build 7"), Run: "run-1", Store: store}, nil)
	if err != nil {
		panic(err)
	}
	world, _ := ecs.NewWorld(game, 1)
	var state image.Snapshot
	for f := ecs.Tick(1); f <= 200; f++ {
		world.Step(ecs.TickInputs{})
		world.Image().Save(&state)
		w.Tick(rollback.FinalTick{Tick: f, Checksum: state.Checksum()}, &state, world)
	}
	w.Close(true)()

	// A viewer. In a program, Run fetches on a goroutine, and NewHTTP is the source.
	start := time.Now()
	clock := func() time.Duration { return time.Since(start) }
	v, err := broadcast.NewViewer(game, broadcast.Files{FS: os.DirFS(filepath.Join(dir, "main"))}, 1, clock())
	if err != nil {
		panic(err)
	}
	for !v.Stats().Over {
		if _, err := v.Fetch(context.Background(), clock); err != nil {
			panic(err)
		}
		for more := true; more; {
			if more, err = v.Step(); err != nil {
				panic(err)
			}
		}
	}
	fmt.Println("verified ticks:", v.Stats().Verified, "of", v.Stats().Tick)
	// Output: verified ticks: 80 of 200
}
