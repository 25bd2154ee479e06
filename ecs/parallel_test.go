package ecs_test

import (
	"bytes"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yohamta/donburi"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

var (
	swelling = ecs.NewQuery2(ecs.Write(sample.Wides), ecs.Read(sample.Positions))
	tagged   = ecs.NewQuery2(ecs.Write(sample.Tags), ecs.Write(sample.Mixtures), ecs.Without(sample.Bags))
	drifting = ecs.NewQuery3(ecs.Write(sample.Velocities), ecs.Read(sample.Positions), ecs.Read(sample.Mixtures))
	placed   = ecs.NewQuery1(ecs.Read(sample.Positions))
)

// swell and label write components whose pages have from 4 rows to any number of them.
func swell(w *ecs.World) {
	for e := range swelling.All(w) {
		e.A.Cells[w.Tick()%100] += uint64(e.B.X) + uint64(e.Entity().Row)
	}
}

func label(w *ecs.World) {
	for r := range tagged.Runs(w) {
		mixtures := r.B
		for i := range mixtures {
			mixtures[i].Target, mixtures[i].Depth = r.Entities[i], mixtures[i].Depth+1
		}
	}
}

// drift reads rows that belong to other shares, a resource and inputs.
func drift(w *ecs.World) {
	left, in := sample.Clocks.Read(w).Left, sample.Pads.Of(w, 1)
	n := fixed.Num(0)
	for range placed.All(w) {
		n++
	}
	for e := range drifting.All(w) {
		if other, ok := sample.Positions.Read(w, e.C.Target); ok {
			e.A.X += (other.X - e.B.X) / 8
		}
		e.A.Y += n + fixed.Num(left) + fixed.Num(in.DX)
	}
}

// widen gives every row that it finds more components, so that all parallel systems have rows.
func widen(w *ecs.World) {
	for e := range placed.All(w) {
		switch e.Entity().Row % 4 {
		case 0:
			sample.Wides.Add(w, e.Entity(), sample.Wide{})
		case 1:
			sample.Tags.Add(w, e.Entity(), struct{}{})
		}
	}
}

// divided returns a game whose parallel systems run between systems that spawn and despawn. runs counts the calls of one.
func divided(splitRows int, runs *atomic.Int32) *ecs.Game {
	g := sample.Busy()
	g.SplitRows = splitRows
	g.Setup = nil
	counted := func(w *ecs.World) {
		runs.Add(1)
		swell(w)
	}
	g.Systems = append(g.Systems, ecs.Systems(widen)...)
	g.Systems = append(g.Systems,
		ecs.System{Name: "move", Run: sample.Move, Parallel: ecs.Queries(sample.Moving)},
		ecs.System{Name: "swell", Run: counted, Parallel: ecs.Queries(swelling)},
		ecs.System{Name: "label", Run: label, Parallel: ecs.Queries(tagged)},
		ecs.System{Name: "drift", Run: drift, Parallel: ecs.Queries(drifting)})
	return g
}

// manyCores runs the rest of a test with at least four processors.
func manyCores(t *testing.T) {
	before := runtime.GOMAXPROCS(4)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// rewound plays ticks with rewinds, and returns what other peers and the disk would receive.
func rewound(t *testing.T, w *ecs.World, predicted *image.RowSet) (out [][]byte, sums []image.Checksum) {
	t.Helper()
	sample.Scatter(w)
	var base, next image.Snapshot
	w.Image().Save(&base)
	w.Image().SetPredicted(predicted)
	for range 10 {
		sample.Play(w, base.Tick()+3)
		w.Image().Restore(&base)
		sample.Play(w, base.Tick()+1)
		w.Image().Save(&next)
		out = append(out, next.AppendDelta(nil, &base))
		sums = next.ComponentChecksums(sums)
		base.Hold(&next)
	}
	if err := w.Check(); err != nil || w.Image().Strays() > 0 {
		t.Errorf("%v, %d strays", err, w.Image().Strays())
	}
	return append(out, next.AppendImage(nil)), sums
}

// Checksums, deltas and images are those of one core, on any number of cores and in any order of rows.
func TestParallelSystemsGiveTheBitsOfOneCore(t *testing.T) {
	manyCores(t)
	few := &image.RowSet{}
	few.AddOwner(ecs.OwnedBy(1))
	for row := range uint32(150) {
		few.Add(row)
	}
	for _, predicted := range []*image.RowSet{nil, few} {
		var runs atomic.Int32
		want, sums := rewound(t, sample.NewWorld(t, divided(math.MaxInt, &runs)), predicted)
		once := runs.Swap(0)
		for _, reverse := range []bool{false, true} {
			w := sample.NewWorld(t, divided(1, &runs))
			if reverse {
				w.Reverse()
			}
			got, gotSums := rewound(t, w, predicted)
			for i := range want {
				if !bytes.Equal(want[i], got[i]) {
					t.Fatalf("reverse %t: delta or image %d differs", reverse, i)
				}
			}
			for i := range sums {
				if sums[i] != gotSums[i] {
					t.Fatalf("reverse %t: checksum %d differs", reverse, i)
				}
			}
			if n := runs.Swap(0); n < 8*once {
				t.Errorf("reverse %t: a system ran %d times, and %d on one core: the test shows nothing", reverse, n, once)
			}
		}
	}
}

// Fewer rows than Game.SplitRows take less time than other cores need to begin.
func TestFewRowsAreNotDivided(t *testing.T) {
	manyCores(t)
	for _, c := range []struct {
		cores, rows, split int
		divided            bool
	}{{4, 19_999, 0, false}, {4, 20_000, 0, true}, {2, 999, 1000, false}, {2, 1000, 1000, true}, {1, 20_000, 0, false}} {
		runtime.GOMAXPROCS(c.cores)
		g, runs := sample.Bare(), atomic.Int32{}
		g.SplitRows = c.split
		g.Setup = func(w *ecs.World) {
			for i := range c.rows + 500 {
				e := w.Spawn(ecs.OwnedByWorld, sample.Positions)
				if i < c.rows { // only rows of the query count
					sample.Velocities.Add(w, e, sample.Vel{X: 1})
				}
			}
		}
		g.Systems = []ecs.System{{Name: "move", Parallel: ecs.Queries(sample.Moving), Run: func(w *ecs.World) {
			runs.Add(1)
			sample.Move(w)
		}}}
		sample.NewWorld(t, g).Step(ecs.TickInputs{})
		if n := runs.Load(); n > 1 != c.divided {
			t.Errorf("%d cores, %d rows, SplitRows %d: the system ran %d times", c.cores, c.rows, c.split, n)
		}
	}
}

func TestAParallelSystemMayOnlyWriteRowsOfItsQueries(t *testing.T) {
	manyCores(t)
	declared := ecs.NewQuery2(ecs.Write(sample.Positions), ecs.Read(sample.Velocities))
	forgotten := ecs.NewQuery1(ecs.Write(sample.Wides))
	lazy := ecs.NewDerived("lazy", func(*ecs.World, *int) {}, func(a, b *int) bool { return true })
	one := ecs.Entity{Row: 1}
	var kept *donburi.Entry
	for want, call := range map[string]func(w *ecs.World){
		"World.Spawn":     func(w *ecs.World) { w.Spawn(ecs.OwnedByWorld) },
		"World.Despawn":   func(w *ecs.World) { w.Despawn(one) },
		"World.Rand":      func(w *ecs.World) { w.Rand() },
		"World.Image":     func(w *ecs.World) { w.Image() },
		"World.Events":    func(w *ecs.World) { w.Events() },
		"World.Donburi":   func(w *ecs.World) { w.Donburi() },
		"World.Entry":     func(w *ecs.World) { w.Entry(one) },
		"World.Step":      func(w *ecs.World) { w.Step(ecs.TickInputs{}) },
		"Get of an entry": func(*ecs.World) { sample.Velocities.Get(kept) },
		"Component.Write": func(w *ecs.World) { sample.Bags.Put(w, one, sample.Bag{}) },
		"Component.Add":   func(w *ecs.World) { sample.Bags.Add(w, one, sample.Bag{}) },
		"Component.Remove in the parallel system move": func(w *ecs.World) { sample.Bags.Remove(w, one) },
		"Component.Seen":                     func(w *ecs.World) { sample.Bags.Seen(w, 0, one) },
		"Resource.Write":                     func(w *ecs.World) { sample.Scores.Write(w) },
		"Event.Emit":                         func(w *ecs.World) { sample.Hits.Emit(w, one, sample.Hit{}) },
		`reads rows of "pos", which it writ`: func(w *ecs.World) { sample.Positions.Read(w, one) },
		`move reads rows of "pos"`: func(w *ecs.World) {
			for range placed.All(w) {
			}
		},
		`writes "wide" and is not listed: add it to System.Parallel`: func(w *ecs.World) {
			for range forgotten.Runs(w) {
			}
		},
		"": func(w *ecs.World) { // all that it may do
			sample.Velocities.Read(w, one)
			sample.Positions.Has(w, one)
			sample.Scores.Read(w)
			lazy.Of(w)
			_, _, _ = w.Exists(one), w.Players(), w.Tick()
		},
	} {
		for _, split := range []int{1, math.MaxInt} {
			g := sample.Bare()
			g.SplitRows, g.Derived = split, []ecs.AnyDerived{lazy}
			g.Systems = []ecs.System{{Name: "move", Run: call, Parallel: ecs.Queries(declared)}}
			g.Setup = func(w *ecs.World) {
				sample.Velocities.Add(w, w.Spawn(ecs.OwnedByWorld, sample.Positions), sample.Vel{})
			}
			w := sample.NewWorld(t, g)
			kept = w.Entry(one)
			if want == "" {
				w.Step(ecs.TickInputs{})
				continue
			}
			sample.MustPanic(t, want, func() { w.Step(ecs.TickInputs{}) })
		}
	}
}

func TestAParallelSystemListsQueriesThatWrite(t *testing.T) {
	g := bounded()
	g.Systems = []ecs.System{{Name: "look", Run: func(*ecs.World) {}, Parallel: ecs.Queries(placed)}}
	g.SplitRows = -1
	err := g.Check()
	for _, want := range []string{"Game.Systems[0].Parallel[0] is a query that only reads", "Game.SplitRows is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestATickOnSeveralCoresAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	manyCores(t)
	g := sample.Bare()
	g.SplitRows = 1
	g.Systems = []ecs.System{
		{Name: "move", Run: sample.Move, Parallel: ecs.Queries(sample.Moving)},
		{Name: "drift", Run: drift, Parallel: ecs.Queries(drifting)}}
	w := sample.NewWorld(t, g)
	sample.Scatter(w)
	const ticks = 200
	var before, after runtime.MemStats
	for range 2 { // the first time starts the helpers
		runtime.ReadMemStats(&before)
		for range ticks {
			w.Step(ecs.TickInputs{})
		}
		runtime.ReadMemStats(&after)
	}
	if n := (after.Mallocs - before.Mallocs) / ticks; n != 0 { // AllocsPerRun would use one core
		t.Errorf("a tick allocates %d times", n)
	}
}
