package bundle_test

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/bundle"
)

// A client's copy of the match went wrong in tick 12. Its bundle is opened. It names the field that differs and the side to
// which the game's rules lead.
func Example() {
	var sides [2]*record.Record // here and there
	for side := range sides {
		w, err := ecs.NewWorld(game, 3)
		if err != nil {
			panic(err)
		}
		var images []record.Image
		var ticks []record.Tick
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
				ticks = append(ticks, record.Tick{Tick: f, Inputs: inputs, Checksum: state.Checksum()})
			}
			if f == 10 || f == 20 {
				images = append(images, record.ImageOf(&state))
			}
		}
		state.Release()
		if sides[side], err = record.Collect(game, record.HeaderOf(game, 3, "v1"), images, ticks); err != nil {
			panic(err)
		}
	}
	b := bundle.Bundle{Tick: 20, By: bundle.Client, Here: sides[0], There: sides[1]}
	file, err := b.Append(nil)
	if err != nil {
		panic(err)
	}

	opened, err := bundle.Open(file, game)
	if err != nil {
		panic(err)
	}
	x, err := opened.Examine(10)
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
