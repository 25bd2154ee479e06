package rollback

import (
	"math"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
)

// A ring holds exactly the last tick that was stored in each slot.
func TestRingEqualsAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	ring := NewRing[uint64](10)
	if ring.Depth() != 16 {
		t.Fatalf("depth %d, want 16", ring.Depth())
	}
	model := map[ecs.Tick]uint64{}
	for step := range uint64(20000) {
		f := ecs.Tick(r.IntN(64))
		switch r.IntN(8) {
		case 0:
			ring.Drop(f)
			delete(model, f)
		case 1:
			ring.Put(f, step)
			evict(model, f, 16)
			model[f] = step
		case 2:
			value, held := ring.Slot(f)
			if _, ok := model[f]; held != ok {
				t.Fatalf("step %d: Slot(%d) says held %v, want %v", step, f, held, ok)
			}
			*value = step
			evict(model, f, 16)
			model[f] = step
		default:
			value, ok := ring.At(f)
			if want, held := model[f]; ok != held || ok && *value != want {
				t.Fatalf("step %d: At(%d) is %d %v, want %d %v", step, f, *value, ok, want, held)
			}
		}
	}
	ring.Clear()
	for f := range ecs.Tick(64) {
		if _, ok := ring.At(f); ok {
			t.Fatalf("a cleared ring holds tick %d", f)
		}
	}
}

func evict(model map[ecs.Tick]uint64, f, depth ecs.Tick) {
	for k := range model {
		if k%depth == f%depth {
			delete(model, k)
		}
	}
}

// Ticks come from peers: no tick may look as if it were held in an empty slot.
func TestEmptyRingHoldsNoTick(t *testing.T) {
	ring := NewRing[int](4)
	for _, f := range []ecs.Tick{0, 1, 3, math.MaxUint64 - 1, math.MaxUint64} {
		if _, ok := ring.At(f); ok {
			t.Errorf("an empty ring holds tick %d", f)
		}
		ring.Drop(f)
	}
}

func TestSlotKeepsMemoryForReuse(t *testing.T) {
	ring := NewRing[[]byte](4)
	ring.Put(1, make([]byte, 0, 100))
	ring.Clear()
	if value, held := ring.Slot(5); held || cap(*value) != 100 {
		t.Errorf("held %v with capacity %d, want the memory of tick 1", held, cap(*value))
	}
}

// BenchmarkRing compares a ring with the slots by hand that it replaced.
func BenchmarkRing(b *testing.B) {
	type entry struct {
		tick  ecs.Tick
		value [4]uint64
	}
	b.Run("Ring", func(b *testing.B) {
		ring := NewRing[[4]uint64](128)
		b.ReportAllocs()
		for i := range ecs.Tick(b.N) {
			value, _ := ring.Slot(i)
			value[0]++
			if past, ok := ring.At(i / 2); ok {
				past[1]++
			}
		}
	})
	b.Run("by hand", func(b *testing.B) {
		ring := make([]entry, 128)
		b.ReportAllocs()
		for i := range ecs.Tick(b.N) {
			e := &ring[i%ecs.Tick(len(ring))]
			e.tick = i
			e.value[0]++
			if past := &ring[i/2%ecs.Tick(len(ring))]; past.tick == i/2 {
				past.value[1]++
			}
		}
	})
}
