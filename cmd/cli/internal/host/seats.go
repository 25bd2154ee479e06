package host

import (
	"slices"

	"tendon/ecs"
	"tendon/net/room"
)

// seatHistory contains the holders of each seat of a room, by seat number, oldest first. When a match is decided, its
// players may have left and others may hold their seats.
type seatHistory [][]heldSeat

type heldSeat struct {
	since ecs.Tick // the last tick before the seat was taken
	room.Seat
}

// holdersKept is how many holders of one seat are kept.
const holdersKept = 16

// add records that a seat was taken after a tick. It ignores a seat that became free: its last holder was the player.
func (h *seatHistory) add(seat int, after ecs.Tick, s room.Seat) {
	if !s.Held {
		return
	}
	for len(*h) <= seat {
		*h = append(*h, nil)
	}
	list := (*h)[seat]
	if len(list) == holdersKept {
		list = slices.Delete(list, 0, 1)
	}
	(*h)[seat] = append(list, heldSeat{after, s})
}

// at returns the holder of a seat in a tick, or the last one before. A holder is in the match after the tick in which the
// seat was taken.
func (h seatHistory) at(seat int, f ecs.Tick) (s room.Seat) {
	if seat >= len(h) {
		return s
	}
	for i, held := range h[seat] {
		if i == 0 || held.since < f {
			s = held.Seat
		}
	}
	return s
}
