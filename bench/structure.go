package main

import (
	"fmt"
	"testing"

	"github.com/yohamta/donburi"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
)

// spawnsPerTick is how many entities a tick spawns and despawns in the rows of structural changes.
const spawnsPerTick = 256

// structureRows measure spawner and deaths against donburi's own.
func structureRows() []measure.Row {
	return []measure.Row{
		{Name: "spawn", What: "spawn + despawn of an entity with 3 components", Reference: "donburi Create + Remove",
			Reach: 0.5, Run: func() measure.Result { return spawn(false) }},
		{Name: "spawn-donburi", What: "the same, with the donburi world updated after the spawns and after the despawns", Reference: "donburi Create + Remove",
			Reach: 1.5, Missed: "donburi does the same creations and removals, after a comparison that finds them", Run: func() measure.Result { return spawn(true) }},
	}
}

// spawner has the systems of a game that spawns in one and despawns in the next.
type spawner struct {
	spawned []ecs.Entity
	donburi bool
}

func (b *spawner) spawn(w *ecs.World) {
	for range spawnsPerTick {
		b.spawned = append(b.spawned, w.Spawn(ecs.OwnedByWorld, entities.Positions, entities.Velocities, entities.Lives))
	}
}

func (b *spawner) despawn(w *ecs.World) {
	for _, e := range b.spawned {
		w.Despawn(e)
	}
	b.spawned = b.spawned[:0]
}

// mirror requests the donburi world, which updates it.
func (b *spawner) mirror(w *ecs.World) {
	if b.donburi {
		w.Donburi()
	}
}

func spawn(mirror bool) measure.Result {
	b := spawner{donburi: mirror}
	w := entities.World(1000, nil, b.spawn, b.mirror, b.despawn, b.mirror)
	tick := func() { w.Step(ecs.TickInputs{}) }

	world := donburi.NewWorld()
	types := []donburi.IComponentType{donburi.NewComponentType[entities.Position](), donburi.NewComponentType[entities.Velocity](), donburi.NewComponentType[entities.Life]()}
	world.CreateMany(1000, types...)
	spawned := make([]donburi.Entity, 0, spawnsPerTick)
	reference := func() {
		for range spawnsPerTick {
			spawned = append(spawned, world.Create(types...))
		}
		for _, e := range spawned {
			world.Remove(e)
		}
		spawned = spawned[:0]
	}
	return measure.Result{
		Unit: "entity",
		Note: fmt.Sprintf("allocations per entity %.2g : %.2g", testing.AllocsPerRun(100, tick)/spawnsPerTick, testing.AllocsPerRun(100, reference)/spawnsPerTick),
		Ratio: measure.Compare(measure.Op{Run: reference, Units: spawnsPerTick},
			measure.Op{Run: tick, Units: spawnsPerTick}),
	}
}
