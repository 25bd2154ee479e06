package room_test

import (
	"errors"
	"slices"
	"testing"

	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
)

// Sinks are called in the order of Config.Sinks. An error of one Commit skips the sinks after it and stops the match;
// the next Frame commits all of them again.
func TestSinksAreCalledInOrder(t *testing.T) {
	var calls []string
	var failure error
	sink := func(name string, commit func() error) room.Sink {
		return room.Sink{
			Tick:   func(systems.FinalTick) { calls = append(calls, "tick "+name) },
			Seat:   func(record.Seat) { calls = append(calls, "seat "+name) },
			Commit: func() error { calls = append(calls, "commit "+name); return commit() },
		}
	}
	g := newRig(t, func(c *room.Config) {
		c.Sinks = []room.Sink{{}, sink("a", func() error { return failure }), sink("b", func() error { return nil })}
	})
	check := func(want ...string) {
		t.Helper()
		if !slices.Equal(calls, want) {
			t.Errorf("%q, want %q", calls, want)
		}
		calls = nil
	}
	g.enter(player(1), nil)
	g.live()
	if i := slices.Index(calls, "seat a"); i < 0 || calls[i+1] != "seat b" {
		t.Errorf("%q: the seat was not reported to both sinks in order", calls)
	}
	calls = nil
	g.step()
	check("tick a", "tick b", "commit a", "commit b")
	failure = errors.New("the disk is full")
	g.steps(2)
	check("tick a", "tick b", "commit a", "commit a")
	failure = nil
	g.step()
	check("commit a", "commit b")
	if n := g.room.Stats().Unwritten; n != 2 {
		t.Errorf("%d failed commits were counted, want 2", n)
	}
}
