package vote

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// memberHistory stores the players in the match after each of the last frames. Each entry holds until the next one, and
// the oldest for the frames before it, too. It determines the votes on a match that ended a few seconds ago.
type memberHistory struct{ entries []memberEntry }

type memberEntry struct {
	since   ecs.Tick
	members image.PlayerSet
}

// memberEntries is the number of changes that are kept, however fast players join and leave.
const memberEntries = 256

// add takes the members after frame f, which is later than the last one.
func (h *memberHistory) add(f ecs.Tick, members image.PlayerSet) {
	n := len(h.entries)
	switch {
	case n > 0 && h.entries[n-1].members == members:
		return
	case n == memberEntries:
		h.entries = append(h.entries[:0], h.entries[1:]...)
	}
	h.entries = append(h.entries, memberEntry{f, members})
}

// at returns the members after frame f.
func (h *memberHistory) at(f ecs.Tick) image.PlayerSet {
	i := len(h.entries) - 1
	for i > 0 && h.entries[i].since > f {
		i--
	}
	return h.entries[i].members
}
