package state

import (
	"fmt"
	"iter"
	"testing"

	"tendon/ecs"
)

// BenchmarkBytes reports the bytes of a moving entity in a second, and those of a full state. A full state has
// the row and the rounded numbers of each entity, 4 bytes for each.
func BenchmarkBytes(b *testing.B) {
	for _, motion := range []struct {
		name  string
		scene scene
	}{{"turning", scene{move: true, turn: true}}, {"bending", scene{move: true, turn: true, bend: true}}, {"straight", scene{move: true}}} {
		for _, rate := range []int{20, 60} {
			for _, n := range []int{50, 200, 1000} {
				b.Run(fmt.Sprintf("%s/rate=%d/entities=%d", motion.name, rate, n), func(b *testing.B) {
					bytes, seconds := 0, 0
					for b.Loop() {
						bytes += second(b, motion.scene, rate, n) + second(b, motion.scene, rate, n)
						seconds += 2
					}
					each := float64(bytes) / float64(seconds) / float64(n)
					b.ReportMetric(each, "B/entity/s")
					b.ReportMetric(each/float64(rate), "B/entity/delta")
					b.ReportMetric(each*8*float64(n)/1000, "kbit/s")
					b.ReportMetric(float64((2+4*(4+3+2))*rate), "full-B/entity/s")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// second returns the bytes of a second of a client at 100 ms and its round trip, after one to begin.
func second(b *testing.B, s scene, rate, n int) int {
	g := movingRig(b, n, true)
	*g.scene = s
	c := g.join(-1, 1<<16, link{base: 6})
	for i := range 2 * 60 {
		if i == 60 {
			c.bytes = 0
		}
		if (i+1)%(60/rate) != 0 {
			g.world.Step(ecs.TickInputs{})
		} else {
			g.tick()
		}
	}
	return c.bytes
}

// BenchmarkEntity reports the time to write and to read a delta, for each entity in it, and the time of Observe.
func BenchmarkEntity(b *testing.B) {
	for _, n := range []int{50, 200, 1000} {
		g := movingRig(b, n, true)
		g.scene.turn = true
		c := g.join(-1, 1<<16, link{base: 6})
		for range 60 {
			g.tick()
		}
		interest := iter.Seq2[ecs.Entity, float32](g.changes.All)
		run := func(name string, pause func(), part func()) {
			b.Run(fmt.Sprintf("%s/entities=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					pause()
					b.StartTimer()
					part()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entity")
			})
		}
		var delta []byte
		run("observe", func() { g.world.Step(ecs.TickInputs{}) }, func() { g.record(g.world) })
		step := func() {
			g.world.Step(ecs.TickInputs{})
			g.record(g.world)
			if c.receiver.Receive(delta) != nil || c.sender.Acked(c.receiver.Ack()) != nil {
				b.Fatal("refused")
			}
		}
		delta = c.sender.Append(nil, 1<<16, interest)
		run("encode", step, func() { delta = c.sender.Append(delta[:0], 1<<16, interest) })
		run("decode", func() {
			if c.sender.Acked(c.receiver.Ack()) != nil {
				b.Fatal("refused")
			}
			g.world.Step(ecs.TickInputs{})
			g.record(g.world)
			delta = c.sender.Append(delta[:0], 1<<16, interest)
		}, func() {
			if c.receiver.Receive(delta) != nil {
				b.Fatal("refused")
			}
		})
	}
	g := movingRig(b, 1000, false)
	c := g.join(-1, 1<<16, link{})
	for range 10 {
		g.tick()
	}
	delta := make([]byte, 0, 1100)
	b.Run("encode/at-rest=1000", func(b *testing.B) {
		for b.Loop() {
			delta = c.sender.Append(delta[:0], 1100, g.changes.All)
			if c.sender.Acked(c.receiver.Ack()) != nil {
				b.Fatal("refused")
			}
		}
	})
}
