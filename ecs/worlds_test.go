package ecs_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// sharedQuery is one donburi query for all worlds, as in a game.
var sharedQuery = donburi.NewQuery(filter.Contains(sample.Positions))

// crossing are the checksums of a match that uses everything that could be shared by mistake: queries, structure,
// donburi's world, entries, iteration, rewinds and a view.
func crossing(t *testing.T, g *ecs.Game, ticks ecs.Tick) (sums []image.Checksum) {
	w, err := ecs.NewWorld(g, 3)
	if err != nil {
		t.Error(err)
		return nil
	}
	v, err := ecs.NewView(g)
	if err != nil {
		t.Error(err)
		return nil
	}
	var prev, cur image.Snapshot
	w.Image().Save(&prev)
	for w.Tick() < ticks {
		w.Step(sample.Inputs(w.Tick() + 1))
		if w.Tick()%5 == 0 { // mispredict, look at it, and rewind
			w.Step(ecs.TickInputs{})
			w.Donburi()
			w.Image().Restore(&prev)
			w.Step(sample.Inputs(w.Tick() + 1))
		}
		world, n := w.Donburi(), 0
		for entry := range sample.Positions.Iter(world) {
			e, _ := ecs.EntityOf(entry)
			if w.Entry(e) != entry {
				t.Error("an entry belongs to another world")
			}
			n++
		}
		last := uint32(0)
		for entry := range ecs.Ordered(w, sharedQuery) {
			e, _ := ecs.EntityOf(entry)
			if n--; e.Row <= last {
				t.Error("Ordered does not follow the rows")
			}
			last = e.Row
		}
		if n != 0 {
			t.Errorf("Ordered leaves out %d entries", n)
		}
		for entry := range sample.Mixtures.Iter(world) {
			sample.Mixtures.Get(entry).Energy++
		}
		if _, ok := sample.Seats.First(world); ok != (w.Players() != 0) || last == 0 {
			t.Error("donburi's world is not the world's")
		}
		w.Image().Save(&cur)
		sums = append(sums, cur.Checksum())
		v.Update(&prev, &cur, &prev, 0.5)
		if v.World.Len() != world.Len() {
			t.Errorf("the view shows %d entities, the world has %d", v.World.Len(), world.Len())
		}
		prev, cur = cur, prev
	}
	if err := w.Check(); err != nil {
		t.Error(err)
	}
	return sums
}

// A server runs one room per goroutine. donburi's queries, component types and world counter are shared and
// unlocked. The race detector finds any use of them; without it, concurrent writes of a map fail.
func TestWorldsOnManyGoroutinesShareNothing(t *testing.T) {
	const worlds, ticks = 64, 40
	g := sample.Busy()
	g.Screen.Dress = func(_ *ecs.View, entry *donburi.Entry) { donburi.Add(entry, sample.Sprites, &sample.Sprite{}) }
	want := crossing(t, g, ticks)
	sums := make([][]image.Checksum, worlds)
	var all sync.WaitGroup
	for i := range sums {
		all.Go(func() { sums[i] = crossing(t, g, ticks) })
	}
	all.Wait()
	for i := range sums {
		if !slices.Equal(sums[i], want) {
			t.Fatalf("world %d went another way than the one that was alone", i)
		}
	}
	for i := range want[1:] {
		if want[i] == want[i+1] {
			t.Fatalf("nothing happened in tick %d: the test proves little", i+2)
		}
	}
}
