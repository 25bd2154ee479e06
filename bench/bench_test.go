package main

import (
	"strings"
	"testing"

	"tendon/bench/internal/crowd"
	"tendon/ecs"
	"tendon/systems"
)

// BenchmarkRows runs each row of the table once and reports its ratio, for tools that read Go's benchmarks:
//
//	go test ./bench -bench 'Rows/^save' -benchtime 1x
func BenchmarkRows(b *testing.B) {
	for _, row := range rows() {
		b.Run(row.Name, func(b *testing.B) {
			if strings.HasPrefix(row.Name, "connections") {
				b.Skip("needs a process of its own: go run ./bench -row connections")
			}
			for range b.N {
				r := row.Run()
				b.ReportMetric(r.Median, "ratio")
				b.ReportMetric(r.Subject, "subject-ns")
				b.ReportMetric(r.Reference, "reference-ns")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// Rows are chosen by name, and -write needs to find each again.
func TestEveryRowHasANameOfItsOwn(t *testing.T) {
	names := map[string]bool{}
	for _, row := range rows() {
		if names[row.Name] || row.Name == "" || row.What == "" || row.Reference == "" || row.Run == nil {
			t.Errorf("%+v", row)
		}
		names[row.Name] = true
	}
	if len(names) < 30 {
		t.Errorf("%d rows", len(names))
	}
}

// The table says what a row's load is; a load that writes more or less would be a figure about something else.
func TestLoadsChangeWhatTheirRowsSay(t *testing.T) {
	const n = 10_000
	for name, want := range map[string]int{"everything": n, "tenth": 1023, "declared": 1023, "scattered": n / 10, "hundredth": 255} {
		for _, l := range loads {
			if l.name != name {
				continue
			}
			w := l.world(n)
			var before, after ecs.Snapshot
			w.Save(&before)
			w.Step(ecs.TickInputs{})
			w.Save(&after)
			changed := 0
			for row := uint32(1); row <= n; row++ {
				e := ecs.Entity{Row: row}
				x, _ := crowd.Positions.ReadAt(&before, e)
				if y, ok := crowd.Positions.ReadAt(&after, e); ok && x != y {
					changed++
				}
			}
			if changed != want {
				t.Errorf("%s changes %d of %d entities, want %d", name, changed, n, want)
			}
		}
	}
}

// A tick must not feed the collector: a whole relay match, client and server, with every tick rolled back seven deep.
func TestATickOfAMatchAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	d := newDuel(5 * systems.Second / 60 / 2)
	tick := func() {
		d.others()
		d.play(0)
	}
	for range 2000 {
		tick()
	}
	before := d.clients[0].Stats()
	if n := testing.AllocsPerRun(1000, tick); n != 0 {
		t.Errorf("a tick of the server and both clients allocates %v times", n)
	}
	after := d.clients[0].Stats()
	if again := after.Resimulated - before.Resimulated; again < 6*1000 || after.Rollbacks-before.Rollbacks < 990 {
		t.Errorf("proves nothing: %d ticks resimulated by %d rollbacks", again, after.Rollbacks-before.Rollbacks)
	}
}

// Births and deaths come with every shot.
func TestSpawningAndDespawningAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	b := births{}
	w := crowd.World(1000, nil, b.spawn, b.despawn)
	tick := func() { w.Step(ecs.TickInputs{}) }
	for range 10 {
		tick()
	}
	if n := testing.AllocsPerRun(100, tick); n != 0 {
		t.Errorf("%d spawns and despawns allocate %v times", bornPerTick, n)
	}
	if crowd.Matches(w) != 1000 {
		t.Errorf("%d entities are left, want 1000", crowd.Matches(w))
	}
}

// Saving and restoring come with every tick.
func TestSavingAndRestoringAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, l := range loads {
		w := l.world(5000)
		ring := make([]ecs.Snapshot, ringDepth)
		tick := func() {
			for range rewindTicks {
				w.Step(ecs.TickInputs{})
				w.Save(&ring[w.Tick()%ringDepth])
			}
			w.Restore(&ring[(w.Tick()-rewindTicks/2)%ringDepth])
		}
		for range 10 {
			tick()
		}
		if n := testing.AllocsPerRun(20, tick); n != 0 {
			t.Errorf("%s: saving and restoring allocates %v times", l.name, n)
		}
	}
}
