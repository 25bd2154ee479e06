package bench

import (
	"fmt"
	"testing"

	"github.com/yohamta/donburi"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
)

// spawnsPerTick is how many entities a tick spawns and despawns.
const spawnsPerTick = 256

// BenchmarkSpawn measures structural changes against donburi's own.
func BenchmarkSpawn(b *testing.B) {
	b.Run("world", func(b *testing.B) {
		spawn(b, spawner{}, measure.Row{What: "spawn + despawn of an entity with 3 components", Reach: 0.5})
	})
	b.Run("donburi", func(b *testing.B) {
		spawn(b, spawner{donburi: true}, measure.Row{
			What:  "the same, with the donburi world updated after the spawns and after the despawns",
			Reach: 1.5, Missed: "donburi does the same creations and removals, after a comparison that finds them"})
	})
}

// spawner has the systems of a game that spawns in one and despawns in the next.
type spawner struct {
	spawned []ecs.Entity
	donburi bool
}

func (b *spawner) world() *ecs.World {
	return entities.World(1000, b.spawn, b.mirror, b.despawn, b.mirror)
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

func spawn(b *testing.B, s spawner, row measure.Row) {
	w := s.world()
	tick := func() { w.Step(ecs.TickInputs{}) }

	world := donburi.NewWorld()
	types := []donburi.IComponentType{donburi.NewComponentType[entities.Position](), donburi.NewComponentType[entities.Velocity](),
		donburi.NewComponentType[entities.Life]()}
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
	row.Reference, row.Unit = "donburi Create + Remove", "entity"
	row.Note = fmt.Sprintf("allocations per entity %.2g : %.2g",
		testing.AllocsPerRun(100, tick)/spawnsPerTick, testing.AllocsPerRun(100, reference)/spawnsPerTick)
	row.Report(b, measure.Compare(b, measure.Op{Units: spawnsPerTick, Run: reference}, measure.Op{Units: spawnsPerTick, Run: tick}))
}

// Every shot spawns and despawns.
func TestSpawningAndDespawningAllocatesNothing(t *testing.T) {
	s := spawner{}
	w := s.world()
	allocatesNothing(t, 10, func() { w.Step(ecs.TickInputs{}) })
	if entities.Matches(w) != 1000 {
		t.Errorf("%d entities are left, want 1000", entities.Matches(w))
	}
}
