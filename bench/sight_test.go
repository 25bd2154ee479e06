package bench

import (
	"fmt"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/systems/predict"
)

const (
	sightEntities = 10_000
	sightRadius   = 20 // units
	sightSide     = 650
	sightClients  = 4
)

// mover is an entity that walks through a square and leaves it on the other side.
type mover struct{ Pos, Vel fixed.Vec2 }

var movers = ecs.NewComponent("mover", ecs.Roles[mover]{
	Lerp: func(a, b mover, t float64) mover { b.Pos = a.Pos.Lerp(b.Pos, fixed.FromFloat(t)); return b },
	Motion: func(m *mover) ecs.Motion {
		return ecs.Motion{Pos: fixed.Vec3{X: m.Pos.X, Y: m.Pos.Y}, Vel: fixed.Vec3{X: m.Vel.X, Y: m.Vel.Y}}
	},
	SetMotion: func(m *mover, to ecs.Motion) {
		m.Pos, m.Vel = fixed.Vec2{X: to.Pos.X, Y: to.Pos.Y}, fixed.Vec2{X: to.Vel.X, Y: to.Vel.Y}
	},
})

var moving = ecs.NewQuery1(ecs.Write(movers))

// sightGame returns a game in which all entities walk. Each player has one of them.
func sightGame() *ecs.Game {
	g := idle(60)
	g.MaxPlayers, g.Components = sightClients, ecs.Components(movers)
	put := func(w *ecs.World, o image.Owner) {
		side := int(fixed.FromInt(sightSide))
		movers.Put(w, w.Spawn(o, movers), mover{fixed.Vec2{X: fixed.Num(w.Rand().IntN(side)), Y: fixed.Num(w.Rand().IntN(side))},
			fixed.FromAngle(fixed.Num(w.Rand().IntN(int(fixed.Tau))), fixed.FromRatio(5, 60))})
	}
	g.Setup = func(w *ecs.World) {
		for range sightEntities {
			put(w, ecs.OwnedByWorld)
		}
	}
	g.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) { put(w, ecs.OwnedBy(p)) }
	g.Systems = ecs.Systems(func(w *ecs.World) {
		side := fixed.FromInt(sightSide)
		for r := range moving.Runs(w) {
			for i := range r.A {
				p := r.A[i].Pos.Add(r.A[i].Vel)
				r.A[i].Pos = fixed.Vec2{X: (p.X + side) % side, Y: (p.Y + side) % side}
			}
		}
	})
	return g
}

// BenchmarkSight measures a server whose clients see few of its entities.
func BenchmarkSight(b *testing.B) {
	game := sightGame()
	l := &loop{Loop: halves.NewLoop(b, halves.Config{Game: game, Seed: 1,
		Strategy: predict.New(predict.Config{Interest: fixed.FromInt(sightRadius)})}, 2, 2)}
	l.AddPlayers(sightClients, func(int, int) ecs.InputBytes { return ecs.InputBytes{} })
	l.Run(300)
	bare := newWorld(game)
	var state image.Snapshot
	var times, steps []float64
	for b.Loop() {
		times, steps = nil, nil
		for range 300 {
			from := time.Now()
			bare.Step(ecs.TickInputs{})
			bare.Image().Save(&state)
			steps = append(steps, float64(time.Since(from)))
			l.Next()
			from = time.Now()
			l.Serve()
			times = append(times, float64(time.Since(from)))
			for _, p := range l.Peers {
				p.Frame(p.Now())
			}
		}
	}
	step := measure.Of(1, steps...).Median
	measure.Row{
		What: fmt.Sprintf("predict server with %s entities that all walk, and %d clients that see those within %d units: a tick",
			thousands(sightEntities), sightClients, sightRadius),
		Reference: "the tick of the world alone, and its save", Unit: "tick",
	}.Report(b, measure.Of(step, times...))
}
