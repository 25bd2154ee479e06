package record_test

import (
	"bytes"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

type keys struct{ Right int8 }

type place struct{ X int32 }

var (
	input  = ecs.NewInput[keys]()
	places = ecs.NewResource[place]("place")
)

func walk(w *ecs.World) { places.Write(w).X += int32(input.Of(w, 0).Right) }

func stroll() *ecs.Game {
	return &ecs.Game{Name: "stroll", TickRate: 60, MaxPlayers: 1, Input: input,
		Resources: ecs.Resources(places), Systems: ecs.Systems(walk)}
}

// A match is recorded tick by tick, verified, and looked at in the middle.
func Example() {
	var file bytes.Buffer
	w, err := record.NewWriter(&file, stroll(), record.HeaderOf(stroll(), 1, "v1.0"))
	if err != nil {
		panic(err)
	}
	world, err := ecs.NewWorld(stroll(), 1)
	if err != nil {
		panic(err)
	}
	inputs := []ecs.InputBytes{input.Pack(keys{Right: 2})}
	var state image.Snapshot
	for err == nil && world.Tick() < 700 {
		world.Step(ecs.TickInputs{Players: inputs})
		world.Image().Save(&state)
		err = w.Tick(record.Tick{Tick: world.Tick(), Inputs: inputs, Checksum: state.Checksum()})
		if err == nil && w.ImageDue(record.RecordingImages) {
			err = w.Image(&state)
		}
	}
	if err == nil {
		err = w.End()
	}
	if err != nil {
		panic(err)
	}

	match, err := record.Open(file.Bytes(), stroll())
	if err != nil {
		panic(err)
	}
	result, err := match.Verify(match.Last().Tick)
	fmt.Println("verified to tick", result.To, err)
	then, err := match.WorldAt(650)
	if err != nil {
		panic(err)
	}
	fmt.Println("at", places.Read(then).X, "in tick", then.Tick())
	// Output:
	// verified to tick 700 <nil>
	// at 1300 in tick 650
}

// A server writes its match as a journal, is killed while it writes, and continues after the last whole block.
func Example_journal() {
	var file bytes.Buffer
	h := record.HeaderOf(stroll(), 1, "build 7")
	h.Room = "park"
	w, err := record.NewWriter(&file, stroll(), h)
	inputs := []ecs.InputBytes{input.Pack(keys{Right: 2})}
	for f := ecs.Tick(1); f <= 100 && err == nil; f++ {
		if err = w.Tick(record.Tick{Tick: f, Inputs: inputs}); err == nil {
			err = w.Flush() // now, not before, f may be confirmed to clients
		}
	}
	if err != nil {
		panic(err)
	}

	r, err := record.Open(file.Bytes()[:file.Len()-3], stroll())
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Torn())
	world, err := r.WorldAt(r.Last().Tick)
	if err != nil {
		panic(err)
	}
	fmt.Println("room", r.Header().Room, "in tick", world.Tick(), "at", places.Read(world).X)

	rest := bytes.NewBuffer(r.Bytes()) // a file is truncated to this length
	w = r.Resume(rest)
	if err := w.Tick(record.Tick{Tick: 100, Inputs: inputs}); err != nil {
		panic(err)
	}
	fmt.Println(w.Flush(), w.Last())
	// Output:
	// record: the end was cut off while it was written: a block is not complete at byte 1158; the last 7 bytes are left out, ticks to 99 are whole
	// room park in tick 99 at 198
	// <nil> 100
}
