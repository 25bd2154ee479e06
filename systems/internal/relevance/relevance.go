// Package relevance computes the entities that a server replicates to each peer: the player's own entities, entities without a
// position, and entities near the player.
package relevance

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems/interest"
	"tendon/systems/internal/table"
	"tendon/systems/state"
)

// Sets holds the relevance set of each peer. After each tick, call Observe, then Watch or Unwatch for each peer, then Update.
//
// In package interest, each peer is a watcher and each entity with a position is a marker. A removed entity keeps its slot
// until the next Observe, so that its last events follow its relevance.
type Sets struct {
	*interest.Sets
	radius    fixed.Num
	ownFactor float32
	changes   *state.Changes
	placed    table.Table[ecs.Entity]
	unplaced  table.Table[ecs.Entity]
	own       []table.Table[int] // by player: slots in placed
	removed   []int              // slots in placed
	near      []int              // scratch: slots in placed
}

// New returns empty sets for a game. Priorities are those of changes. ownFactor is the factor of the priority of a player's own
// entities; 0 means that it depends on their distance.
func New(c interest.Config, ownFactor float32, changes *state.Changes, game *ecs.Game) (*Sets, error) {
	near, err := interest.New(c)
	return &Sets{Sets: near, radius: c.Radius, ownFactor: ownFactor, changes: changes, own: make([]table.Table[int], game.MaxPlayers)}, err
}

// Observe updates the sets from the state of a tick. changed lists the rows that differ from the tick before.
func (s *Sets) Observe(now *image.Snapshot, changed *image.Changed) {
	for _, slot := range s.removed {
		s.Remove(slot)
		s.placed.Remove(slot)
	}
	s.removed = s.removed[:0]
	changed.Motions(now, s.observe)
}

// observe updates the sets from a row that has changed.
func (s *Sets) observe(row uint32, e ecs.Entity, m image.Motion, placed bool) {
	slot, known := s.placed.Slot(row)
	if known && placed && *s.placed.At(slot) == e { // most entities only move
		s.Place(slot, m.Pos)
		return
	}
	if known {
		s.removed = append(s.removed, slot)
	}
	if placed {
		slot = s.placed.Add(row)
		*s.placed.At(slot) = e
		s.Place(slot, m.Pos)
	}
	put(&s.unplaced, row, e, !placed && !e.IsZero())
	if p, owned := (ecs.Entity{Row: row}).Owner().Player(); owned {
		put(&s.own[p], row, slot, placed)
	}
}

// put sets the record of a row, or removes it if there is none.
func put[T any](t *table.Table[T], row uint32, record T, exists bool) {
	if slot, known := t.Slot(row); known {
		t.Remove(slot)
	}
	if exists {
		*t.At(t.Add(row)) = record
	}
}

// Entity returns the entity of a marker.
func (s *Sets) Entity(marker int) ecs.Entity { return *s.placed.At(marker) }

// First returns a player's entity with a place in the lowest row, the zero Entity if there is none.
func (s *Sets) First(p ecs.Player) (first ecs.Entity) {
	for _, slot := range s.own[p].All {
		if e := s.Entity(*slot); first.IsZero() || e.Row < first.Row {
			first = e
		}
	}
	return first
}

// Relevant reports whether an entity is relevant to a player's peer. An entity without a position, or one that does not
// exist, is relevant to every peer. An entity that the last tick removed keeps its relevance.
func (s *Sets) Relevant(peer int, p ecs.Player, e ecs.Entity) bool {
	slot, placed := s.placed.Slot(e.Row)
	return !placed || e.Owner() == ecs.OwnedBy(p) || s.Has(peer, slot)
}

// Each calls yield for each entity relevant to a player's peer, with its priority, until yield returns false. The factor of
// the priority falls from 2 at the player's position to 1 at the radius. It is ownFactor for the player's own entities, if
// not 0. It is 2 for an entity without a position.
func (s *Sets) Each(peer int, p ecs.Player, yield func(ecs.Entity, float32) bool) {
	for _, e := range s.unplaced.All {
		if !yield(*e, 2*s.changes.Priority(*e)) {
			return
		}
	}
	for _, slot := range s.own[p].All {
		if !s.yield(peer, *slot, s.Entity(*slot), s.ownFactor, yield) {
			return
		}
	}
	s.near = s.AppendSet(s.near[:0], peer)
	for _, slot := range s.near {
		if e := s.Entity(slot); e.Owner() != ecs.OwnedBy(p) && !s.yield(peer, slot, e, 0, yield) {
			return
		}
	}
}

// yield calls yield for an entity in a slot. Factor 0 stands for that of its distance.
func (s *Sets) yield(peer, slot int, e ecs.Entity, factor float32, yield func(ecs.Entity, float32) bool) bool {
	if factor == 0 {
		factor = 2 - min(float32(s.Distance(peer, slot).Float()/s.radius.Float()), 1)
	}
	return yield(e, factor*s.changes.Priority(e))
}
