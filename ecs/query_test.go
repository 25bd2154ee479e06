//go:build moving

package ecs

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// scatter spawns entities of several owners and components and returns them in the order of their rows.
func scatter(w *World) (all []Entity) {
	inSystem(w, func() {
		for i := range 200 {
			for o := range Owner(5) {
				if (i+int(o))%3 == 0 {
					continue
				}
				e := w.Spawn(o, cPos)
				cPos.Put(w, e, tPos{X: 1, Y: 2})
				if i%2 == 0 {
					cVel.Add(w, e, tVel{X: 10})
				}
				if i%5 == 0 {
					cMixed.Add(w, e, tMixed{Lives: 100})
				}
				if i%7 == 0 {
					cTag.Add(w, e, struct{}{})
				}
				if i%4 == 1 {
					cWide.Add(w, e, tWide{})
				}
				all = append(all, e)
			}
		}
	})
	slices.SortFunc(all, func(a, b Entity) int { return int(a.Row) - int(b.Row) })
	return all
}

// The order of a query is the order of rows, over all owners, and which rows it yields follows from presence alone.
func TestQueriesYieldExactlyTheMatchingRowsUpwards(t *testing.T) {
	w := newWorld(t, tGame())
	all := scatter(w)
	has := func(e Entity, with, without []AnyComponent) bool {
		for _, c := range with {
			if !w.column(c.declared()).regions[e.Owner()].has(e.Row % regionRows) {
				return false
			}
		}
		for _, c := range without {
			if w.column(c.declared()).regions[e.Owner()].has(e.Row % regionRows) {
				return false
			}
		}
		return true
	}
	check := func(name string, with, without []AnyComponent, entities, runs []Entity) {
		t.Helper()
		var want []Entity
		for _, e := range all {
			if has(e, with, without) {
				want = append(want, e)
			}
		}
		if len(want) == 0 || !slices.Equal(entities, want) || !slices.Equal(runs, want) {
			t.Errorf("%s: All yields %d, Runs %d, want %d", name, len(entities), len(runs), len(want))
		}
	}
	c := func(list ...AnyComponent) []AnyComponent { return list }
	{
		q := NewQuery1(Read(cPos))
		var x, y []Entity
		for r := range q.All(w) {
			x = append(x, r.Entity())
		}
		for r := range q.Runs(w) {
			y = append(y, r.Entities...)
		}
		check("1", c(cPos), nil, x, y)
	}
	{
		q := NewQuery2(Write(cPos), Read(cVel), With(cTag))
		var x, y []Entity
		for r := range q.All(w) {
			x = append(x, r.Entity())
		}
		for r := range q.Runs(w) {
			y = append(y, r.Entities...)
		}
		check("2 with", c(cPos, cVel, cTag), nil, x, y)
	}
	{
		q := NewQuery3(Write(cPos), Read(cVel), Write(cMixed), Without(cTag, cWide), With(cPos))
		var x, y []Entity
		for r := range q.All(w) {
			x = append(x, r.Entity())
		}
		for r := range q.Runs(w) {
			y = append(y, r.Entities...)
		}
		check("3 without", c(cPos, cVel, cMixed), c(cTag, cWide), x, y)
	}
	{
		q := NewQuery4(Read(cTag), Read(cPos), Write(cVel), Read(cMixed))
		var x, y []Entity
		for r := range q.All(w) {
			x = append(x, r.Entity())
		}
		for r := range q.Runs(w) {
			y = append(y, r.Entities...)
		}
		check("4 with a component of no bytes", c(cTag, cPos, cVel, cMixed), nil, x, y)
	}
	{
		q := NewQuery1(Write(cTag), Without(cWide))
		var x, y []Entity
		for r := range q.All(w) {
			x = append(x, r.Entity())
		}
		for r := range q.Runs(w) {
			y = append(y, r.Entities...)
		}
		check("a component of no bytes", c(cTag), c(cWide), x, y)
	}
}

// A loop that breaks must leave nothing behind; queries hold no state of a world.
func TestAQueryCanBeLeftAndNested(t *testing.T) {
	w := newWorld(t, tGame())
	all := scatter(w)
	for r := range qPos.All(w) {
		if r.Entity() != all[0] {
			t.Fatal(r.Entity())
		}
		break
	}
	n := 0
	for a := range qPos.All(w) {
		for b := range qPos.All(w) {
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

// Reading yields copies and writing yields the row: the declaration is in the types, so a stray write has to go out of
// its way.
func TestReadYieldsValuesAndWriteYieldsPointers(t *testing.T) {
	w := newWorld(t, tGame())
	all := scatter(w)
	for r := range NewQuery2(Read(cPos), Read(cVel)).All(w) {
		r.A.X, r.B.X = 99, 99
	}
	for r := range qMove.All(w) {
		if r.A.X != 1 || r.B.X != 10 {
			t.Fatalf("a Read row was written through: %v %v", r.A, r.B)
		}
		r.A.X += r.B.X
		r.B.X = 99
	}
	for _, e := range all {
		v, ok := cVel.Read(w, e)
		if p, _ := cPos.Read(w, e); ok != (p.X == 11) || ok && v.X != 10 {
			t.Fatalf("%v has position %v, velocity %v", e, p, v)
		}
	}
}

// marked returns how many pages of a component are marked.
func marked(w *World, d *declaration) (n int) {
	for i := range w.image.live {
		p := &w.image.live[i]
		if p.marked && p.store.info.column.index == w.column(d).info.index {
			n++
		}
	}
	return n
}

// Saving compares marked pages, so a query must mark what it may write and nothing else: not columns it reads, not
// pages without a matching row.
func TestWriteMarksOnlyPagesThatHoldMatchingRows(t *testing.T) {
	w := newWorld(t, tGame())
	var list []Entity
	inSystem(w, func() {
		for range 1000 {
			list = append(list, w.Spawn(OwnedByWorld, cPos, cVel, cWide))
		}
	})
	inSystem(w, func() { cTag.Add(w, list[700], struct{}{}) })
	var s Snapshot
	touch := func(name string, f func(), pos, wide int) {
		t.Helper()
		w.Image().Save(&s)
		f()
		if p, v, x := marked(w, cPos.declaration), marked(w, cVel.declaration), marked(w, cWide.declaration); p != pos || v != 0 || x != wide {
			t.Errorf("%s marks %d pages of pos, %d of vel, %d of wide, want %d, 0, %d", name, p, v, x, pos, wide)
		}
	}
	// Row 701: pos has 256 rows in a page, wide 4.
	one := NewQuery3(Write(cPos), Read(cVel), Write(cWide), With(cTag))
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
		for range NewQuery2(Write(cPos), Read(cVel)).All(w) {
		}
	}, 4, 0)
	touch("Runs", func() {
		for range NewQuery2(Write(cPos), Read(cVel)).Runs(w) {
		}
	}, 4, 0)
	touch("reading", func() {
		for range NewQuery2(Read(cPos), Read(cWide)).Runs(w) {
		}
		cPos.Read(w, list[0])
		cPos.Has(w, list[0])
	}, 0, 0)
	touch("Write of one entity", func() { cPos.Write(w, list[0]) }, 1, 0)
	touch("a loop that stops", func() {
		for range NewQuery1(Write(cPos)).All(w) {
			break
		}
	}, 1, 0)
}

// Runs are the fast form of All: the same rows, the same memory, as long as they go on.
func TestRunsYieldTheMemoryThatAllYields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := must(NewWorld(tGame(), 1))
		inSystem(w, func() {
			for range rapid.IntRange(1, 12).Draw(t, "groups") {
				o := Owner(rapid.IntRange(0, 4).Draw(t, "owner"))
				with := rapid.Bool().Draw(t, "vel")
				for range rapid.IntRange(1, 200).Draw(t, "n") {
					e := w.Spawn(o, cPos, cWide)
					if with {
						cVel.Add(w, e, tVel{})
					}
				}
			}
		})
		q := NewQuery3(Write(cPos), Write(cVel), Write(cWide))
		var all []string
		for r := range q.All(w) {
			all = append(all, fmt.Sprintf("%v %p %p %p", r.Entity(), r.A, r.B, r.C))
		}
		i := 0
		var last Entity
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

// A full region walked in one go is the reason for Runs: 10 000 rows must not fall into 64-row pieces.
func TestRunsAreLongWhereMemoryIs(t *testing.T) {
	w := newWorld(t, tGame())
	inSystem(w, func() {
		for range 10000 {
			w.Spawn(OwnedByWorld, cPos, cVel)
		}
	})
	runs := 0
	for range qMove.Runs(w) {
		runs++
	}
	if runs > 20 {
		t.Errorf("10000 consecutive rows come in %d runs", runs)
	}
}
