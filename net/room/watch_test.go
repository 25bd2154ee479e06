package room_test

import (
	"context"
	"errors"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
	"tendon/systems"
)

// Another goroutine receives the last seconds of a running match, with every tick as the room computed it.
func TestAWatchGivesAnotherGoroutineTheLastSeconds(t *testing.T) {
	var watch *room.Watch
	sums := map[ecs.Tick]image.Checksum{}
	g := newRig(t, func(c *room.Config) {
		var err error
		if watch, err = room.NewWatch(c, "test", 3); err != nil {
			t.Fatal(err)
		}
		c.Sinks = []room.Sink{watch.Sink(), {NeedState: true, Tick: func(f systems.FinalTick) { sums[f.Tick] = f.State.Checksum() }}}
	})
	g.enter(room.Identity{}, nil)
	g.enter(room.Identity{}, nil)
	g.live()
	g.steps(400)
	type answer struct {
		clip *record.Record
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		clip, err := watch.Record(context.Background())
		answers <- answer{clip, err}
	}()
	var got answer
	for asked := false; !asked; {
		g.step()
		select {
		case got = <-answers:
			asked = true
		default:
		}
	}
	if got.err != nil {
		t.Fatal(got.err)
	}
	tr, err := cursor.New(got.clip, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := tr.Last() - tr.First(); n < 2*60 || n > 3*60 {
		t.Errorf("%d ticks of the last 180 are in the clip", n)
	}
	moved := map[image.Checksum]bool{}
	for f := tr.First(); f <= tr.Last(); f++ {
		if err := tr.Seek(f); err != nil {
			t.Fatal(err)
		}
		if got := tr.State().Checksum(); got != sums[f] || f > tr.First() && tr.Frame().Match != cursor.Matches {
			t.Fatalf("tick %d is not what the room computed", f)
		}
		moved[sums[f]] = true
	}
	if len(moved) < 100 {
		t.Errorf("only %d different states: the test shows nothing", len(moved))
	}
}

// A request to a room that computes no ticks ends with its context.
func TestAClipOfARoomThatStandsStillEndsWithItsContext(t *testing.T) {
	g := newRig(t, nil)
	watch, err := room.NewWatch(&room.Config{Game: g.game}, "test", 3)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 10 { // more than may wait at once
		if _, err := watch.Record(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if _, err := room.NewWatch(&room.Config{Game: g.game}, "test", 0); !errors.Is(err, record.ErrUse) {
		t.Error(err)
	}
}
