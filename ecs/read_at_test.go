package ecs_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// ReadAt returns the values of the world at that tick, also for entities that were removed later.
func TestReadAtReturnsTheValuesOfThatTick(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	type record struct {
		s   *image.Snapshot
		pos map[ecs.Entity]sample.Pos
	}
	var records []record
	ever := map[ecs.Entity]bool{}
	for w.Tick() < 150 {
		sample.Play(w, w.Tick()+10)
		r := record{sample.Saved(w), map[ecs.Entity]sample.Pos{}}
		for e := range sample.Placed.All(w) {
			r.pos[e.Entity()] = e.A
			ever[e.Entity()] = true
		}
		records = append(records, r)
	}
	for _, r := range records {
		for e := range ever {
			want, wantOK := r.pos[e]
			if got, ok := sample.Positions.ReadAt(r.s, e); got != want || ok != wantOK || image.ExistsAt(r.s, e) != ok {
				t.Fatalf("tick %d: %v is %v, %t; was %v, %t", r.s.Tick(), e, got, ok, want, wantOK)
			}
			if _, ok := sample.Tags.ReadAt(r.s, e); ok {
				t.Fatal("a component that nothing has is read")
			}
		}
	}
	last := records[len(records)-1].s
	for _, e := range []ecs.Entity{{}, {Row: 1 << 31}, {Row: 1<<20 - 1, Born: 1}, {Row: 9 << 20}} {
		if _, ok := sample.Positions.ReadAt(last, e); ok || image.ExistsAt(last, e) {
			t.Errorf("%v exists", e)
		}
	}
	sample.InSystem(w, func() {
		for range 500 {
			w.Spawn(ecs.OwnedByWorld, sample.Positions)
		}
	})
	if e := (ecs.Entity{Row: 500, Born: w.Tick()}); !w.Exists(e) || image.ExistsAt(last, e) {
		t.Error("an entity exists in a state from before the image had a page for it")
	}
	if _, ok := sample.Positions.ReadAt(&image.Snapshot{}, ecs.Entity{Row: 1}); ok || image.ExistsAt(nil, ecs.Entity{Row: 1}) {
		t.Error("something exists in no state")
	}
	var e ecs.Entity
	for e = range records[0].pos {
		break
	}
	sample.MustPanic(t, "Game.Components", func() { sample.ShownPositions.ReadAt(records[0].s, e) })
	if n := testing.AllocsPerRun(20, func() { sample.Positions.ReadAt(records[0].s, e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
