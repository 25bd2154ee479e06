package reckon

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/interest"
)

// watch lets peers hear from where their avatars are: of what is there, and what happened to it.
func (s *Server) watch() {
	for id := range s.peers {
		p, from := &s.peers[id], (*avatar)(nil)
		p.entered = p.entered[:0]
		for i := range s.avatars {
			if p.open && int(s.avatars[i].player) == p.seat {
				from = &s.avatars[i]
				break
			}
		}
		if p.placed = from != nil; p.placed {
			m, _ := s.world.Image().Motion(from.entity)
			p.at = m.Pos
		}
		switch {
		case s.sets == nil:
		case p.placed:
			s.sets.Watch(id, p.at)
			p.watching = true
		case p.watching:
			s.sets.Unwatch(id)
			p.watching = false
		}
	}
	if s.sets == nil {
		return
	}
	for _, e := range s.sets.Update() {
		if e.Kind == interest.Enter {
			p := &s.peers[e.Watcher]
			p.entered = append(p.entered, e.Marker)
		}
	}
	for id := range s.peers {
		if p := &s.peers[id]; p.open {
			p.events.Add(s.world)
		}
	}
}

// minds reports whether a peer is told of an event: of what cannot be taken back, what is about nobody, and what is about
// somebody that it hears of.
func (s *Server) minds(id int, e *image.EmittedEvent) bool {
	return e.Irreversible || e.Key.Entity.IsZero() || s.hears(id, e.Key.Entity)
}

// hears reports whether a peer is told of an entity: of what is near, what is its own, and what has no place; of
// everything while it has no avatar to hear from.
func (s *Server) hears(id int, e ecs.Entity) bool {
	p := &s.peers[id]
	if s.sets == nil || !p.watching || p.seat >= 0 && e.Owner() == ecs.OwnedBy(ecs.Player(p.seat)) {
		return true
	}
	slot, ok := s.herald.byRow[e.Row]
	return !ok || s.sets.Has(id, slot)
}

// nearness says how many times the priority of an entity counts for a peer that hears of it: once at the border, twice
// where it is and of what has no place.
func (s *Server) nearness(id int, e ecs.Entity) float32 {
	slot, ok := s.herald.byRow[e.Row]
	if !ok || !s.peers[id].watching {
		return 2
	}
	far := float32(s.sets.Distance(id, slot).Float() / s.limits.Interest.Float())
	return 2 - min(far, 1)
}
