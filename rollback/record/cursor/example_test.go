package cursor_test

import (
	"bytes"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
)

// A recording is opened. The first player's place is printed for a tick and over time.
func Example() {
	var file bytes.Buffer // as serve --record writes it
	writer, err := record.NewWriter(&file, walk, record.HeaderOf(walk, 1, "v1"))
	if err != nil {
		panic(err)
	}
	world, _ := ecs.NewWorld(walk, 1)
	for f := ecs.Tick(1); f <= 40; f++ {
		e := record.Tick{Tick: f, Inputs: []ecs.InputBytes{pads.Pack(pad{DX: 2}), {}, {}}}
		if f == 1 {
			e.Orders = []image.Order{{Kind: image.OrderJoin, Player: 0}}
		}
		world.Step(ecs.TickInputs{Players: e.Inputs, Orders: e.Orders})
		var state image.Snapshot
		world.Image().Save(&state)
		e.Checksum = state.Checksum()
		state.Release()
		if err := writer.Tick(e); err != nil {
			panic(err)
		}
	}
	if err := writer.End(); err != nil {
		panic(err)
	}

	match, err := record.Open(file.Bytes(), walk)
	if err != nil {
		panic(err)
	}
	c, err := cursor.New(match, nil)
	if err != nil {
		panic(err)
	}
	if err := c.Seek(25); err != nil {
		panic(err)
	}
	for e := range c.State().Entities {
		shown, _ := c.Entity(e)
		fmt.Println(shown.ID, shown.Components[0].Name, shown.Components[0].Fields[0].Path, shown.Components[0].Fields[0].Text, "as recorded:", c.Frame().Match)
	}
	ref, _ := cursor.ParseEntity("p0:0")
	series, err := c.Series(cursor.SeriesConfig{Entity: ref, Field: "body.X", From: 10, To: 30, Every: 10})
	if err != nil {
		panic(err)
	}
	for _, p := range series.Points {
		fmt.Println(p.Tick, p.Text)
	}
	// Output:
	// p0:0@1 body X 12.5 as recorded: yes
	// 10 5
	// 20 10
	// 30 15
}
