package lagcomp

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/space"
)

// nowhere are the bounds of no place, and anywhere those of every place.
var (
	nowhere  = space.Bounds{Min: fixed.Vec2{X: fixed.Max, Y: fixed.Max}, Max: fixed.Vec2{X: fixed.Min, Y: fixed.Min}}
	anywhere = space.Bounds{Min: nowhere.Max, Max: nowhere.Min}
)

// trail holds the boxes of an entity's places before and since the sweep's last turn.
type trail struct {
	entity        ecs.Entity
	before, since space.Bounds
}

// touches compares the box of both, since an entity that moved from one to the other was between them, too.
func (t *trail) touches(o space.Bounds) bool { return t.before.With(t.since).Touches(o) }

// index holds the boxes of a world for a Sweep. They hold every place of the ticks [from, last]. Places of ticks before turn
// are in trail.before, the others in trail.since. When since holds a window of ticks it becomes before. So the boxes always
// hold one to two windows, and a tick costs one row for each entity. The index is warm once it has followed a tick.
type index[T any] struct {
	trails           []trail // ascending by row
	next             []trail // scratch
	warm             bool
	from, turn, last ecs.Tick
	row              T // scratch, since roles take pointers
	cost             Cost
}

// forget drops the boxes. They are built again from the past when they are used.
func (x *index[T]) forget() { x.trails, x.warm = x.trails[:0], false }

func (s *Sweep[T]) follow(x *index[T], w *ecs.World) {
	last := w.Tick() - 1
	if x.warm && x.last == last {
		return
	}
	first := x.last + 1
	if !x.warm || last < first || last-first >= s.window {
		x.forget()
		first = last + 1 - min(s.window, last+1)
		x.from, x.turn = first, first
	}
	s.align(x, w)
	for f := first; f <= last; f++ {
		s.extend(x, w, f)
	}
	x.warm, x.last = true, last
}

// align makes the trails those of the entities that are there now.
func (s *Sweep[T]) align(x *index[T], w *ecs.World) {
	x.next = x.next[:0]
	next := 0
	for row := range s.query.All(w) {
		e := row.Entity()
		if t := x.trailOf(e, &next); t != nil {
			x.next = append(x.next, *t)
			continue
		}
		t := trail{e, nowhere, nowhere}
		if x.warm && e.Born <= x.last {
			t.since = anywhere // it did not have the component at all times
		}
		x.next = append(x.next, t)
	}
	x.trails, x.next = x.next, x.trails
}

// trailOf returns e's trail, nil if it has none. Entities are searched in ascending order, from next on.
func (x *index[T]) trailOf(e ecs.Entity, next *int) *trail {
	for *next < len(x.trails) && x.trails[*next].entity.Row < e.Row {
		*next++
	}
	if *next < len(x.trails) && x.trails[*next].entity == e {
		return &x.trails[*next]
	}
	return nil
}

// extend adds the state of tick f to the boxes. If the state is not held, they begin after it.
func (s *Sweep[T]) extend(x *index[T], w *ecs.World, f ecs.Tick) {
	past, ok := w.Image().Past(f)
	if !ok {
		x.from, x.turn = f+1, f+1
		return
	}
	turns := f-x.turn >= s.window
	if turns {
		x.from, x.turn = x.turn, f
	}
	for i := range x.trails {
		t := &x.trails[i]
		if turns {
			t.before, t.since = t.since, nowhere
		}
		if value, ok := s.component.ReadAt(past, t.entity); ok {
			t.since = t.since.With(s.place(x, value))
		}
	}
	x.cost.Swept += uint64(len(x.trails))
}
