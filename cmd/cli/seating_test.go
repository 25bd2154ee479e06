package cli

import (
	"fmt"
	"testing"

	"tendon/ecs"
	"tendon/net/room"
)

// A result names who played, though they have left and others sit in their places; and a room in which people come and
// go for days remembers no more than it needs.
func TestTheSeatingNamesWhoPlayedThen(t *testing.T) {
	var s seating
	held := func(name string) room.Seat { return room.Seat{Held: true, Name: name} }
	s.take(1, 10, held("ann"))
	s.take(1, 200, room.Seat{}) // she left
	s.take(1, 300, held("bob"))
	for f, want := range map[int]string{5: "ann", 11: "ann", 250: "ann", 300: "ann", 301: "bob", 9000: "bob"} {
		if got := s.at(1, ecs.Tick(f)); got.Name != want || !got.Held {
			t.Errorf("in tick %d: %+v, want %s", f, got, want)
		}
	}
	if s.at(0, 50) != (room.Seat{}) || s.at(7, 50) != (room.Seat{}) {
		t.Error("somebody sits where nobody ever did")
	}
	for i := range 100 {
		s.take(1, ecs.Tick(1000+i), held(fmt.Sprint(i)))
	}
	if got := s.at(1, 1090).Name; got != "89" || len(s[1]) > sittingsKept {
		t.Errorf("%q, %d are remembered", got, len(s[1]))
	}
}
