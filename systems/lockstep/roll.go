package lockstep

import "tendon/ecs"

// roll is who was in the match after each of the last frames: each entry holds until the next one, and the oldest for
// what was before it, too. It is asked who had a vote when a match ended, which comes a few seconds later.
type roll struct{ entries []rollEntry }

type rollEntry struct {
	since   ecs.Tick
	members ecs.PlayerSet
}

// rollKept is how many changes are remembered, however fast players come and go.
const rollKept = 256

// note takes who is in the match after frame f, which is later than the last one.
func (r *roll) note(f ecs.Tick, members ecs.PlayerSet) {
	n := len(r.entries)
	switch {
	case n > 0 && r.entries[n-1].members == members:
		return
	case n == rollKept:
		r.entries = append(r.entries[:0], r.entries[1:]...)
	}
	r.entries = append(r.entries, rollEntry{f, members})
}

// at returns who was in the match after frame f.
func (r *roll) at(f ecs.Tick) ecs.PlayerSet {
	i := len(r.entries) - 1
	for i > 0 && r.entries[i].since > f {
		i--
	}
	return r.entries[i].members
}
