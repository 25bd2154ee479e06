package replaypage

import (
	"testing"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/bundle"
	"tendon/rollback/record/cursor"
)

// recorded returns ticks 1 to 20 of a match as a record that begins with an image of tick 1. In tick 15 the walkers are moved
// by hand, so that no build replays the last state.
func recorded(t *testing.T, g *ecs.Game, way int) *record.Record {
	t.Helper()
	w, err := ecs.NewWorld(g, 3)
	if err != nil {
		t.Fatal(err)
	}
	var images []record.Image
	var ticks []record.Tick
	for f := ecs.Tick(1); f <= 20; f++ {
		tick := record.Tick{Tick: f, Inputs: make([]ecs.InputBytes, g.MaxPlayers)}
		if f == 1 {
			tick.Orders = []image.Order{{Kind: image.OrderJoin, Player: 0}}
		}
		if f == 15 {
			for e := range crumbs.Walkers.All(w) {
				e.A.Pos.X += fixed.FromInt(way)
			}
		}
		w.Step(ecs.TickInputs{Players: tick.Inputs, Orders: tick.Orders})
		var s image.Snapshot
		w.Image().Save(&s)
		if tick.Checksum = s.Checksum(); f > 1 {
			ticks = append(ticks, tick)
		}
		if f == 1 || f == 20 {
			images = append(images, record.ImageOf(&s))
		}
		s.Release()
	}
	r, err := record.Collect(g, record.HeaderOf(g, 3, "test"), images, ticks)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The page of a bundle begins with the stored states of both sides, as the command line compares them. The states that this
// build computes from the ticks before are another match.
func TestThePageOfABundleBeginsWithTheStoredStates(t *testing.T) {
	g := crumbs.Game()
	b := &bundle.Bundle{Tick: 20, By: bundle.Client, Peer: "seat 0", Here: recorded(t, g, 100), There: recorded(t, g, 200)}
	x, err := b.Examine(8)
	if err != nil || len(x.Differences) == 0 {
		t.Fatalf("%v, %d differences", err, len(x.Differences))
	}
	sides, err := storedStates(b)
	if err != nil || len(sides) != 2 || sides[0].Also != replayed || sides[1].Also != "" {
		t.Fatalf("%v: %+v", err, sides)
	}
	var at [2]*cursor.Cursor
	for i, side := range sides {
		if at[i], err = cursor.New(side.Record, nil); err != nil {
			t.Fatal(err)
		}
		if at[i].First() != 20 || at[i].Last() != 20 {
			t.Errorf("%s has the ticks %d to %d, want only 20", side.Name, at[i].First(), at[i].Last())
		}
	}
	c, err := cursor.Compare(at[0], at[1], 8, nil)
	if err != nil || c.Divergence == nil || len(c.Divergence.Differences) != len(x.Differences) {
		t.Fatalf("%v: %+v", err, c)
	}
	for i, d := range c.Divergence.Differences {
		if d != x.Differences[i] {
			t.Errorf("the page shows %+v, the command line %+v", d, x.Differences[i])
		}
	}
	replay, err := cursor.New(b.Here, nil)
	if err != nil || replay.Seek(20) != nil || replay.State().Checksum() == at[0].State().Checksum() {
		t.Errorf("the replayed state is the stored one, so the test proves nothing: %v", err)
	}
	b.There = nil
	if sides, err = storedStates(b); err != nil || len(sides) != 1 {
		t.Errorf("without the other state: %v, %d sides", err, len(sides))
	}
}
