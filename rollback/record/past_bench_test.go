package record_test

import (
	"bytes"
	"fmt"
	"testing"

	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/record"
)

// BenchmarkRestart begins a journal of eight bots of the arena anew, with the states of some ticks before. It reports the size of
// the journal. A server of 60 ticks per second stores 15 states for views of 250 ms:
//
//	go test ./rollback/record -run - -bench Restart -benchtime 100x
func BenchmarkRestart(b *testing.B) {
	g := rules.Game()
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		b.Fatal(err)
	}
	inputs, dice, ring := make([]ecs.InputBytes, g.MaxPlayers), image.NewRand(2), rollback.NewSnapshots(128)
	for f := range 60 * g.TickRate {
		var orders []image.Order
		for p := range ecs.Player(8) {
			if f == 0 {
				orders = append(orders, image.Order{Kind: image.OrderJoin, Player: p})
			} else {
				inputs[p] = g.Bot(w, p, dice)
			}
		}
		w.Step(ecs.TickInputs{Players: inputs, Orders: orders})
		ring.Save(w)
	}
	h := record.HeaderOf(g, 1, "bench")
	h.Start = record.PositionOf(w, 0)
	now, _ := ring.At(w.Tick())
	for _, count := range []ecs.Tick{0, 15, 60} {
		b.Run(fmt.Sprint("past=", count), func(b *testing.B) {
			var past []*image.Snapshot
			for f := w.Tick() - count; f < w.Tick(); f++ {
				s, _ := ring.At(f)
				past = append(past, s)
			}
			var to bytes.Buffer
			var writer record.Writer
			b.ReportAllocs()
			for b.Loop() {
				to.Reset()
				if err := writer.Reset(&to, g, h); err != nil {
					b.Fatal(err)
				}
				if err := writer.Image(now, past...); err != nil {
					b.Fatal(err)
				}
				if err := writer.Flush(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(to.Len()), "bytes")
		})
	}
}
