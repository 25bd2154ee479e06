package state

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// Sample is a replica in which an entity equals the server's.
type Sample struct {
	Tick  ecs.Tick
	State *image.Snapshot // valid until the next Receive or Load
}

// Samples returns the two samples of e around a time in [f, f+1): the last one up to tick f and the first one after it.
// State is nil where there is none. An entity equals the server's in the ticks that updated it, and in those in which the
// replica was complete. For an entity that has rested for longer than replicas are stored, the first sample is the oldest
// replica.
func (r *Receiver) Samples(e ecs.Entity, f ecs.Tick) (before, after Sample) {
	h := r.store.entities.of(e)
	if h == nil {
		return before, after
	}
	n, oldest := r.count, r.oldest()
	for ; n > oldest; n-- {
		s := r.replica(n - 1)
		if s.state.Tick() <= f {
			break
		}
		if s.isExact(h) {
			after = Sample{s.state.Tick(), &s.state}
		}
	}
	for ; n > oldest; n-- {
		s := r.replica(n - 1)
		if s.isExact(h) || n-1 == oldest && h.before(s.state.Tick()) > 0 {
			before = Sample{s.state.Tick(), &s.state}
			break
		}
	}
	return before, after
}

// isExact reports whether an entity with this history equals the server's in the replica.
func (s *replica) isExact(h *history) bool {
	n := h.before(s.state.Tick())
	return n > 0 && (s.complete || h.tick(n-1) == s.state.Tick())
}

// LastUpdate returns the last tick that updated e, 0 for none.
func (r *Receiver) LastUpdate(e ecs.Entity) ecs.Tick {
	if h := r.store.entities.of(e); h != nil {
		return h.tick(h.count - 1)
	}
	return 0
}

// Updates appends the ticks that updated e, as far as they are stored, and returns the extended slice.
func (r *Receiver) Updates(dst []ecs.Tick, e ecs.Entity) []ecs.Tick {
	if h := r.store.entities.of(e); h != nil {
		for i := range h.count {
			dst = append(dst, h.tick(i))
		}
	}
	return dst
}
