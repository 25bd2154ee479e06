package bench

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
)

const (
	// ringDepth is the number of snapshots in rotation, and of the reference's buffers.
	ringDepth = 12
	// pageRows is the number of rows after which every component's page ends.
	pageRows = 256
	// entityWords is the size of an entity's components, in words of 8 bytes.
	entityWords = 9
	// rewindTicks is the distance of the rows of restoring and rewinding.
	rewindTicks = 8
	// pieces is the reason why rows that copy most pages may exceed their reach.
	pieces = "copied page by page, one memcpy is prefetched and, above 1 MB, written past the caches"
)

// load is what a tick writes. The reference writes every step-th entity of the first 1/share of all entities.
type load struct {
	name, what  string
	reach       float64 // of saving
	share, step int
	world       func(n int) *ecs.World
}

var loads = []load{
	{"everything", "everything written", 1.3, 1, 1,
		func(n int) *ecs.World { return entities.World(n, touch(everyone)) }},
	{"tenth", "10 % of the pages declared and written", 0.3, 10, 1,
		func(n int) *ecs.World { return chosenWorld(n, below(pagesOf(n, 10)), touch(chosen)) }},
	{"declared", "everything declared, 10 % of the pages changed", 1.2, 10, 1,
		func(n int) *ecs.World { return entities.World(n, touchBelow(uint32(pagesOf(n, 10)))) }},
	{"scattered", "10 % of the entities, scattered", 1.3, 1, 10,
		func(n int) *ecs.World {
			return chosenWorld(n, func(row uint32) bool { return row%10 == 0 }, touch(chosen))
		}},
	{"hundredth", "1 % of the pages declared and written", 0.08, 100, 1, hundredth},
}

// hundredth returns a world that writes 1 % of the pages. With few entities, these are the pages of two components.
func hundredth(n int) *ecs.World {
	if n < 50_000 {
		return chosenWorld(n, below(pageRows), touchTwo)
	}
	return chosenWorld(n, below(pagesOf(n, 100)), touch(chosen))
}

// pagesOf returns the number of rows whose pages are one share-th of all pages, in whole pages.
func pagesOf(n, share int) int { return (n/share + pageRows - 1) / pageRows * pageRows }

// below chooses the entities of the first rows.
func below(rows int) func(uint32) bool { return func(row uint32) bool { return row < uint32(rows) } }

// isChosen is the component of the entities that a system writes.
var isChosen = ecs.NewComponent[struct{}]("chosen")

// chosenWorld returns a world of entities in which some, by row, are chosen.
func chosenWorld(n int, choose func(row uint32) bool, system func(w *ecs.World)) *ecs.World {
	g := entities.Game(n, system)
	populate := g.Setup
	g.Components = append(g.Components, ecs.Components(isChosen)...)
	g.Setup = func(w *ecs.World) {
		populate(w)
		for row := uint32(1); row <= uint32(n); row++ {
			if choose(row) {
				isChosen.Add(w, ecs.Entity{Row: row}, struct{}{})
			}
		}
	}
	return newWorld(g)
}

// wholeQuery is a query of all components.
type wholeQuery = ecs.Query4[entities.Position, *entities.Position, entities.Velocity, *entities.Velocity,
	entities.Body, *entities.Body, entities.Life, *entities.Life]

var (
	positions, velocities = ecs.Write(entities.Positions), ecs.Write(entities.Velocities)
	bodies, lives         = ecs.Write(entities.Bodies), ecs.Write(entities.Lives)

	everyone  = ecs.NewQuery4(positions, velocities, bodies, lives)
	chosen    = ecs.NewQuery4(positions, velocities, bodies, lives, ecs.With(isChosen))
	chosenTwo = ecs.NewQuery2(positions, velocities, ecs.With(isChosen))
)

// touch returns a system that declares and writes every component of a query's entities.
//
// It and touchBelow are not inlined: in a caller the compiler would not inline the iterator in the system, and each tick
// would allocate it.
//
//go:noinline
func touch(query *wholeQuery) func(w *ecs.World) {
	return func(w *ecs.World) {
		for r := range query.Runs(w) {
			for i := range r.A {
				r.A[i].X++
				r.B[i].X++
				r.C[i].Angle++
				r.D[i].Health++
			}
		}
	}
}

// touchTwo declares and writes two components of the chosen entities.
func touchTwo(w *ecs.World) {
	for r := range chosenTwo.Runs(w) {
		for i := range r.A {
			r.A[i].X++
			r.B[i].X++
		}
	}
}

// touchBelow returns a system that declares that it writes everything, and writes the first rows.
//
//go:noinline
func touchBelow(rows uint32) func(w *ecs.World) {
	return func(w *ecs.World) {
		for r := range everyone.Runs(w) {
			for i := range r.A {
				if r.Entities[i].Row >= rows {
					break
				}
				r.A[i].X++
				r.B[i].X++
				r.C[i].Angle++
				r.D[i].Health++
			}
		}
	}
}

// buffer is the reference's state: the live bytes of all entities in one slice, column by column, and copies of the last
// ticks.
type buffer struct {
	load
	n     int
	words []int64
	ring  [ringDepth][]int64
	tick  int
}

func newBuffer(l load, n int) *buffer {
	b := &buffer{load: l, n: n, words: make([]int64, n*entityWords)}
	for i := range b.ring {
		b.ring[i] = make([]int64, len(b.words))
		for j := range b.ring[i] {
			b.ring[i][j] = int64(j) // so that the memory is mapped
		}
	}
	return b
}

// write changes all four components of the entities of the load, as its system does.
func (b *buffer) write() {
	positions, velocities, bodies, lives := b.words[:2*b.n], b.words[2*b.n:4*b.n], b.words[4*b.n:7*b.n], b.words[7*b.n:]
	for i := 0; i < b.n/b.share; i += b.step {
		positions[2*i]++
		velocities[2*i]++
		bodies[3*i]++
		lives[2*i]++
	}
}

// save copies one share-th of the words into the ring.
func (b *buffer) save(share int) {
	b.tick++
	copy(b.ring[b.tick%ringDepth], b.words[:len(b.words)/share])
}

// saver is a world with snapshots of its last ticks.
type saver struct {
	*ecs.World
	ring [ringDepth]image.Snapshot
}

func (s *saver) step()                            { s.Step(ecs.TickInputs{}) }
func (s *saver) save()                            { s.Image().Save(s.at(0)) }
func (s *saver) at(back ecs.Tick) *image.Snapshot { return &s.ring[(s.Tick()-back)%ringDepth] }

// ahead plays rewindTicks and saves them.
func (s *saver) ahead() {
	for range rewindTicks {
		s.step()
		s.save()
	}
}

// eachSize runs a benchmark for these loads and all sizes.
func eachSize(b *testing.B, loads []load, run func(b *testing.B, ref *buffer, w *saver)) {
	for _, l := range loads {
		for _, n := range sizes {
			b.Run(l.name+"/"+thousands(n), func(b *testing.B) { run(b, newBuffer(l, n), &saver{World: l.world(n)}) })
		}
	}
}

// BenchmarkSave measures saving a tick, without its checksum.
func BenchmarkSave(b *testing.B) {
	eachSize(b, loads, func(b *testing.B, ref *buffer, w *saver) {
		measure.Row{
			What:      fmt.Sprintf("save a tick of %s entities, %s", thousands(ref.n), ref.what),
			Reference: "one memcpy of the live bytes into a ring of 12 buffers",
			Unit:      "tick", Reach: ref.reach, Missed: pieces,
		}.Report(b, measure.Compare(b,
			measure.Op{Prepare: ref.write, Run: func() { ref.save(1) }},
			measure.Op{Prepare: w.step, Run: w.save}))
	})
}

// BenchmarkRestore measures restoring a saved tick. The reference copies the pages that differ.
func BenchmarkRestore(b *testing.B) {
	eachSize(b, loads[:2], func(b *testing.B, ref *buffer, w *saver) {
		differing := len(ref.words) / ref.share
		w.save()
		w.ahead()
		measure.Row{
			What:      fmt.Sprintf("restore 8 ticks back, %s entities, %s", thousands(ref.n), ref.what),
			Reference: "memcpy of the pages that differ",
			Unit:      "restore", Reach: 1.2, Plus: 2000, Missed: pieces,
		}.Report(b, measure.Compare(b,
			measure.Op{
				Prepare: func() {
					for range rewindTicks {
						ref.write()
						ref.save(ref.share)
					}
				},
				Run: func() { copy(ref.words[:differing], ref.ring[(ref.tick-rewindTicks+1)%ringDepth]) },
			},
			measure.Op{Prepare: w.ahead, Run: func() { w.Image().Restore(w.at(rewindTicks)) }}))
	})
}

// BenchmarkChecksum measures the checksum of a tick that was just saved.
func BenchmarkChecksum(b *testing.B) {
	eachSize(b, loads[1:2], func(b *testing.B, ref *buffer, w *saver) {
		all, sink := unsafe.Slice((*byte)(unsafe.Pointer(&ref.words[0])), len(ref.words)*8), uint64(0)
		measure.Row{
			What:      fmt.Sprintf("checksum of a saved tick of %s entities, 10 %% of the pages changed", thousands(ref.n)),
			Reference: "xxhash of all live bytes in one piece",
			Unit:      "tick", Reach: 0.25,
		}.Report(b, measure.Compare(b,
			measure.Op{Prepare: func() { ref.write(); ref.save(1) }, Run: func() { sink += xxhash.Sum64(all) }},
			measure.Op{Prepare: func() { w.step(); w.save() }, Run: func() { sink += uint64(w.at(0).Checksum()) }}))
	})
}

// A load that writes more or less than its row says would give a figure of something else.
func TestLoadsWriteAsMuchAsTheirRowsSay(t *testing.T) {
	const n = 10_000
	for i, want := range []int{n, 1023, 1023, n / 10, 255} {
		w := saver{World: loads[i].world(n)}
		w.save()
		w.step()
		w.save()
		changed := 0
		for row := uint32(1); row <= n; row++ {
			e := ecs.Entity{Row: row}
			x, _ := entities.Positions.ReadAt(w.at(1), e)
			if y, ok := entities.Positions.ReadAt(w.at(0), e); ok && x != y {
				changed++
			}
		}
		if changed != want {
			t.Errorf("%s changes %d of %d entities, want %d", loads[i].name, changed, n, want)
		}
	}
}

// Every tick saves, and every rollback restores.
func TestSavingAndRestoringAllocatesNothing(t *testing.T) {
	for _, l := range loads {
		w := saver{World: l.world(5000)}
		allocatesNothing(t, 10, func() {
			w.ahead()
			w.Image().Restore(w.at(rewindTicks / 2))
		})
	}
}

// allocatesNothing fails the test if f allocates after some calls.
func allocatesNothing(t *testing.T, warm int, f func()) {
	t.Helper()
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for range warm {
		f()
	}
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
