package main

import (
	"strings"
	"testing"

	"tendon/bench/internal/entities"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
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

// A row is selected by its name.
func TestRowsHaveUniqueNames(t *testing.T) {
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

// A load that writes more or less than its row says would give a figure of something else.
func TestLoadsWriteAsMuchAsTheirRowsSay(t *testing.T) {
	const n = 10_000
	for name, want := range map[string]int{"everything": n, "tenth": 1023, "declared": 1023, "scattered": n / 10, "hundredth": 255} {
		for _, l := range loads {
			if l.name != name {
				continue
			}
			w := l.world(n)
			var before, after image.Snapshot
			w.Image().Save(&before)
			w.Step(ecs.TickInputs{})
			w.Image().Save(&after)
			changed := 0
			for row := uint32(1); row <= n; row++ {
				e := ecs.Entity{Row: row}
				x, _ := entities.Positions.ReadAt(&before, e)
				if y, ok := entities.Positions.ReadAt(&after, e); ok && x != y {
					changed++
				}
			}
			if changed != want {
				t.Errorf("%s changes %d of %d entities, want %d", name, changed, n, want)
			}
		}
	}
}

// A tick of a relay match, with both clients, the server and seven ticks of rollback, leaves nothing to collect.
func TestATickOfAMatchAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	m := relayMatch()
	tick := func() {
		m.playOthers()
		m.playClient(0)
	}
	for range 2000 {
		tick()
	}
	before := m.clients[0].Stats()
	if n := testing.AllocsPerRun(1000, tick); n != 0 {
		t.Errorf("a tick of the server and both clients allocates %v times", n)
	}
	after := m.clients[0].Stats()
	if again := after.Resimulated - before.Resimulated; again < 6*1000 || after.Rollbacks-before.Rollbacks < 990 {
		t.Errorf("proves nothing: %d ticks resimulated by %d rollbacks", again, after.Rollbacks-before.Rollbacks)
	}
}

// Every shot spawns and despawns.
func TestSpawningAndDespawningAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	b := spawner{}
	w := entities.World(1000, nil, b.spawn, b.despawn)
	tick := func() { w.Step(ecs.TickInputs{}) }
	for range 10 {
		tick()
	}
	if n := testing.AllocsPerRun(100, tick); n != 0 {
		t.Errorf("%d spawns and despawns allocate %v times", spawnsPerTick, n)
	}
	if entities.Matches(w) != 1000 {
		t.Errorf("%d entities are left, want 1000", entities.Matches(w))
	}
}

// Every tick saves, and every rollback restores.
func TestSavingAndRestoringAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, l := range loads {
		w := l.world(5000)
		ring := make([]image.Snapshot, ringDepth)
		tick := func() {
			for range rewindTicks {
				w.Step(ecs.TickInputs{})
				w.Image().Save(&ring[w.Tick()%ringDepth])
			}
			w.Image().Restore(&ring[(w.Tick()-rewindTicks/2)%ringDepth])
		}
		for range 10 {
			tick()
		}
		if n := testing.AllocsPerRun(20, tick); n != 0 {
			t.Errorf("%s: saving and restoring allocates %v times", l.name, n)
		}
	}
}
