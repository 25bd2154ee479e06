package main

import (
	"fmt"

	"github.com/yohamta/donburi"

	"tendon/bench/internal/crowd"
	"tendon/bench/internal/measure"
	"tendon/ecs"
)

// bornPerTick is how many entities a tick spawns and despawns in the rows of structural changes.
const bornPerTick = 256

// structureRows measure births and deaths against donburi's own.
func structureRows() []measure.Row {
	return []measure.Row{
		{Name: "spawn", What: "spawn + despawn of an entity with 3 components", Reference: "donburi Create + Remove",
			Reach: 0.5, Run: func() measure.Result { return spawn(false) }},
		{Name: "spawn-donburi", What: "the same, and donburi brought in step after the spawns and after the despawns", Reference: "donburi Create + Remove",
			Reach: 1.5, Missed: "donburi is asked for the same creations and removals, and what to ask for is found by comparing", Run: func() measure.Result { return spawn(true) }},
	}
}

// births is a game that spawns in one system and despawns in the next.
type births struct {
	born    []ecs.Entity
	donburi bool
}

func (b *births) spawn(w *ecs.World) {
	for range bornPerTick {
		b.born = append(b.born, w.Spawn(ecs.OwnedByWorld, crowd.Positions, crowd.Velocities, crowd.Lives))
	}
}

func (b *births) despawn(w *ecs.World) {
	for _, e := range b.born {
		w.Despawn(e)
	}
	b.born = b.born[:0]
}

// inStep asks for the donburi world, which brings it in step.
func (b *births) inStep(w *ecs.World) {
	if b.donburi {
		w.Donburi()
	}
}

func spawn(inStep bool) measure.Result {
	b := births{donburi: inStep}
	w := crowd.World(1000, nil, b.spawn, b.inStep, b.despawn, b.inStep)
	tick := func() { w.Step(ecs.TickInputs{}) }

	world := donburi.NewWorld()
	types := []donburi.IComponentType{donburi.NewComponentType[crowd.Position](), donburi.NewComponentType[crowd.Velocity](), donburi.NewComponentType[crowd.Life]()}
	world.CreateMany(1000, types...)
	born := make([]donburi.Entity, 0, bornPerTick)
	reference := func() {
		for range bornPerTick {
			born = append(born, world.Create(types...))
		}
		for _, e := range born {
			world.Remove(e)
		}
		born = born[:0]
	}
	return measure.Result{
		Unit: "entity",
		Note: fmt.Sprintf("allocations per entity %.2g : %.2g", measure.Allocations(tick)/bornPerTick, measure.Allocations(reference)/bornPerTick),
		Ratio: measure.Compare(measure.Op{Run: reference, Units: bornPerTick},
			measure.Op{Run: tick, Units: bornPerTick}),
	}
}
