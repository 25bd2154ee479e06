package reckon

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/interest"
)

// updateInterest moves the relevance set of each peer to its avatar, and selects the events that peers receive.
func (s *Server) updateInterest() {
	if s.Step.Adopted {
		return
	}
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

// followAvatar takes the place of a peer's first avatar.
func (s *Server) followAvatar(p *peer) {
	link, avatar := &p.Own, (*avatar)(nil)
	link.entered = link.entered[:0]
	for i := range s.avatars {
		if p.Open && int(s.avatars[i].player) == p.Seat {
			avatar = &s.avatars[i]
			break
		}
	}
	if link.placed = avatar != nil; link.placed {
		m, _ := s.World().Image().Motion(avatar.entity)
		link.at = m.Pos
	}
	switch {
	case s.sets == nil:
	case link.placed:
		s.sets.Watch(int(p.ID), link.at)
		link.watching = true
	case link.watching:
		s.sets.Unwatch(int(p.ID))
		link.watching = false
	}
}

// relevanceOf returns the relevance set of a peer, with the priorities of its entities.
func (s *Server) relevanceOf(p *peer) func(yield func(ecs.Entity, float32) bool) {
	if s.sets == nil {
		return s.Changes.All
	}
	visit := func(e ecs.Entity, priority float32) bool {
		return !s.relevant(p, e) || p.Own.yield(e, priority*s.nearness(p, e))
	}
	return func(yield func(ecs.Entity, float32) bool) {
		p.Own.yield = yield
		s.Changes.All(visit)
	}
}

// relevant reports whether an entity is relevant to a peer: if it is near, belongs to the peer's player, or has no place.
// Every entity is relevant to a peer without an avatar.
func (s *Server) relevant(p *peer, e ecs.Entity) bool {
	if s.sets == nil || !p.Own.watching || p.Seat >= 0 && e.Owner() == ecs.OwnedBy(p.Player()) {
		return true
	}
	slot, ok := s.motion.entities.Slot(e.Row)
	return !ok || s.sets.Has(int(p.ID), slot)
}

// nearness returns the factor of an entity's priority for a peer: 1 at the border, 2 at the peer's place and for an entity
// without a place.
func (s *Server) nearness(p *peer, e ecs.Entity) float32 {
	slot, ok := s.motion.entities.Slot(e.Row)
	if !ok || !p.Own.watching {
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
