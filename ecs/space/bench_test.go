package space_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/space"
)

// BenchmarkGrid measures a tick of 10,000 entities: the update of the grid, and a search.
func BenchmarkGrid(b *testing.B) {
	for _, c := range []struct {
		name string
		run  func(w *ecs.World)
	}{
		{"still", func(w *ecs.World) {}},
		{"moving", func(w *ecs.World) {
			for e := range moving.All(w) {
				e.A.Pos = e.A.Pos.Add(e.A.Vel)
			}
		}},
		{"search", func(w *ecs.World) {
			for i := range 1000 {
				for range grid.In(w, space.Around(fixed.Vec2{X: fixed.FromInt(i%30 - 15)}, fixed.One)) {
				}
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := balls(10_000, nil)
			g.Systems = ecs.Systems(c.run)
			w := newWorld(b, g)
			for range 3 {
				w.Step(ecs.TickInputs{})
			}
			b.ReportAllocs()
			for b.Loop() {
				w.Step(ecs.TickInputs{})
			}
		})
	}
}

func BenchmarkShapes(b *testing.B) {
	v := func(x, y int) fixed.Vec2 { return fixed.Vec2{X: fixed.FromInt(x), Y: fixed.FromInt(y)} }
	circle, box := space.Circle(v(0, 0), fixed.One), space.Box(v(0, 0), v(4, 2))
	turned := box.At(v(0, 0), fixed.One)
	capsule := space.Capsule(v(-1, 0), v(1, 0), fixed.One)
	for _, c := range []struct {
		name string
		a, b *space.Shape
	}{{"circle and box", &circle, &box}, {"circle and turned box", &circle, &turned}, {"box and turned box", &box, &turned}, {"capsule and turned box", &capsule, &turned}} {
		b.Run(c.name+"/touch", func(b *testing.B) {
			for b.Loop() {
				space.Touch(c.a, c.b)
			}
		})
		far := c.a.At(v(-9, 0), 0)
		b.Run(c.name+"/cast", func(b *testing.B) {
			for b.Loop() {
				space.Cast(&far, v(1, 0), fixed.FromInt(20), c.b)
			}
		})
	}
}
