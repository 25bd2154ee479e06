package entities

import (
	"tendon/ecs"
)

// Shape is a way in which rows are occupied.
type Shape struct {
	Name  string
	What  string
	Build func(n int, system func(w *ecs.World)) *ecs.World
}

// Shapes are the worlds that iteration is measured on. Each has about n entities with position and velocity; Matches
// counts them.
var Shapes = []Shape{
	{"full", "full occupancy", full},
	{"half", "50 % of the rows, scattered", half},
	{"churn", "after churn, 10 % holes", churned},
}

func full(n int, system func(w *ecs.World)) *ecs.World { return World(n, nil, system) }

// half builds twice as many entities. A random half of them has no velocity.
func half(n int, system func(w *ecs.World)) *ecs.World {
	g := Game(2*n, nil, system)
	populate := g.Setup
	g.Setup = func(w *ecs.World) {
		populate(w)
		// Queries do not see the changes of Setup, so the loop is over rows.
		for row := uint32(1); row <= uint32(2*n); row++ {
			if w.Rand().IntN(2) == 0 {
				Velocities.Remove(w, ecs.Entity{Row: row})
			}
		}
	}
	return New(g)
}

// churned replaces a random fifth of the entities, ten times, and then removes a tenth.
func churned(n int, system func(w *ecs.World)) *ecs.World {
	share, spawn := 5, 0
	churn := func(w *ecs.World) {
		for range spawn {
			e := w.Spawn(ecs.OwnedByWorld, Positions, Velocities, Bodies, Lives)
			Velocities.Put(w, e, Velocity{1, 1})
		}
		spawn = 0
		if share == 0 {
			return
		}
		for e := range moving.All(w) {
			if w.Rand().IntN(share) == 0 {
				w.Despawn(e.Entity())
				spawn++
			}
		}
	}
	g := Game(n, nil, churn, system)
	w := New(g)
	for range 10 {
		w.Step(ecs.TickInputs{})
	}
	share = 0
	w.Step(ecs.TickInputs{}) // only spawns
	share = 10
	w.Step(ecs.TickInputs{}) // only despawns
	share, spawn = 0, 0
	return w
}

// Matches returns how many entities have position and velocity.
func Matches(w *ecs.World) int {
	n := 0
	for r := range moving.Runs(w) {
		n += len(r.A)
	}
	return n
}
