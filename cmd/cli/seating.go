package cli

import (
	"tendon/ecs"
	"tendon/net/room"
)

// seating is who held each seat of a room, since which tick, index = seat, oldest first: a result is told when its
// players may be gone, and others in their places.
type seating [][]sitting

type sitting struct {
	since ecs.Tick // the last tick before it
	room.Seat
}

// sittingsKept is how many holders of one seat are remembered.
const sittingsKept = 16

// take notes that a seat was taken after a tick. That it became free changes nothing: its holder was who left.
func (s *seating) take(seat int, after ecs.Tick, who room.Seat) {
	if !who.Held {
		return
	}
	for len(*s) <= seat {
		*s = append(*s, nil)
	}
	list := (*s)[seat]
	if len(list) == sittingsKept {
		list = append(list[:0], list[1:]...)
	}
	(*s)[seat] = append(list, sitting{after, who})
}

// at returns who held a seat in a tick, or had held it last: who takes a seat is in the match in a later tick at the
// earliest.
func (s seating) at(seat int, f ecs.Tick) (who room.Seat) {
	if seat >= len(s) {
		return who
	}
	for i, held := range s[seat] {
		if i == 0 || held.since < f {
			who = held.Seat
		}
	}
	return who
}
