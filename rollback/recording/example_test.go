package recording_test

import (
	"bytes"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/recording"
)

type keys struct{ Right int8 }

type place struct{ X int32 }

var (
	input = ecs.NewInput[keys]()
	where = ecs.NewResource[place]("place")
)

func walk(w *ecs.World) { where.Write(w).X += int32(input.Of(w, 0).Right) }

func stroll() *ecs.Game {
	return &ecs.Game{Name: "stroll", TickRate: 60, MaxPlayers: 1, Input: input,
		Resources: ecs.Resources(where), Systems: ecs.Systems(walk)}
}

// A match is recorded tick by tick, played again, and looked at in the middle.
func Example() {
	var file bytes.Buffer
	writer, err := recording.NewWriter(&file, recording.HeaderOf(stroll(), 1, "v1.0"))
	if err != nil {
		panic(err)
	}
	world, err := ecs.NewWorld(stroll(), 1)
	if err != nil {
		panic(err)
	}
	inputs := []ecs.InputBytes{input.Pack(keys{Right: 2})}
	var state image.Snapshot
	for range 700 {
		world.Step(ecs.TickInputs{Players: inputs})
		world.Image().Save(&state)
		entry := recording.Entry{Tick: world.Tick(), Inputs: inputs, Checksum: state.Checksum()}
		if err := writer.Tick(entry); err != nil {
			panic(err)
		}
		if writer.ImageDue() {
			if err := writer.Image(&state); err != nil {
				panic(err)
			}
		}
	}
	writer.Close()

	match, err := recording.Open(file.Bytes())
	if err != nil {
		panic(err) // or say what was cut, if it is ErrTorn
	}
	result, err := recording.Verify(stroll(), match, match.Last())
	fmt.Println("verified to tick", result.To, err)
	then, err := match.WorldAt(stroll(), 650)
	if err != nil {
		panic(err)
	}
	fmt.Println("at", where.Read(then).X, "in tick", then.Tick())
	// Output:
	// verified to tick 700 <nil>
	// at 1300 in tick 650
}
