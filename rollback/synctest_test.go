package rollback

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs"
	"tendon/ecs/image"
)

// RB-10, with the game of the tests; the demos call matchtest.SyncTest, which has the same depths.
func TestACleanGamePassesAtEveryDepth(t *testing.T) {
	for _, depth := range []int{1, 2, 7, 30} {
		for seed := range uint64(3) {
			report, err := SyncTest(SyncTestConfig{Game: skirmish(), Seed: seed, MaxDepth: depth, Ticks: 300})
			if err != nil {
				t.Fatalf("depth %d: %v", depth, err)
			}
			if report.Ticks != 300 || report.DeepestTick != uint64(depth) || report.StructuralChanges == 0 {
				t.Fatalf("depth %d: %v", depth, report)
			}
		}
	}
}

func TestACleanGamePassesUnderEveryPolicy(t *testing.T) {
	for _, policy := range policies {
		report, err := SyncTest(SyncTestConfig{Game: skirmish(), Policy: policy, Ticks: 300, SkipDeclarations: true})
		if err != nil || report.Ticks < 50 {
			t.Fatalf("%v: %v %v", policy, report, err)
		}
	}
}

// A seed is a bug report: it must repeat the run.
func TestASeedRepeatsTheRun(t *testing.T) {
	run := func(seed uint64) string {
		report, err := SyncTest(SyncTestConfig{Game: skirmish(), Seed: seed, Ticks: 200})
		if err != nil {
			t.Fatal(err)
		}
		return report.String()
	}
	if run(5) != run(5) || strings.TrimPrefix(run(5), "seed 5") == strings.TrimPrefix(run(6), "seed 6") {
		t.Fatal(run(5), run(6))
	}
}

var (
	bugFloat   = ecs.NewComponent[struct{ Speed float32 }]("speed")
	bugFloats  = ecs.NewQuery1(ecs.Write(bugFloat))
	bugQuiet   = ecs.NewComponent[struct{ X, Y int32 }]("quiet") // no system writes it
	bugReading = ecs.NewQuery1(ecs.Read(bugQuiet))
	bugRockets = ecs.NewQuery1(ecs.Read(skRockets))
	bugCount   = ecs.NewDerived("rockets", func(w *ecs.World, into *int) {
		*into = 0
		for range bugRockets.All(w) {
			*into++
		}
	}, func(a, b *int) bool { return *a == *b })
	bugGlobal int
	bugCalls  int
	bugMap    = map[int]uint32{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8}
)

// bugs are games with one planted bug each, and what the report must say.
var bugs = []struct {
	name  string
	plant func(g *ecs.Game)
	want  func(r *DesyncReport) bool
}{
	{"state in a Go global", func(g *ecs.Game) {
		bugGlobal = 0
		g.Systems = append(g.Systems, ecs.System{Name: "global", Run: func(w *ecs.World) {
			bugGlobal++
			if bugGlobal%50 == 0 {
				skScores.Write(w).Gifts++
			}
		}})
	}, firstDiffers("score", "Gifts")},
	{"a loop over a map", func(g *ecs.Game) {
		g.Systems = append(g.Systems, ecs.System{Name: "mapped", Run: func(w *ecs.World) {
			for _, v := range bugMap {
				skScores.Write(w).Points[3] = v
			}
		}})
	}, firstDiffers("score", "Points[3]")},
	{"a write that is declared as a read", func(g *ecs.Game) {
		quiet(g)
		g.Systems = append(g.Systems, ecs.System{Name: "sneak", Run: func(w *ecs.World) {
			for run := range bugReading.Runs(w) {
				for i := range run.A {
					run.A[i].X ^= 1
				}
			}
		}})
	}, func(r *DesyncReport) bool { return r.System == "sneak" && firstDiffers("quiet", "X")(r) }},
	{"a write that is declared as a read, of mispredicted branches only", func(g *ecs.Game) {
		quiet(g)
		g.Systems = append(g.Systems, ecs.System{Name: "sneak", Run: func(w *ecs.World) {
			for run := range bugReading.Runs(w) {
				if skInput.Of(w, 0).DX == 77 {
					run.A[0].Y++
				}
			}
		}})
	}, func(r *DesyncReport) bool { return r.System == "sneak" && firstDiffers("quiet", "Y")(r) }},
	{"an undeclared write in a hook", func(g *ecs.Game) {
		quiet(g)
		join := g.Join
		g.Join = func(w *ecs.World, p ecs.Player, card ecs.Card) {
			for run := range bugReading.Runs(w) {
				run.A[0].X++
			}
			join(w, p, card)
		}
	}, func(r *DesyncReport) bool { return r.System == "orders" && firstDiffers("quiet", "X")(r) }},
	{"derived data that is not kept in step", func(g *ecs.Game) {
		g.Derived = []ecs.AnyDerived{bugCount}
		g.Systems = append(g.Systems, ecs.System{Name: "count", Run: func(w *ecs.World) { bugCount.Of(w) }})
	}, func(r *DesyncReport) bool { return r.Derived != nil && strings.Contains(r.Error(), `"rockets"`) }},
	{"a walk in donburi's order", func(g *ecs.Game) {
		walkRockets(g, func(w *ecs.World) iter.Seq[*donburi.Entry] { return bugWalk().Iter(w.Donburi()) })
	},
		func(r *DesyncReport) bool {
			return firstDiffers("score", "Points[3]")(r) && r.UnorderedWalk && strings.Contains(r.Error(), "ecs.Ordered")
		}},
	{"one bit of a float", func(g *ecs.Game) {
		bugCalls = 0
		g.Components = append(g.Components, bugFloat)
		g.Setup = func(w *ecs.World) { w.Spawn(ecs.OwnedByWorld, bugFloat) }
		g.Systems = append(g.Systems, ecs.System{Name: "fuse", Run: func(w *ecs.World) {
			for e := range bugFloats.All(w) {
				bugCalls++
				e.A.Speed = float32(w.Tick()) / 3
				if bugCalls%37 == 0 {
					e.A.Speed = math.Float32frombits(math.Float32bits(e.A.Speed) ^ 1)
				}
			}
		}})
	}, func(r *DesyncReport) bool {
		return firstDiffers("speed", "Speed")(r) && r.Differences[0].Here != r.Differences[0].There
	}},
}

// bugWalk returns a donburi query of rockets. It is new in each walk, since donburi's caches are not for two worlds.
func bugWalk() *donburi.Query { return donburi.NewQuery(filter.Contains(skRockets)) }

// walkRockets adds a system whose result depends on the order of rockets.
func walkRockets(g *ecs.Game, walk func(w *ecs.World) iter.Seq[*donburi.Entry]) {
	g.Systems = append(g.Systems, ecs.System{Name: "walk", Run: func(w *ecs.World) {
		score := skScores.Write(w)
		for entry := range walk(w) {
			e, _ := ecs.EntityOf(entry)
			score.Points[3] = score.Points[3]*31 + e.Row
		}
	}})
}

// The same system passes when it walks in the order of rows.
func TestAnOrderedWalkOfDonburiIsDeterministic(t *testing.T) {
	g, query := skirmish(), bugWalk()
	walkRockets(g, func(w *ecs.World) iter.Seq[*donburi.Entry] { return ecs.Ordered(w, query) })
	if _, err := SyncTest(SyncTestConfig{Game: g, Seed: 9, Ticks: 2000}); err != nil {
		t.Fatal(err)
	}
}

// quiet gives the game an entity that rests.
func quiet(g *ecs.Game) {
	g.Components = append(g.Components, bugQuiet)
	g.Setup = func(w *ecs.World) { w.Spawn(ecs.OwnedByWorld, bugQuiet) }
}

func firstDiffers(component, field string) func(r *DesyncReport) bool {
	return func(r *DesyncReport) bool {
		return len(r.Differences) > 0 && r.Differences[0].Component == component && r.Differences[0].Field == field
	}
}

func TestPlantedBugsAreNamed(t *testing.T) {
	for _, bug := range bugs {
		for _, skip := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, skip %v", bug.name, skip), func(t *testing.T) {
				g := skirmish()
				bug.plant(g)
				input := func(f ecs.Tick, p ecs.Player) ecs.InputBytes { // never 77 in truth
					return skInput.Pack(skPad{DX: int8(f / 5 % 3), Fire: (uint64(f)+uint64(p))%5 == 0})
				}
				c := SyncTestConfig{Game: g, Seed: 7, Ticks: 2000, SkipDeclarations: skip, Input: input}
				_, err := SyncTest(c)
				var report *DesyncReport
				if !errors.As(err, &report) || !bug.want(report) {
					t.Fatalf("%v", err)
				}
				if text := report.String(); !strings.Contains(text, "seed 7") || !strings.Contains(text, "input of player 3") {
					t.Fatal(text)
				}
			})
		}
	}
}

func TestARunThatProvesNothingFails(t *testing.T) {
	still := func(ecs.Tick, ecs.Player) ecs.InputBytes { return ecs.InputBytes{} }
	empty := skirmish()
	empty.Systems, empty.Join, empty.Leave, empty.Orders = nil, nil, nil, nil
	counting := skirmish()
	counting.Join, counting.Leave, counting.Orders = nil, nil, nil
	counting.Systems = []ecs.System{{Name: "count", Run: func(w *ecs.World) {
		skScores.Write(w).Gifts += uint32(skInput.Of(w, 0).DX)
	}}}
	for name, c := range map[string]SyncTestConfig{
		"changes of the state": {Game: empty},
		"spawns or despawns":   {Game: counting},
		"wrong inputs":         {Game: skirmish(), Orders: func(ecs.Tick) []image.Order { return nil }, Input: still},
	} {
		if _, err := SyncTest(c); !errors.Is(err, ErrProvesNothing) {
			t.Errorf("%s: %v", name, err)
		}
		c.Ticks = provesAfter
		if _, err := SyncTest(c); err != nil {
			t.Errorf("%s, too short to prove anything: %v", name, err)
		}
	}
	if report, err := SyncTest(SyncTestConfig{Game: counting, AllowStatic: true}); err != nil {
		t.Error(report, err)
	}
}

func TestSyncTestStopsAndReportsProgress(t *testing.T) {
	last := ecs.Tick(0)
	c := SyncTestConfig{Game: skirmish(), Progress: func(f ecs.Tick) bool { last = f; return f < 10 }}
	if _, err := SyncTest(c); err != errStopped || last != 10 {
		t.Fatal(last, err)
	}
	for _, c := range []SyncTestConfig{{}, {Game: skirmish(), MaxDepth: -1}} {
		if _, err := SyncTest(c); err == nil || !strings.Contains(err.Error(), "SyncTestConfig.") {
			t.Fatal(err)
		}
	}
	if _, err := SyncTest(SyncTestConfig{Game: &ecs.Game{}}); err == nil || !strings.Contains(err.Error(), "Game.Name") {
		t.Fatal(err)
	}
}

// Peers exchange images after their checksums differed.
func TestImagesOfTwoPeersAreComparedByName(t *testing.T) {
	var images [2][]byte
	for i := range images {
		tl := seated(t, Config{})
		step(t, tl, 3)
		for e := range skSteered.All(tl.world) {
			e.A.VY += int32(i * 7)
		}
		var s image.Snapshot
		tl.world.Image().Save(&s)
		images[i] = s.AppendImage(nil)
	}
	report, err := compareImages(skirmish(), images[0], images[1])
	if err != nil || report == nil || report.Tick != 4 {
		t.Fatal(report, err)
	}
	d := report.Differences
	if len(d) != 2 || d[1].Component != "body" || d[1].Field != "VY" || d[1].Here != "0" || d[1].There != "7" || d[1].Entity.Owner() != ecs.OwnedBy(1) {
		t.Fatal(report)
	}
	differing := 0
	for _, c := range report.Components {
		if c.Here != c.There {
			differing++
			if c.Name != "body" {
				t.Fatal(c)
			}
		}
	}
	if differing != 1 {
		t.Fatal(report)
	}
	if report, err := compareImages(skirmish(), images[0], images[0]); report != nil || err != nil {
		t.Fatal(report, err)
	}
	if _, err := compareImages(skirmish(), images[0], images[1][:40]); !errors.Is(err, image.ErrImage) {
		t.Fatal(err)
	}
}

// compareImages returns the report on two images, nil if they are equal.
func compareImages(g *ecs.Game, here, there []byte) (*DesyncReport, error) {
	var snapshots [2]image.Snapshot
	for i, encoded := range [][]byte{here, there} {
		w, err := ecs.NewWorld(g, 0)
		if err != nil {
			return nil, err
		}
		if err := w.Image().Load(encoded); err != nil {
			return nil, err
		}
		w.Image().Save(&snapshots[i])
	}
	return CompareSnapshots(g, &snapshots[0], &snapshots[1]), nil
}

type parallelBody struct{ X, V int32 }

var (
	parallelBodies = ecs.NewComponent[parallelBody]("body")
	parallelMoving = ecs.NewQuery1(ecs.Write(parallelBodies))
)

// parallelGame returns a game with one parallel system. The entities of its two owners fit into one page.
func parallelGame(system func(w *ecs.World)) *ecs.Game {
	return &ecs.Game{Name: "parallel", TickRate: 60, MaxPlayers: 2, Input: skInput, Components: ecs.Components(parallelBodies),
		Systems: []ecs.System{{Name: "parallel", Run: system, Parallel: ecs.Queries(parallelMoving)}},
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			for i := range 20 {
				e := w.Spawn(ecs.OwnedBy(p), parallelBodies)
				parallelBodies.Put(w, e, parallelBody{X: int32(i), V: int32(p) + 1})
			}
		}}
}

// A parallel system whose rows depend on each other differs from one core in the first ticks. Order within a loop counts too,
// though no share ends there.
func TestSyncTestFindsRowsThatDependOnEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		system func(w *ecs.World)
		sound  bool
	}{
		"each row by itself": {func(w *ecs.World) {
			for e := range parallelMoving.All(w) {
				e.A.X += e.A.V + int32(skInput.Of(w, 1).DX)
			}
		}, true},
		"a write to the neighbour in a run": {func(w *ecs.World) {
			for r := range parallelMoving.Runs(w) {
				for i := range r.A[1:] {
					r.A[i+1].X += r.A[i].V
				}
			}
		}, false},
		"a read of the neighbour in a run": {func(w *ecs.World) {
			for r := range parallelMoving.Runs(w) {
				for i := range r.A[1:] {
					r.A[i].X += r.A[i+1].X
				}
			}
		}, false},
		"a number that counts up from row to row": {func(w *ecs.World) {
			n := int32(0)
			for e := range parallelMoving.All(w) {
				n++
				e.A.X += n
			}
		}, false},
		"a value carried to the next row": {func(w *ecs.World) {
			last := parallelBody{}
			for e := range parallelMoving.All(w) {
				last, e.A.X = *e.A, e.A.X+last.X
			}
		}, false},
		"a pointer to the row before": {func(w *ecs.World) {
			var last *parallelBody
			for e := range parallelMoving.All(w) {
				if last != nil {
					last.X += e.A.V
				}
				last = e.A
			}
		}, false},
	} {
		_, err := SyncTest(SyncTestConfig{Game: parallelGame(c.system), Ticks: 60, Seed: 2})
		var report *DesyncReport
		if found := errors.As(err, &report); found == c.sound || c.sound && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if found && (report.Tick > 3 || !strings.Contains(report.Error(), "body of entity")) {
			t.Errorf("%s: %v", name, report)
		}
	}
}

// A system that writes every entity, as donburi code does, runs on a client that predicts only its own entities.
func TestSyncTestRunsLimitedTicks(t *testing.T) {
	g := skirmish()
	g.Systems = append(g.Systems, ecs.System{Name: "touch", Run: func(w *ecs.World) {
		for e := range touched.All(w) {
			skBodies.Write(w, e.Entity()).X++
		}
	}})
	report, err := SyncTest(SyncTestConfig{Game: g, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if report.LimitedTicks < 70 {
		t.Errorf("%d ticks were limited, want at least 70", report.LimitedTicks)
	}
	if !slices.ContainsFunc(report.DiscardedWrites, func(d ecs.DiscardedWrites) bool { return d.System == "touch" && d.Writes > 100 }) {
		t.Errorf("discarded writes: %v, want some of system touch", report.DiscardedWrites)
	}
}
