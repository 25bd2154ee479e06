package image_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// Values that donburi code writes are in the world and in the next snapshot, without a stray page. A read does not
// count as a write.
func TestGetWritesTheWorldAndGetValueOnlyReads(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() { e = w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities) })
	before := sample.Saved(w)
	entry := w.Entry(e)
	if sample.Positions.GetValue(entry) != (sample.Pos{}) || len(w.Image().Dirty()) != 0 {
		t.Fatal("GetValue marked a page")
	}
	sample.Positions.Get(entry).X = 7
	sample.Velocities.SetValue(entry, sample.Vel{X: 8})
	if got, _ := sample.Positions.Read(w, e); got.X != 7 {
		t.Fatal("what Get's pointer was given is not in the world")
	}
	after := sample.Saved(w)
	for range len(w.Image().Live()) { // one turn of the nextChecked
		w.Image().Save(&image.Snapshot{})
	}
	if after.Checksum() == before.Checksum() || w.Image().Strays() != 0 {
		t.Fatalf("checksum changed: %t, strays: %d", after.Checksum() != before.Checksum(), w.Image().Strays())
	}
	if got, ok := sample.Velocities.ReadAt(after, e); !ok || got.X != 8 {
		t.Fatal("what SetValue stored is not in the snapshot")
	}
}

// World.Donburi without a change and access through entries allocate nothing: a system may use both for every
// entity.
func TestDonburiWithoutChangeAndAccessDoNotAllocate(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() {
		for range 300 {
			e = w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities, sample.Tags)
		}
	})
	w.Donburi()
	var sum int64
	if n := testing.AllocsPerRun(100, func() {
		w.Donburi()
		entry := w.Entry(e)
		sample.Positions.Get(entry).X++
		sum += int64(sample.Positions.GetValue(entry).X)
		_, _ = ecs.EntityOf(entry)
		w.Image().ClearDirty()
		w.Image().Restructure() // compared, and nothing found
		w.Donburi()
	}); n != 0 || sum == 0 {
		t.Fatalf("%v allocations", n)
	}
}
