package host

import (
	"fmt"
	"testing"

	"tendon/ecs"
	"tendon/rollback/record"
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
