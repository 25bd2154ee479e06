package host

import (
	"fmt"
	"slices"
	"testing"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/matches"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
)

// The history returns the holder of a seat in any recent tick, and keeps a bounded number of holders.
func TestTheSeatHistoryReturnsTheHolderInATick(t *testing.T) {
	var s seatHistory
	held := func(name string) record.Seat { return record.Seat{Player: 1, Held: true, Name: name} }
	s.add(10, held("ann"))
	s.add(200, record.Seat{Player: 1}) // ann left
	s.add(300, held("bob"))
	for f, want := range map[int]string{5: "ann", 11: "ann", 250: "ann", 300: "ann", 301: "bob", 9000: "bob"} {
		if got := s.at(1, ecs.Tick(f)); got.Name != want || !got.Held {
			t.Errorf("in tick %d: %+v, want %s", f, got, want)
		}
	}
	if s.at(0, 50) != (record.Seat{}) || s.at(7, 50) != (record.Seat{}) {
		t.Error("a seat that was never taken has a holder")
	}
	for i := range 100 {
		s.add(ecs.Tick(1000+i), held(fmt.Sprint(i)))
	}
	if got := s.at(1, 1090).Name; got != "89" || len(s[1]) > holdersKept {
		t.Errorf("%q, %d are kept", got, len(s[1]))
	}
}

// A match has the strategies of its ticks: the one with which it began, and those to which an operator switched.
func TestARecordHasTheStrategiesOfItsMatch(t *testing.T) {
	var h strategyHistory
	change := func(f ecs.Tick, name string) {
		h.add(f, []image.Order{{Kind: image.OrderJoin}, {Kind: image.OrderSwitch, Payload: image.AppendSwitch(nil, name, nil)}})
	}
	change(100, "lockstep")
	change(150, "predict")
	change(300, "relay")
	for _, c := range []struct {
		began, last ecs.Tick
		want        []string
	}{{0, 100, []string{"relay"}}, {0, 101, []string{"relay", "lockstep"}}, {100, 300, []string{"lockstep", "predict"}}, {120, 310, []string{"lockstep", "predict", "relay"}}, {300, 400, []string{"relay"}}} {
		if got := h.in("relay", c.began, c.last); !slices.Equal(got, c.want) {
			t.Errorf("from %d to %d: %q, want %q", c.began, c.last, got, c.want)
		}
	}
}

// The first decision after a restart has the strategies of the ticks before it.
func TestAResumedMatchHasTheStrategiesOfItsPast(t *testing.T) {
	world, err := ecs.NewWorld(crumbs.Game(), 1)
	if err != nil {
		t.Fatal(err)
	}
	d := decisions{record: matches.Record{Strategy: "relay"}}
	d.sink(&room.Resume{World: world, Past: func(yield func(systems.FinalTick) bool) {
		f := systems.FinalTick{}
		f.Tick, f.Orders = 50, []image.Order{{Kind: image.OrderSwitch, Payload: image.AppendSwitch(nil, "verify", nil)}}
		yield(f)
	}})
	if got := d.played.in("relay", 0, 60); !slices.Equal(got, []string{"relay", "verify"}) {
		t.Errorf("%q", got)
	}
}
