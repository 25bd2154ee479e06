package journal_test

import (
	"bytes"
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/rollback/journal"
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

// A server writes its match, dies while it writes, and goes on where it was.
func Example() {
	var file bytes.Buffer
	header := journal.HeaderOf(stroll(), 1, "build 7")
	header.Room = "park"
	w, err := journal.NewWriter(&file, stroll(), header)
	if err != nil {
		panic(err)
	}
	inputs := []ecs.InputBytes{input.Pack(keys{Right: 2})}
	for f := ecs.Tick(1); f <= 100; f++ {
		if err := w.Tick(journal.Tick{Tick: f, Inputs: inputs}); err != nil {
			panic(err)
		}
		if err := w.Flush(); err != nil { // now, not before, f may be confirmed
			panic(err)
		}
	}

	data := file.Bytes()[:file.Len()-3]
	j, err := journal.Open(data, stroll(), "build 7")
	if err != nil {
		panic(err)
	}
	fmt.Println(j.Torn())
	world, err := j.World()
	if err != nil {
		panic(err)
	}
	fmt.Println("room", j.Header().Room, "in tick", world.Tick(), "at", where.Read(world).X)

	rest := bytes.NewBuffer(data[:j.Valid()]) // a file is truncated to Valid
	w = j.Resume(rest)
	if err := w.Tick(journal.Tick{Tick: 100, Inputs: inputs}); err != nil {
		panic(err)
	}
	fmt.Println(w.Flush(), w.Last())

	_, err = journal.Open(rest.Bytes(), stroll(), "build 8")
	fmt.Println(errors.Is(err, journal.ErrOtherBuild))
	// Output:
	// journal: the end was cut off while it was written: a block is not complete at byte 1070; the last 7 bytes are left out, ticks to 99 are whole
	// room park in tick 99 at 198
	// <nil> 100
	// true
}
