package bench

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Queries of the parallel systems. Each writes what the next one reads.
var (
	steering = ecs.NewQuery2(ecs.Write(entities.Velocities), ecs.Read(entities.Positions))
	drifting = ecs.NewQuery2(ecs.Write(entities.Positions), ecs.Write(entities.Velocities))
	turning  = ecs.NewQuery2(ecs.Write(entities.Bodies), ecs.Read(entities.Velocities))
	living   = ecs.NewQuery2(ecs.Write(entities.Lives), ecs.Read(entities.Bodies))
)

// steer turns velocities to the origin, with a limit.
func steer(w *ecs.World) {
	for e := range steering.All(w) {
		v, to := fixed.Vec2{X: e.A.X, Y: e.A.Y}, fixed.Vec2{X: -e.B.X, Y: -e.B.Y}
		v = v.Add(to.Normalize().Scale(fixed.One / 8)).Limit(4 * fixed.One)
		e.A.X, e.A.Y = v.X, v.Y
	}
}

// drift adds velocities to positions and reflects them at walls.
func drift(w *ecs.World) {
	for e := range drifting.All(w) {
		e.A.X += e.B.X / 64
		e.A.Y += e.B.Y / 64
		if e.A.X.Abs() > 64*fixed.One {
			e.B.X = -e.B.X
		}
		if e.A.Y.Abs() > 64*fixed.One {
			e.B.Y = -e.B.Y
		}
	}
}

// turn turns bodies in the direction of their velocities.
func turn(w *ecs.World) {
	for e := range turning.All(w) {
		e.A.Spin = (fixed.Atan2(e.B.Y, e.B.X) - e.A.Angle).Clamp(-fixed.One/16, fixed.One/16)
		e.A.Angle += e.A.Spin
	}
}

// live burns fuel and restores health.
func live(w *ecs.World) {
	for e := range living.All(w) {
		if e.A.Fuel -= e.B.Spin.Abs(); e.A.Fuel < 0 {
			e.A.Fuel, e.A.Health = fixed.One, e.A.Health-1
		}
		if e.A.Health <= 0 {
			e.A.Health = 100
		}
	}
}

// all is steer, drift, turn and live in one system.
func all(w *ecs.World) {
	steer(w)
	drift(w)
	turn(w)
	live(w)
}

// herd returns a world of n entities that are steered, moved, turned and aged, by parallel systems.
func herd(n, splitRows int) *ecs.World {
	return parallel(n, splitRows,
		ecs.System{Name: "steer", Run: steer, Parallel: ecs.Queries(steering)},
		ecs.System{Name: "drift", Run: drift, Parallel: ecs.Queries(drifting)},
		ecs.System{Name: "turn", Run: turn, Parallel: ecs.Queries(turning)},
		ecs.System{Name: "live", Run: live, Parallel: ecs.Queries(living)})
}

// parallel returns a world of n entities with these systems.
func parallel(n, splitRows int, systems ...ecs.System) *ecs.World {
	g := entities.Game(n)
	g.SplitRows, g.Systems = splitRows, systems
	return newWorld(g)
}

// BenchmarkParallel measures what parallel systems gain on two cores, and what they cost where they run on one.
func BenchmarkParallel(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, n := range sizes {
		b.Run("resimulate/"+thousands(n), func(b *testing.B) {
			one, two := newTimeline(herd(n, math.MaxInt)), newTimeline(herd(n, 1))
			one.forward(2 * rewindTicks)
			two.forward(2 * rewindTicks)
			row := measure.Row{
				What:      fmt.Sprintf("rewind 8 and resimulate, %s entities, four parallel systems on two cores", thousands(n)),
				Reference: "the same systems on one core",
				Unit:      "tick",
			}
			if n == 10_000 {
				row.Reach = 1 / 1.6
			}
			row.Report(b, measure.Compare(b,
				measure.Op{Units: rewindTicks, Run: one.rollBack},
				measure.Op{Units: rewindTicks, Run: two.rollBack}))
		})
	}
	b.Run("joined/10k", func(b *testing.B) {
		joined := parallel(10_000, 1, ecs.System{Name: "all", Run: all, Parallel: ecs.Queries(steering, drifting, turning, living)})
		measure.Row{
			What:      "8 ticks of 10k entities, the four systems as one parallel system on two cores",
			Reference: "four parallel systems on two cores",
			Unit:      "tick",
		}.Report(b, measure.Compare(b,
			measure.Op{Units: rewindTicks, Run: steps(herd(10_000, 1))},
			measure.Op{Units: rewindTicks, Run: steps(joined)}))
	})
	b.Run("cheapest/20k", func(b *testing.B) {
		system := ecs.System{Name: "move", Run: entities.Move, Parallel: ecs.Queries(entities.Moving)}
		measure.Row{
			What:      "position += velocity, 20k entities, on two cores: the least work that is divided by default",
			Reference: "the same on one core",
			Unit:      "tick",
		}.Report(b, measure.Compare(b,
			measure.Op{Units: rewindTicks, Run: steps(parallel(20_000, math.MaxInt, system))},
			measure.Op{Units: rewindTicks, Run: steps(parallel(20_000, 1, system))}))
	})
	b.Run("one/10k", func(b *testing.B) {
		plain := parallel(10_000, 0, ecs.Systems(steer, drift, turn, live)...)
		measure.Row{
			What:      "8 ticks of 10k entities, four parallel systems on one core, as by default",
			Reference: "four systems that are not parallel",
			Unit:      "tick",
		}.Report(b, measure.Compare(b,
			measure.Op{Units: rewindTicks, Run: steps(plain)},
			measure.Op{Units: rewindTicks, Run: steps(herd(10_000, 0))}))
	})
}
