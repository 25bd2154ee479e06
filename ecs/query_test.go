package ecs_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

// Random histories are a fifth as many without TENDON_LONG, and under the race detector, where each takes ten times as long.
func init() {
	if race.Long {
		return
	}
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
}

// A query yields the matching rows of all owners in the order of rows; presence alone decides which match.
func TestQueriesYieldExactlyTheMatchingRowsUpwards(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	all := sample.Scatter(w)
	has := func(e ecs.Entity, with, without []ecs.AnyComponent) bool {
		for _, c := range with {
			if !w.Image().Column(sample.Declared(c)).Has(e.Owner(), e.Index()) {
				return false
			}
		}
		for _, c := range without {
			if w.Image().Column(sample.Declared(c)).Has(e.Owner(), e.Index()) {
				return false
			}
		}
		return true
	}
	check := func(name string, with, without []ecs.AnyComponent, entities, runs []ecs.Entity) {
		t.Helper()
		var want []ecs.Entity
		for _, e := range all {
			if has(e, with, without) {
				want = append(want, e)
			}
		}
		if len(want) == 0 || !slices.Equal(entities, want) || !slices.Equal(runs, want) {
			t.Errorf("%s: All yields %d, Runs %d, want %d", name, len(entities), len(runs), len(want))
		}
	}
	c := func(list ...ecs.AnyComponent) []ecs.AnyComponent { return list }
	{
		q := ecs.NewQuery1(ecs.Read(sample.Positions))
		var x, y []ecs.Entity
		for r := range q.All(w) {
			x = append(x, r.Entity())
		}
		for r := range q.Runs(w) {
			y = append(y, r.Entities...)
		}
		check("1", c(sample.Positions), nil, x, y)
	}
	{
		q := ecs.NewQuery2(ecs.Write(sample.Positions), ecs.Read(sample.Velocities), ecs.With(sample.Tags))
		var x, y []ecs.Entity
		for r := range q.All(w) {
			x = append(x, r.Entity())
		}
		for r := range q.Runs(w) {
			y = append(y, r.Entities...)
		}
		check("2 with", c(sample.Positions, sample.Velocities, sample.Tags), nil, x, y)
	}
	{
		q := ecs.NewQuery3(ecs.Write(sample.Positions), ecs.Read(sample.Velocities), ecs.Write(sample.Mixtures), ecs.Without(sample.Tags, sample.Wides), ecs.With(sample.Positions))
		var x, y []ecs.Entity
		for r := range q.All(w) {
			x = append(x, r.Entity())
		}
		for r := range q.Runs(w) {
			y = append(y, r.Entities...)
		}
		check("3 without", c(sample.Positions, sample.Velocities, sample.Mixtures), c(sample.Tags, sample.Wides), x, y)
	}
	{
		q := ecs.NewQuery4(ecs.Read(sample.Tags), ecs.Read(sample.Positions), ecs.Write(sample.Velocities), ecs.Read(sample.Mixtures))
		var x, y []ecs.Entity
		for r := range q.All(w) {
			x = append(x, r.Entity())
		}
		for r := range q.Runs(w) {
			y = append(y, r.Entities...)
		}
		check("4 with a component of no bytes", c(sample.Tags, sample.Positions, sample.Velocities, sample.Mixtures), nil, x, y)
	}
	{
		q := ecs.NewQuery1(ecs.Write(sample.Tags), ecs.Without(sample.Wides))
		var x, y []ecs.Entity
		for r := range q.All(w) {
			x = append(x, r.Entity())
		}
		for r := range q.Runs(w) {
			y = append(y, r.Entities...)
		}
		check("a component of no bytes", c(sample.Tags), c(sample.Wides), x, y)
	}
}

// A loop may break or nest: queries hold no state of a world.
func TestAQueryCanBeLeftAndNested(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	all := sample.Scatter(w)
	for r := range sample.Placed.All(w) {
		if r.Entity() != all[0] {
			t.Fatal(r.Entity())
		}
		break
	}
	n := 0
	for a := range sample.Placed.All(w) {
		for b := range sample.Placed.All(w) {
			if b.Entity() == a.Entity() {
				n++
				break
			}
		}
	}
	if n != len(all) {
		t.Error(n, len(all))
	}
}

// Runs yields the same rows and the same memory as All.
func TestRunsYieldTheMemoryThatAllYields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := sample.Must(ecs.NewWorld(sample.Bare(), 1))
		sample.InSystem(w, func() {
			for range rapid.IntRange(1, 12).Draw(t, "groups") {
				o := image.Owner(rapid.IntRange(0, 4).Draw(t, "owner"))
				with := rapid.Bool().Draw(t, "vel")
				for range rapid.IntRange(1, 200).Draw(t, "n") {
					e := w.Spawn(o, sample.Positions, sample.Wides)
					if with {
						sample.Velocities.Add(w, e, sample.Vel{})
					}
				}
			}
		})
		q := ecs.NewQuery3(ecs.Write(sample.Positions), ecs.Write(sample.Velocities), ecs.Write(sample.Wides))
		var all []string
		for r := range q.All(w) {
			all = append(all, fmt.Sprintf("%v %p %p %p", r.Entity(), r.A, r.B, r.C))
		}
		i := 0
		var last ecs.Entity
		for r := range q.Runs(w) {
			if len(r.A) != len(r.Entities) || len(r.B) != len(r.A) || len(r.C) != len(r.A) || len(r.A) == 0 {
				t.Fatalf("a run of %d, %d, %d rows for %d entities", len(r.A), len(r.B), len(r.C), len(r.Entities))
			}
			for k := range r.A {
				if got := fmt.Sprintf("%v %p %p %p", r.Entities[k], &r.A[k], &r.B[k], &r.C[k]); i >= len(all) || all[i] != got {
					t.Fatalf("row %d of Runs is %s", i, got)
				}
				if k > 0 && r.Entities[k].Row != last.Row+1 {
					t.Fatalf("a run has a gap behind row %d", last.Row)
				}
				last = r.Entities[k]
				i++
			}
		}
		if i != len(all) {
			t.Fatalf("Runs yields %d rows, All %d", i, len(all))
		}
	})
}

// A full region of 10 000 rows must be few runs, not pieces of 64 rows.
func TestRunsAreLongInFullRegions(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	sample.InSystem(w, func() {
		for range 10000 {
			w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities)
		}
	})
	runs := 0
	for range sample.Moving.Runs(w) {
		runs++
	}
	if runs > 20 {
		t.Errorf("10000 consecutive rows come in %d runs", runs)
	}
}
