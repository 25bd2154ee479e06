package state

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

// A history must answer as if it kept everything, for as long as it keeps it.
func TestATrackAnswersAsIfItKeptEverything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var tr history
		width, most := r.IntN(4), 1<<r.IntN(6)
		tr.begin(ecs.Entity{Row: 1}, 1, width)
		var ticks []ecs.Tick
		var all [][]uint64
		now := ecs.Tick(0)
		for range r.IntN(200) {
			now += ecs.Tick(1 + r.IntN(5))
			values := make([]uint64, width)
			for i := range values {
				values[i] = r.Uint64()
			}
			tr.push(now, values, max(minSlots, most))
			ticks, all = append(ticks, now), append(all, values)
			kept := ticks[max(0, len(ticks)-max(minSlots, most)):]
			f := ecs.Tick(r.IntN(int(now) + 3))
			n, exact := slices.BinarySearch(kept, f)
			if exact {
				n++
			}
			if tr.before(f) != n {
				t.Fatalf("before %d: %d values of %v", f, tr.before(f), kept)
			}
			got, ok := tr.during(f)
			if ok != (n > 0) || ok && !slices.Equal(got, all[len(all)-len(kept)+n-1]) {
				t.Fatalf("during %d: %v, %v of %v", f, got, ok, kept)
			}
		}
	}
}

// Memory is bounded for all deltas of a server and all worlds.
func TestTracksKeepWithinTheirMemory(t *testing.T) {
	x := histories{bound: 1000}
	r := rand.New(rand.NewPCG(1, 2))
	for tick := range ecs.Tick(5000) {
		row := uint32(r.IntN(100))
		if r.IntN(20) == 0 {
			x.drop(row)
			continue
		}
		set := image.ComponentSet(1 + r.IntN(2))
		values := make([]uint64, 4*set)
		if !x.room(len(values)) {
			for row := range uint32(100) {
				x.drop(row)
			}
			if !x.room(len(values)) {
				t.Fatal("what is dropped still takes memory")
			}
		}
		x.push(x.begin(ecs.Entity{Row: row}, set, len(values)), tick, values, 64)
		sum := 0
		for slot := range x.rows.Slots() {
			sum += len(x.rows.At(slot).values)
		}
		if sum != x.total || sum > x.bound {
			t.Fatalf("%d scalars, %d are counted, %d are allowed", sum, x.total, x.bound)
		}
	}
}
