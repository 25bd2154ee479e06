package reckon

import (
	"iter"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/interest"
)

// updateInterest moves the relevance set of each peer to its first avatar, and selects the events that peers receive.
func (s *Server) updateInterest() {
	for i := range s.Peers {
		s.followAvatar(&s.Peers[i])
	}
	if s.sets == nil {
		return
	}
	for _, e := range s.sets.Update() {
		if e.Kind == interest.Enter {
			link := &s.Peers[e.Watcher].Own
			link.entered = append(link.entered, e.Marker)
		}
	}
	s.FilterEvents()
}

// followAvatar takes the position of a peer's first avatar.
func (s *Server) followAvatar(p *peer) {
	link := &p.Own
	link.entered, link.placed = link.entered[:0], false
	for i := range s.avatars {
		if p.Open && int(s.avatars[i].player) == p.Seat {
			m, _ := s.World().Image().Motion(s.avatars[i].entity)
			link.at, link.placed = m.Pos, true
			break
		}
	}
	switch {
	case s.sets == nil:
	case link.placed:
		s.sets.Watch(int(p.ID), link.at)
	default:
		s.sets.Unwatch(int(p.ID))
	}
}

// relevanceOf returns the relevance set of a peer, with the priorities of its entities.
func (s *Server) relevanceOf(p *peer) iter.Seq2[ecs.Entity, float32] {
	if s.sets == nil {
		return s.Changes.All
	}
	return func(yield func(ecs.Entity, float32) bool) {
		for e, priority := range s.Changes.All {
			if s.relevant(p, e) && !yield(e, priority*s.nearness(p, e)) {
				return
			}
		}
	}
}

// relevant reports whether an entity is relevant to a peer: if it is near, belongs to the peer's player, or has no position.
// Every entity is relevant to a peer without an avatar.
func (s *Server) relevant(p *peer, e ecs.Entity) bool {
	if s.sets == nil || !p.Own.placed || p.Seat >= 0 && e.Owner() == ecs.OwnedBy(p.Player()) {
		return true
	}
	slot, ok := s.motion.entities.Slot(e.Row)
	return !ok || s.sets.Has(int(p.ID), slot)
}

// nearness returns the factor of an entity's priority for a peer: 1 at the border, 2 at the peer's avatar and for an entity
// without a position.
func (s *Server) nearness(p *peer, e ecs.Entity) float32 {
	slot, ok := s.motion.entities.Slot(e.Row)
	if !ok || !p.Own.placed {
		return 2
	}
	far := float32(s.sets.Distance(int(p.ID), slot).Float() / s.settings.Interest.Float())
	return 2 - min(far, 1)
}

// eventFilter returns the filter of the events that a peer receives, nil for all: irreversible ones, those without an
// entity, and those of relevant entities.
func (s *Server) eventFilter(p *peer) func(*image.EmittedEvent) bool {
	if s.sets == nil {
		return nil
	}
	return func(e *image.EmittedEvent) bool {
		return e.Irreversible || e.Key.Entity.IsZero() || s.relevant(p, e.Key.Entity)
	}
}
