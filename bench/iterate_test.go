package bench

import (
	"fmt"
	"testing"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
)

// BenchmarkIterate measures position += velocity.
func BenchmarkIterate(b *testing.B) {
	for _, way := range []struct { // how a system is written
		name, what        string
		system            func(*ecs.World)
		full, half, churn float64 // reach, by occupancy
	}{
		{"runs", "Runs", entities.Move, 1.1, 0, 0},
		{"fields", "Runs, slices read from the run's fields", entities.MoveByFields, 0, 0, 0},
		{"all", "All", entities.MoveOneByOne, 1.4, 2.7, 1.8},
	} {
		for _, shape := range []struct { // how the rows are occupied
			name, what string
			world      func(n int, systems ...func(*ecs.World)) *ecs.World
			reach      float64
		}{
			{"full", "full occupancy", entities.World, way.full},
			{"half", "50 % of the rows, scattered", half, way.half},
			{"churn", "after churn, 10 % holes", entities.Churned, way.churn},
		} {
			for _, n := range sizes {
				b.Run(way.name+"/"+shape.name+"/"+thousands(n), func(b *testing.B) {
					w := shape.world(n, way.system)
					w.Step(ecs.TickInputs{})
					matches := entities.Matches(w)
					measure.Row{
						What:      fmt.Sprintf("position += velocity with %s, %s entities, %s", way.what, thousands(n), shape.what),
						Reference: "the loop over two plain slices, as many entities",
						Unit:      "entity", Reach: shape.reach,
						Missed: "a run ends where a slab of pages does: eight runs in 10k, some 80 ns each",
					}.Report(b, measure.Compare(b,
						measure.Op{Units: matches, Run: entities.Slices(matches)},
						measure.Op{Units: matches, Run: func() { w.Step(ecs.TickInputs{}) }}))
				})
			}
		}
	}
}

// half returns a world of twice as many entities. A random half of them has no velocity.
func half(n int, systems ...func(w *ecs.World)) *ecs.World {
	g := entities.Game(2*n, systems...)
	populate := g.Setup
	g.Setup = func(w *ecs.World) {
		populate(w)
		// Queries do not see the changes of Setup, so the loop is over rows.
		for row := uint32(1); row <= uint32(2*n); row++ {
			if w.Rand().IntN(2) == 0 {
				entities.Velocities.Remove(w, ecs.Entity{Row: row})
			}
		}
	}
	return newWorld(g)
}
