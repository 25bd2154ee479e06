package state

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// Sample is a replica in which an entity is as it was on the server in the replica's tick.
type Sample struct {
	Tick  ecs.Tick
	State *image.Snapshot // valid until the next Receive or Load
}

// Samples returns the two samples of e next to a moment in [f, f+1): the last up to tick f, and the first after it. State is
// nil where there is none. An entity equals the server's in ticks that updated it, and in ticks with a complete replica,
// since entities that were not sent have not changed. For an entity that has rested longer than replicas are held, the
// first sample is the oldest replica.
func (r *Receiver) Samples(e ecs.Entity, f ecs.Tick) (before, after Sample) {
	t := r.held.entities.at(e.Row)
	if t == nil || t.entity != e {
		return before, after
	}
	oldest := r.oldest()
	n := r.count - 1
	for ; n >= oldest && r.states[n%heldStates].state.Tick() > f; n-- {
		if s := &r.states[n%heldStates]; r.knows(t, s) {
			after = Sample{s.state.Tick(), &s.state}
		}
	}
	for ; n >= oldest; n-- {
		s := &r.states[n%heldStates]
		if r.knows(t, s) || n == oldest && t.before(s.state.Tick()) > 0 {
			before = Sample{s.state.Tick(), &s.state}
			break
		}
	}
	return before, after
}

// knows reports whether an entity is in a replica as it was on the server then.
func (r *Receiver) knows(t *track, s *replica) bool {
	n := t.before(s.state.Tick())
	return n > 0 && (s.complete || t.tick(n-1) == s.state.Tick())
}

// LastUpdate returns the last tick that brought e anew, 0 for none.
func (r *Receiver) LastUpdate(e ecs.Entity) ecs.Tick {
	if t := r.held.entities.at(e.Row); t != nil && t.entity == e && t.count > 0 {
		return t.tick(t.count - 1)
	}
	return 0
}

// Updates appends the ticks that brought e anew, the last of them at most, and returns the extended slice.
func (r *Receiver) Updates(dst []ecs.Tick, e ecs.Entity) []ecs.Tick {
	if t := r.held.entities.at(e.Row); t != nil && t.entity == e {
		for i := range t.count {
			dst = append(dst, t.tick(i))
		}
	}
	return dst
}
