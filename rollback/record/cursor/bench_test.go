//go:build unix

package cursor_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
)

// arena records ten minutes of eight bots.
func arena(b *testing.B, minutes int) []byte {
	g := rules.Game()
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		b.Fatal(err)
	}
	var file bytes.Buffer
	writer, err := record.NewWriter(&file, g, record.HeaderOf(g, 1, "bench"))
	if err != nil {
		b.Fatal(err)
	}
	inputs, dice := make([]ecs.InputBytes, g.MaxPlayers), image.NewRand(2)
	var state image.Snapshot
	for f := range minutes * 60 * g.TickRate {
		e := record.Tick{Tick: ecs.Tick(f + 1), Inputs: inputs}
		for p := range min(8, g.MaxPlayers) {
			if f == 0 {
				e.Orders = append(e.Orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(p)})
			} else if f%4 == 0 { // bots are expensive, and hold their keys for a while anyway
				inputs[p] = g.Bot(w, ecs.Player(p), dice)
			}
		}
		w.Step(ecs.TickInputs{Players: inputs, Orders: e.Orders})
		w.Image().Save(&state)
		e.Checksum = state.Checksum()
		if err = writer.Tick(e); err == nil && writer.ImageDue(record.RecordingImages) {
			err = writer.Image(&state)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := writer.End(); err != nil {
		b.Fatal(err)
	}
	return file.Bytes()
}

// BenchmarkSeek seeks to random ticks of ten minutes of arena, backwards, and in the steps of a slider. It reports the
// median and the worst seek, in time and in CPU time, and the memory of the cursor:
//
//	go test ./rollback/record/cursor -run - -bench Seek -benchtime 300x
func BenchmarkSeek(b *testing.B) {
	r, err := record.Open(arena(b, 10), rules.Game())
	if err != nil {
		b.Fatal(err)
	}
	for _, shape := range []struct {
		name string
		move func(dice *rand.Rand, now, last ecs.Tick) ecs.Tick
	}{
		{"anywhere", func(dice *rand.Rand, _, last ecs.Tick) ecs.Tick { return ecs.Tick(dice.Uint64N(uint64(last))) }},
		{"back", func(_ *rand.Rand, now, last ecs.Tick) ecs.Tick {
			if now == 0 {
				return last
			}
			return now - 1
		}},
		{"slider", func(_ *rand.Rand, now, last ecs.Tick) ecs.Tick { return (now + last/500) % last }},
	} {
		b.Run(shape.name, func(b *testing.B) {
			t, err := cursor.New(r, nil)
			if err != nil {
				b.Fatal(err)
			}
			dice := rand.New(rand.NewPCG(1, 1))
			var times, busy []time.Duration
			for b.Loop() {
				f := shape.move(dice, t.Tick(), t.Last())
				used, from := processors(b), time.Now()
				if err := t.Seek(f); err != nil {
					b.Fatal(err)
				}
				times, busy = append(times, time.Since(from)), append(busy, processors(b)-used)
			}
			for unit, of := range map[string][]time.Duration{"ms": times, "cpu-ms": busy} {
				slices.Sort(of)
				b.ReportMetric(float64(of[len(of)/2])/1e6, "median-"+unit)
				b.ReportMetric(float64(of[len(of)-1])/1e6, "worst-"+unit)
			}
			b.ReportMetric(float64(t.World().Image().PageBytes())/(1<<20), "MiB")
		})
	}
}

// processors returns the CPU time of the process.
func processors(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
