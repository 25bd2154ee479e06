package image_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// Read yields copies and Write yields the row: the types make an undeclared write difficult.
func TestReadYieldsValuesAndWriteYieldsPointers(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	all := sample.Scatter(w)
	for r := range ecs.NewQuery2(ecs.Read(sample.Positions), ecs.Read(sample.Velocities)).All(w) {
		r.A.X, r.B.X = 99, 99
	}
	for r := range sample.Moving.All(w) {
		if r.A.X != 1 || r.B.X != 10 {
			t.Fatalf("a Read row was written through: %v %v", r.A, r.B)
		}
		r.A.X += r.B.X
		r.B.X = 99
	}
	for _, e := range all {
		v, ok := sample.Velocities.Read(w, e)
		if p, _ := sample.Positions.Read(w, e); ok != (p.X == 11) || ok && v.X != 10 {
			t.Fatalf("%v has position %v, velocity %v", e, p, v)
		}
	}
}

// marked returns how many pages of a component are marked.
func marked(w *ecs.World, d *image.Declaration) (n int) {
	for i := range w.Image().Live() {
		p := &w.Image().Live()[i]
		if p.Marked() && p.Store().Info().Column().Index() == w.Image().Column(d).Info().Index() {
			n++
		}
	}
	return n
}

// A save compares marked pages. A query must mark the pages it may write, not columns that it reads, and not pages
// without a matching row.
func TestWriteMarksOnlyPagesThatHoldMatchingRows(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var list []ecs.Entity
	sample.InSystem(w, func() {
		for range 1000 {
			list = append(list, w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities, sample.Wides))
		}
	})
	sample.InSystem(w, func() { sample.Tags.Add(w, list[700], struct{}{}) })
	var s image.Snapshot
	touch := func(name string, f func(), pos, wide int) {
		t.Helper()
		w.Image().Save(&s)
		f()
		if p, v, x := marked(w, sample.Declared(sample.Positions)), marked(w, sample.Declared(sample.Velocities)), marked(w, sample.Declared(sample.Wides)); p != pos || v != 0 || x != wide {
			t.Errorf("%s marks %d pages of pos, %d of vel, %d of wide, want %d, 0, %d", name, p, v, x, pos, wide)
		}
	}
	// Row 701: pos has 256 rows in a page, wide 4.
	one := ecs.NewQuery3(ecs.Write(sample.Positions), ecs.Read(sample.Velocities), ecs.Write(sample.Wides), ecs.With(sample.Tags))
	touch("nothing", func() {}, 0, 0)
	touch("All of one row", func() {
		for range one.All(w) {
		}
	}, 1, 1)
	touch("Runs of one row", func() {
		for range one.Runs(w) {
		}
	}, 1, 1)
	touch("All", func() {
		for range ecs.NewQuery2(ecs.Write(sample.Positions), ecs.Read(sample.Velocities)).All(w) {
		}
	}, 4, 0)
	touch("Runs", func() {
		for range ecs.NewQuery2(ecs.Write(sample.Positions), ecs.Read(sample.Velocities)).Runs(w) {
		}
	}, 4, 0)
	touch("reading", func() {
		for range ecs.NewQuery2(ecs.Read(sample.Positions), ecs.Read(sample.Wides)).Runs(w) {
		}
		sample.Positions.Read(w, list[0])
		sample.Positions.Has(w, list[0])
	}, 0, 0)
	touch("Write of one entity", func() { sample.Positions.Write(w, list[0]) }, 1, 0)
	touch("a loop that stops", func() {
		for range ecs.NewQuery1(ecs.Write(sample.Positions)).All(w) {
			break
		}
	}, 1, 0)
}
