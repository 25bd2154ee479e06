package predict

import (
	"iter"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems/interest"
	"tendon/systems/state"
)

// audience says who hears of what, where that is bounded by a radius around the player: of his own entities, of those
// that are nowhere, and of those near his first one. It follows the server's final states, tick by tick.
//
// Every entity has a slot; those that are somewhere are markers of that number, and peers are watchers.
type audience struct {
	changes *state.Changes // they have observed what is followed
	sets    *interest.Sets
	radius  fixed.Num
	slots   []place
	free    []int32
	byRow   map[uint32]int32
	listed  [image.MaxPlayers + 1][]int32 // by owner: slots of players' entities; the world's: of what is nowhere
	avatars [image.MaxPlayers]ecs.Entity  // by whom each player is somewhere
	changed image.Changed
	last    *image.Snapshot // the state that was followed last; kept by the server's ring
	near    []int           // scratch: slots
}

// place is an entity and where it is listed.
type place struct {
	entity   ecs.Entity
	priority float32 // of its components
	where    bool    // it is somewhere
	list     int16   // of listed, −1: none
	at       int32   // in that
}

func newAudience(changes *state.Changes, radius fixed.Num, rate int) (*audience, error) {
	sets, err := interest.New(interest.Config{Radius: radius, Rate: rate})
	return &audience{changes: changes, sets: sets, radius: radius, byRow: map[uint32]int32{}, last: &image.Snapshot{}}, err
}

// follow takes in the next final state.
func (a *audience) follow(state *image.Snapshot, peers []peer) {
	a.changed.Find(a.last, state)
	for row := range a.changed.Rows {
		e := state.EntityAt(row)
		if i, known := a.byRow[row]; known && a.slots[i].entity != e {
			a.drop(i)
		}
		if !e.IsZero() {
			a.put(e, state)
		}
	}
	a.last = state
	for id := range peers {
		if p := &peers[id]; !p.open || p.seat < 0 {
			a.sets.Unwatch(id)
		} else if m, ok := state.Motion(a.avatar(p.seat, state)); ok {
			a.sets.Watch(id, m.Pos)
		}
	}
	a.sets.Update()
}

// put enters where an entity is now.
func (a *audience) put(e ecs.Entity, state *image.Snapshot) {
	i, known := a.byRow[e.Row]
	if !known {
		i = a.take(e)
	}
	s := &a.slots[i]
	s.priority = a.changes.Priority(e)
	m, where := state.Motion(e)
	if where {
		a.sets.Place(int(i), m.Pos)
	} else if s.where {
		a.sets.Remove(int(i))
	}
	list := int16(-1)
	if _, owned := e.Owner().Player(); owned || !where {
		list = int16(e.Owner())
	}
	if s.where = where; list != s.list {
		a.unlist(i)
		if s.list = list; list >= 0 {
			s.at = int32(len(a.listed[list]))
			a.listed[list] = append(a.listed[list], i)
		}
	}
}

// take gives an entity a slot.
func (a *audience) take(e ecs.Entity) (i int32) {
	if n := len(a.free); n > 0 {
		i, a.free = a.free[n-1], a.free[:n-1]
	} else {
		i = int32(len(a.slots))
		a.slots = append(a.slots, place{})
	}
	a.slots[i] = place{entity: e, list: -1}
	a.byRow[e.Row] = i
	return i
}

// drop forgets an entity that is gone.
func (a *audience) drop(i int32) {
	s := &a.slots[i]
	if s.where {
		a.sets.Remove(int(i))
	}
	a.unlist(i)
	delete(a.byRow, s.entity.Row)
	*s = place{list: -1}
	a.free = append(a.free, i)
}

// unlist takes a slot out of its list; the last takes its place.
func (a *audience) unlist(i int32) {
	s := &a.slots[i]
	if s.list < 0 {
		return
	}
	list := a.listed[s.list]
	last := list[len(list)-1]
	list[s.at], a.slots[last].at = last, s.at
	a.listed[s.list] = list[:len(list)-1]
	s.list = -1
}

// avatar returns the entity at which a player is: the first of his that is somewhere, for as long as it is there.
func (a *audience) avatar(seat int, state *image.Snapshot) ecs.Entity {
	e := &a.avatars[seat]
	if image.ExistsAt(state, *e) {
		return *e
	}
	*e = ecs.Entity{}
	for _, i := range a.listed[ecs.OwnedBy(ecs.Player(seat))] {
		if s := &a.slots[i]; s.where && (e.IsZero() || s.entity.Row < e.Row) {
			*e = s.entity
		}
	}
	return *e
}

// of returns what a player's peer hears of. The priorities of entities count once at the border, and twice where he is and
// of what is nowhere.
func (a *audience) of(peer, seat int) iter.Seq2[ecs.Entity, float32] {
	own := ecs.OwnedBy(ecs.Player(seat))
	return func(yield func(ecs.Entity, float32) bool) {
		for o := range a.listed {
			for _, i := range a.listed[o] {
				if s := &a.slots[i]; (ecs.Owner(o) == own || !s.where) && !yield(s.entity, 2*s.priority) {
					return
				}
			}
		}
		a.near = a.sets.AppendSet(a.near[:0], peer)
		for _, i := range a.near {
			s := &a.slots[i]
			if s.entity.Owner() == own {
				continue
			}
			near := 1 - float32(a.sets.Distance(peer, i).Float()/a.radius.Float())
			if !yield(s.entity, s.priority*(1+max(near, 0))) {
				return
			}
		}
	}
}

// minds returns which events a player's peer hears of: what cannot be taken back, what is about nobody, and what is about
// somebody that it hears of.
func (a *audience) minds(peer, seat int) func(*image.EmittedEvent) bool {
	own := ecs.OwnedBy(ecs.Player(seat))
	return func(e *image.EmittedEvent) bool {
		about := e.Key.Entity
		if e.Irreversible || about.IsZero() || about.Owner() == own {
			return true
		}
		i, known := a.byRow[about.Row]
		return known && a.slots[i].entity == about && (!a.slots[i].where || a.sets.Has(peer, int(i)))
	}
}
