package lagcomp

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/space"
)

// Sweep finds the possible targets of a shot in the world that the shooter saw, without reading the past of all entities. For
// each entity it keeps a box around every place of the last ticks. It uses the component's roles Motion and Bounds: an
// entity can be hit anywhere in a circle.
//
// The boxes may be larger than needed, and the result does not depend on their size. Worlds that have read other ticks find
// the same targets. So a Sweep is derived data whose value is never wrong; list Derived in Game.Derived.
//
// A box costs one row read in each tick with a stamped query, and saves two or more for each shot. It pays from about one
// shot in two ticks. In a world with few entities Component.Seen is enough.
type Sweep[T any] struct {
	component *ecs.Component[T]
	motion    func(*T) ecs.Motion
	bounds    func(*T) fixed.Num
	query     *ecs.Query1[T, T]
	derived   *ecs.Derived[index[T]]
	window    ecs.Tick
	teleport  fixed.Num
}

// SweepConfig configures a Sweep.
type SweepConfig struct {
	// Window is the least number of ticks for which places are kept, at most image.MaxViewTicks; 0 means 64. An older view
	// reads all entities.
	Window int
	// Teleport is the distance, in world units, from which a move within one tick is a teleport. An entity that has teleported
	// since the view is checked at its present place. 0: no move is a teleport. Choose twice the distance of the fastest
	// entity.
	Teleport fixed.Num
}

// Cost counts the work for older values in a world, since it was made.
type Cost struct {
	Looked  uint64 // boxes that were compared with a shot's
	Rewound uint64 // entities whose older values were read for a shot
	Refused uint64 // of these, judged where they are now: they have teleported, or were not there throughout
	Swept   uint64 // older values that were read to keep the boxes
}

// NewSweep declares a broad phase for a component, which needs the roles Motion and Bounds. Declare it once, at package
// level.
func NewSweep[T any](c *ecs.Component[T], config SweepConfig) *Sweep[T] {
	roles := c.Roles()
	if roles.Motion == nil || roles.Bounds == nil {
		panic(fmt.Sprintf("lagcomp: NewSweep of component %q, which has no roles Motion and Bounds: give it both", c.Name()))
	}
	if config.Window == 0 {
		config.Window = 64
	}
	if config.Window < 1 || config.Window > image.MaxViewTicks || config.Teleport < 0 {
		panic(fmt.Sprintf("lagcomp: NewSweep of component %q with Window %d and Teleport %v: choose 1 to %d ticks, and no negative distance", c.Name(), config.Window, config.Teleport, image.MaxViewTicks))
	}
	return &Sweep[T]{component: c, motion: roles.Motion, bounds: roles.Bounds, query: ecs.NewQuery1(ecs.Read(c)),
		derived: ecs.NewDerived("sweep of "+c.Name(), func(_ *ecs.World, x *index[T]) { x.forget() }, func(a, b *index[T]) bool { return true }),
		window:  ecs.Tick(config.Window), teleport: config.Teleport}
}

// Derived returns the data to list in Game.Derived.
func (s *Sweep[T]) Derived() ecs.AnyDerived { return s.derived }

// Cost returns the counters of a world.
func (s *Sweep[T]) Cost(w *ecs.World) Cost { return s.derived.Of(w).cost }

// Near yields the entities whose circle touches the rectangle [lo, hi], in the order of rows, with their values as p saw them.
// An entity that has teleported since, or was not there throughout, has its present value. Without a stamp all values are
// of the present.
func (s *Sweep[T]) Near(w *ecs.World, p ecs.Player, lo, hi fixed.Vec2) iter.Seq2[ecs.Entity, T] {
	return func(yield func(ecs.Entity, T) bool) { s.near(w, p, space.Bounds{Min: lo, Max: hi}, yield) }
}

func (s *Sweep[T]) near(w *ecs.World, p ecs.Player, area space.Bounds, yield func(ecs.Entity, T) bool) {
	x := s.derived.Of(w)
	view, late := w.Image().ViewOf(p)
	if late {
		s.follow(x, w)
	}
	next := 0
	for row := range s.query.All(w) {
		e := row.Entity()
		x.cost.Looked++
		now := s.place(x, row.A)
		value, there := row.A, now.Touches(area)
		if late && e.Owner() != ecs.OwnedBy(p) {
			t := x.trailOf(e, &next)
			if !there && t != nil && view.Tick >= x.from && !t.touches(area) {
				continue
			}
			if value, there = s.judged(x, w, p, e, row.A, view); there {
				now = s.place(x, value)
				there = now.Touches(area)
			}
		}
		if there && !yield(e, value) {
			return
		}
	}
}

// judged returns e's value as p's shot meets it: as p saw it, or the present value, now, if e has teleported since or was not
// there throughout. ok is false if p did not see e, which had not appeared yet.
func (s *Sweep[T]) judged(x *index[T], w *ecs.World, p ecs.Player, e ecs.Entity, now T, view image.ViewStamp) (value T, ok bool) {
	x.cost.Rewound++
	if value, ok = s.component.Seen(w, p, e); ok && !s.steady(x, w, e, now, view) {
		x.cost.Refused++
		value = now
	}
	return value, ok
}

// steady reports whether e was there in every state since the view and has not teleported.
func (s *Sweep[T]) steady(x *index[T], w *ecs.World, e ecs.Entity, now T, view image.ViewStamp) bool {
	x.row = now
	last := s.motion(&x.row).Pos
	for f := w.Tick() - 1; f >= view.Tick; f-- {
		past, ok := w.Image().Past(f)
		if ok {
			x.row, ok = s.component.ReadAt(past, e)
		}
		if !ok {
			return f == view.Tick && view.Part > 0 // it appeared on the way to the next state, and is seen as it is there
		}
		at := s.motion(&x.row).Pos
		if s.teleport > 0 && at.Sub(last).Len() >= s.teleport {
			return false
		}
		last = at
	}
	return true
}

func (s *Sweep[T]) place(x *index[T], value T) space.Bounds {
	x.row = value
	at := s.motion(&x.row).Pos
	return space.Around(fixed.Vec2{X: at.X, Y: at.Y}, s.bounds(&x.row))
}
