package main

import (
	"fmt"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
)

// sizes are the numbers of entities that rows are measured with.
var sizes = []struct {
	n    int
	name string
}{{10_000, "10k"}, {100_000, "100k"}}

// iterateRows measure position += velocity. The reference is the same loop over two plain slices.
func iterateRows() []measure.Row {
	var rows []measure.Row
	for _, way := range []struct { // how a system is written
		name, what string
		system     func(*ecs.World)
		reach      float64
	}{{"runs", "Runs", entities.Move, 1.1}, {"fields", "Runs, slices read from the run's fields", entities.MoveByFields, 0}, {"all", "All", entities.MoveOneByOne, 1.4}} {
		for _, shape := range entities.Shapes {
			for _, size := range sizes {
				reach := way.reach
				if shape.Name != "full" {
					reach = 0
				}
				rows = append(rows, measure.Row{
					Name:      fmt.Sprintf("iterate-%s-%s-%s", way.name, shape.Name, size.name),
					What:      fmt.Sprintf("position += velocity with %s, %s entities, %s", way.what, size.name, shape.What),
					Reference: "the loop over two plain slices, as many entities",
					Reach:     reach,
					Missed:    "a run ends where a slab of pages does: eight runs in 10k, some 80 ns each",
					Run:       func() measure.Result { return iterate(shape, size.n, way.system) },
				})
			}
		}
	}
	return rows
}

func iterate(shape entities.Shape, n int, system func(*ecs.World)) measure.Result {
	w := shape.Build(n, system)
	w.Step(ecs.TickInputs{})
	matches := entities.Matches(w)
	positions, velocities := make([]entities.Position, matches), make([]entities.Velocity, matches)
	return measure.Result{Unit: "entity", Ratio: measure.Compare(
		measure.Op{Run: func() { entities.MoveSlices(positions, velocities) }, Units: matches},
		measure.Op{Run: func() { w.Step(ecs.TickInputs{}) }, Units: matches},
	)}
}
