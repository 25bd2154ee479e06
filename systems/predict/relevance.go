package predict

import (
	"iter"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems/interest"
	"tendon/systems/internal/table"
	"tendon/systems/state"
)

// relevance computes the relevance sets of players where Config.Interest bounds them. A set has the player's own entities,
// the entities without a place, and those near the player's first entity with a place.
//
// The slots of places are the markers of sets, and peers are its watchers.
type relevance struct {
	changes *state.Changes
	sets    *interest.Sets
	radius  fixed.Num
	places  table.Table[place]
	listed  [][]int      // by owner: slots of players' entities, and of the world's without a place
	avatars []ecs.Entity // by player: the entity that stands for the player's place
	near    []int        // scratch: slots
}

// place is an entity and its list.
type place struct {
	entity   ecs.Entity
	priority float32 // of its components
	placed   bool    // it has a place
	list     int     // owner in listed, −1 for none
	at       int     // index in that list
}

func newRelevance(changes *state.Changes, c *Config, game *ecs.Game) (*relevance, error) {
	sets, err := interest.New(interest.Config{Radius: c.Interest, Rate: game.TickRate, PairList: c.PairList})
	return &relevance{changes: changes, sets: sets, radius: c.Interest, listed: make([][]int, game.MaxPlayers+1), avatars: make([]ecs.Entity, game.MaxPlayers)}, err
}

// update takes the next state and the places of the players in it.
func (r *relevance) update(state *image.Snapshot, changed *image.Changed, peers []peer) {
	for row := range changed.Rows {
		e := state.EntityAt(row)
		if slot, known := r.places.Slot(row); known && r.places.At(slot).entity != e {
			r.remove(slot)
		}
		if !e.IsZero() {
			r.put(e, state)
		}
	}
	for i := range peers {
		if p := &peers[i]; !p.Open || p.Seat < 0 {
			r.sets.Unwatch(i)
		} else if m, ok := state.Motion(r.avatar(p.Player(), state)); ok {
			r.sets.Watch(i, m.Pos)
		}
	}
	r.sets.Update()
}

func (r *relevance) put(e ecs.Entity, state *image.Snapshot) {
	slot, known := r.places.Slot(e.Row)
	if !known {
		slot = r.places.Add(e.Row)
		*r.places.At(slot) = place{entity: e, list: -1}
	}
	s := r.places.At(slot)
	s.priority = r.changes.Priority(e)
	m, placed := state.Motion(e)
	if placed {
		r.sets.Place(slot, m.Pos)
	} else if s.placed {
		r.sets.Remove(slot)
	}
	list := -1
	if _, owned := e.Owner().Player(); owned || !placed {
		list = int(e.Owner())
	}
	s.placed = placed
	if list != s.list {
		r.unlist(s)
		s.list = list
		if list >= 0 {
			s.at = len(r.listed[list])
			r.listed[list] = append(r.listed[list], slot)
		}
	}
}

func (r *relevance) remove(slot int) {
	s := r.places.At(slot)
	if s.placed {
		r.sets.Remove(slot)
	}
	r.unlist(s)
	r.places.Remove(slot)
}

// unlist removes a place from its list. The last of the list takes its index.
func (r *relevance) unlist(s *place) {
	if s.list < 0 {
		return
	}
	list := r.listed[s.list]
	last := list[len(list)-1]
	list[s.at], r.places.At(last).at = last, s.at
	r.listed[s.list] = list[:len(list)-1]
	s.list = -1
}

// avatar returns the entity that stands for a player's place: the player's first with a place, for as long as it exists.
func (r *relevance) avatar(p ecs.Player, state *image.Snapshot) ecs.Entity {
	e := &r.avatars[p]
	if image.ExistsAt(state, *e) {
		return *e
	}
	*e = ecs.Entity{}
	for _, slot := range r.listed[ecs.OwnedBy(p)] {
		if s := r.places.At(slot); s.placed && (e.IsZero() || s.entity.Row < e.Row) {
			*e = s.entity
		}
	}
	return *e
}

// of returns the relevance set of a player's peer. The priority of an entity is multiplied by 1 at the border and by 2 at
// the player's place. For an entity without a place it is multiplied by 2.
func (r *relevance) of(p *peer) iter.Seq2[ecs.Entity, float32] {
	watcher, own := int(p.ID), ecs.OwnedBy(p.Player())
	return func(yield func(ecs.Entity, float32) bool) {
		for owner := range r.listed {
			for _, slot := range r.listed[owner] {
				if s := r.places.At(slot); (image.Owner(owner) == own || !s.placed) && !yield(s.entity, 2*s.priority) {
					return
				}
			}
		}
		r.near = r.sets.AppendSet(r.near[:0], watcher)
		for _, slot := range r.near {
			s := r.places.At(slot)
			if s.entity.Owner() == own {
				continue
			}
			near := 1 - float32(r.sets.Distance(watcher, slot).Float()/r.radius.Float())
			if !yield(s.entity, s.priority*(1+max(near, 0))) {
				return
			}
		}
	}
}

// events returns the filter of the events that a player's peer receives: irreversible ones, those without an entity, and
// those of entities in the relevance set.
func (r *relevance) events(p *peer) func(*image.EmittedEvent) bool {
	watcher, own := int(p.ID), ecs.OwnedBy(p.Player())
	return func(event *image.EmittedEvent) bool {
		e := event.Key.Entity
		if event.Irreversible || e.IsZero() || e.Owner() == own {
			return true
		}
		slot, known := r.places.Slot(e.Row)
		if !known {
			return false
		}
		s := r.places.At(slot)
		return s.entity == e && (!s.placed || r.sets.Has(watcher, slot))
	}
}
