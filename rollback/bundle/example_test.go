package bundle_test

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/bundle"
	"tendon/rollback/recording"
	"tendon/rollback/travel"
)

// Somebody's copy of the match went wrong in tick 12. The bundle that was written of it is opened, and says where the two
// differ and which of them the game's rules lead to.
func Example() {
	var clips [2]*travel.Clip // here and there
	for side := range clips {
		w, err := ecs.NewWorld(game, 3)
		if err != nil {
			panic(err)
		}
		var images []travel.Image
		var entries []recording.Entry
		var state image.Snapshot
		for f := ecs.Tick(1); f <= 20; f++ {
			if side == 0 && f == 12 {
				for e := range moving.All(w) {
					e.A.X++ // the bug
				}
			}
			inputs := []ecs.InputBytes{pads.Pack(pad{DX: 2}), {}}
			w.Step(ecs.TickInputs{Players: inputs})
			w.Image().Save(&state)
			if f > 10 {
				entries = append(entries, recording.Entry{Tick: f, Inputs: inputs, Checksum: state.Checksum()})
			}
			if f == 10 || f == 20 {
				images = append(images, travel.ImageOf(&state))
			}
		}
		header := recording.HeaderOf(game, 3, "v1")
		header.Start = 10
		clips[side] = travel.NewClip(header, images, entries)
		state.Release()
	}
	b := bundle.Bundle{Tick: 20, By: bundle.Client, Here: clips[0], There: clips[1]}
	file, err := b.Append(nil)
	if err != nil {
		panic(err)
	}

	opened, err := bundle.Open(file)
	if err != nil {
		panic(err)
	}
	x, err := opened.Examine(game, 10)
	if err != nil {
		panic(err)
	}
	for _, d := range x.Differences {
		fmt.Printf("tick %d: %s.%s of %s is %s here and %s there\n", x.Tick, d.Component, d.Field, d.Entity, d.Here, d.There)
	}
	fmt.Println("the rules lead", x.Played)
	// Output:
	// tick 20: body.X of w:1@0 is 41 here and 40 there
	// the rules lead there
}
