package space

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Grid finds the entities in an area, without looking at all of them. It is derived data, which follows the state by itself: list
// Derived in Game.Derived.
//
// An area is compared with the bounds of an entity's present value, also after systems have moved it in this tick. Entities are
// yielded in the order of their rows, once each. An entity that was spawned in this tick is found from the next tick on.
//
// Each tick reads every entity once, about 5 ns for one that stands still. Only an entity that left its cell changes lists.
// Nothing is allocated once the lists are as long as the match needs.
type Grid[T any] struct {
	component *ecs.Component[T]
	bounds    func(T) Bounds
	query     *ecs.Query1[T, T]
	derived   *ecs.Derived[cells]
	cell      fixed.Num
	speed     fixed.Num
}

// GridConfig configures a Grid.
type GridConfig[T any] struct {
	// Bounds returns the bounds of an entity with this value. It depends on nothing else. Required.
	Bounds func(T) Bounds
	// Cell is the side of a cell in world units, at least 2^-16. About the size of a usual area is best. Entities that are larger
	// than a cell are compared with every area.
	Cell fixed.Num
	// Speed is the longest way that an entity moves in one tick, in world units, along each axis. One that has moved farther
	// is found from the next tick on. If it has moved farther since a player saw it, it is seen where it is now.
	Speed fixed.Num
}

// NewGrid declares a grid over the entities that have the component and pass the filters. Declare it once, at package level.
func NewGrid[T any](c *ecs.Component[T], config GridConfig[T], filters ...ecs.Filter) *Grid[T] {
	if config.Bounds == nil || config.Cell < fixed.One>>16 || config.Speed < 0 {
		panic(fmt.Sprintf("space: NewGrid of component %q with Cell %v and Speed %v: set Bounds, a Cell from 2^-16 and a Speed from 0", c.Name(), config.Cell, config.Speed))
	}
	g := &Grid[T]{component: c, bounds: config.Bounds, query: ecs.NewQuery1(ecs.Read(c), filters...), cell: config.Cell, speed: config.Speed}
	g.derived = ecs.NewDerived("grid of "+c.Name(), g.follow, (*cells).equal).EachTick()
	return g
}

// Derived returns the data to list in Game.Derived.
func (g *Grid[T]) Derived() ecs.AnyDerived { return g.derived }

// In yields the entities whose bounds touch an area, with their values.
func (g *Grid[T]) In(w *ecs.World, area Bounds) iter.Seq2[ecs.Entity, T] {
	return func(yield func(ecs.Entity, T) bool) { g.in(w, area, yield) }
}

func (g *Grid[T]) in(w *ecs.World, area Bounds, yield func(ecs.Entity, T) bool) {
	for s := g.derived.Of(w).search(area.Grow(g.speed), g.cell); s.next(); {
		value, ok := g.component.Read(w, s.entity)
		if ok && g.bounds(value).Touches(area) && !yield(s.entity, value) {
			return
		}
	}
}

// SeenIn is In for the world that player p saw when giving the inputs of the running tick. It yields the entities that p saw in
// the area, with the values that p saw: see [ecs.Component.Seen]. The entities of p, and all entities for a player without a view
// stamp, are those of the present. An entity that has been removed since is not yielded.
func (g *Grid[T]) SeenIn(w *ecs.World, p ecs.Player, area Bounds) iter.Seq2[ecs.Entity, T] {
	return func(yield func(ecs.Entity, T) bool) { g.seenIn(w, p, area, yield) }
}

func (g *Grid[T]) seenIn(w *ecs.World, p ecs.Player, area Bounds, yield func(ecs.Entity, T) bool) {
	view, late := w.Image().ViewOf(p)
	if !late {
		g.in(w, area, yield)
		return
	}
	way := g.speed.Mul(fixed.FromInt(int(w.Tick()-view.Tick))).Clamp(0, farthest)
	for s := g.derived.Of(w).search(area.Grow(way+g.speed), g.cell); s.next(); {
		now, ok := g.component.Read(w, s.entity)
		if !ok {
			continue
		}
		value, ok := g.component.Seen(w, p, s.entity)
		if !ok {
			continue
		}
		at, from := g.bounds(now), g.bounds(value)
		if !Around(at.Min, way).Touches(Bounds{from.Min, from.Min}) {
			value, from = now, at // it was placed elsewhere
		}
		if from.Touches(area) && !yield(s.entity, value) {
			return
		}
	}
}
