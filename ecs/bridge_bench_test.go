package ecs_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/yohamta/donburi"

	"tendon/ecs"
	"tendon/ecs/internal/sample"
)

// A spawn and a despawn allocate donburi's search for the archetype, a filter and a list of hits, and nothing else
// once ids are reused. donburi's own Create and Remove make 6 allocations.
func TestBridgingASpawnAndADespawnAllocatesOnlyDonburisSearch(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	cycle := func() {
		var e ecs.Entity
		w.Image().Setup(func() { e = w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities, sample.Mixtures) })
		w.Donburi()
		w.Image().Setup(func() { w.Despawn(e) })
		w.Donburi()
	}
	cycle()
	if n := testing.AllocsPerRun(100, cycle); n > 2 {
		t.Fatalf("%v allocations", n)
	}
}

var plainPos, plainVel, plainMixed = donburi.NewComponentType[sample.Pos](), donburi.NewComponentType[sample.Vel](), donburi.NewComponentType[sample.Mixed]()

// BenchmarkBridge spawns entities, updates donburi, despawns them and updates again, beside donburi's own Create and
// Remove of the same components. Then it updates and iterates a world of 10 000 entities.
func BenchmarkBridge(b *testing.B) {
	b.Run("peer=donburi", func(b *testing.B) {
		world := donburi.NewWorld()
		b.ReportAllocs()
		for b.Loop() {
			world.Remove(world.Create(plainPos, plainVel, plainMixed))
		}
	})
	for _, n := range []int{1, 64} {
		for _, asked := range []bool{false, true} {
			b.Run(fmt.Sprintf("together=%d/asked=%t", n, asked), func(b *testing.B) { benchmarkSpawns(b, n, asked) })
		}
	}
	w := sample.NewWorld(b, sample.Bare())
	for range 10000 {
		w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities)
	}
	w.Image().Flush()
	world := w.Donburi()
	b.Run("unchanged=10000", func(b *testing.B) {
		for b.Loop() {
			w.Donburi()
		}
	})
	b.Run("compared=10000", func(b *testing.B) {
		for b.Loop() {
			w.Despawn(ecs.Entity{Row: 1 << 19}) // of nothing: donburi compares all the same
			w.Image().Flush()
			w.Bring()
		}
	})
	b.Run("iterated=10000", func(b *testing.B) {
		for b.Loop() {
			for entry := range sample.Positions.Iter(world) {
				sample.Positions.Get(entry).X++
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/entity")
	})
}

// The garbage collector scans a bridged block for every 64 entities.
func TestBridgedBlockStaysSmall(t *testing.T) {
	if size := unsafe.Sizeof(ecs.BridgedBlock{}); size > 64*48+64 {
		t.Errorf("%d bytes for 64 entities", size)
	}
}

func benchmarkSpawns(b *testing.B, together int, asked bool) {
	w := sample.NewWorld(b, sample.Bare())
	list := make([]ecs.Entity, together)
	settle := func() {
		w.Image().Setup(func() {}) // ends the tick: changes take effect, and rows can be taken again
		if asked {
			w.Bring()
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range list {
			list[i] = w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities, sample.Mixtures)
		}
		settle()
		for _, e := range list {
			w.Despawn(e)
		}
		settle()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*together), "ns/entity")
}
