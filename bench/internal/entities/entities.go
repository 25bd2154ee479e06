// Package entities is the game of the benchmarks: entities of 72 bytes in four components, and systems that move them.
package entities

import (
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Position is 16 bytes, 256 in a page.
type Position struct{ X, Y fixed.Num }

// Velocity is 16 bytes, 256 in a page.
type Velocity struct{ X, Y fixed.Num }

// Body is 24 bytes, 128 in a page of 3 KiB.
type Body struct{ Angle, Spin, Mass fixed.Num }

// Life is 16 bytes, 256 in a page.
type Life struct {
	Health, Shield int32
	Fuel           fixed.Num
}

// Pad is a player's input.
type Pad struct{ DX, DY int8 }

// The components and the input of the game.
var (
	Positions  = ecs.NewComponent[Position]("position")
	Velocities = ecs.NewComponent[Velocity]("velocity")
	Bodies     = ecs.NewComponent[Body]("body")
	Lives      = ecs.NewComponent[Life]("life")
	Input      = ecs.NewInput[Pad]()

	// Moving is the query of Move.
	Moving = ecs.NewQuery2(ecs.Write(Positions), ecs.Read(Velocities))
)

// Game returns a game of n entities with these systems.
func Game(n int, systems ...func(w *ecs.World)) *ecs.Game {
	return &ecs.Game{Name: "entities", TickRate: 60, MaxPlayers: 2, Input: Input,
		Components: ecs.Components(Positions, Velocities, Bodies, Lives),
		Systems:    ecs.Systems(systems...),
		Setup: func(w *ecs.World) {
			for range n {
				e := w.Spawn(ecs.OwnedByWorld, Positions, Velocities, Bodies, Lives)
				Positions.Put(w, e, Position{fixed.Num(e.Row), 1})
				Velocities.Put(w, e, Velocity{1, fixed.Num(e.Row)})
				Bodies.Put(w, e, Body{1, fixed.Num(e.Row), 3})
				Lives.Put(w, e, Life{100, int32(e.Row), 1})
			}
		},
	}
}

// World returns a world of Game.
func World(n int, systems ...func(w *ecs.World)) *ecs.World {
	return measure.Must(ecs.NewWorld(Game(n, systems...), 1))
}

// Churned returns a World after ten ticks that replace a random fifth of the entities each, and a tick that removes a tenth.
func Churned(n int, systems ...func(w *ecs.World)) *ecs.World {
	share, spawn := 5, 0
	churn := func(w *ecs.World) {
		for range spawn {
			e := w.Spawn(ecs.OwnedByWorld, Positions, Velocities, Bodies, Lives)
			Velocities.Put(w, e, Velocity{1, 1})
		}
		spawn = 0 //tendon:allow no benchmark rewinds these ticks
		if share == 0 {
			return
		}
		for e := range Moving.All(w) {
			if w.Rand().IntN(share) == 0 {
				w.Despawn(e.Entity())
				spawn++ //tendon:allow no benchmark rewinds these ticks
			}
		}
	}
	w := World(n, append([]func(w *ecs.World){churn}, systems...)...)
	for range 10 {
		w.Step(ecs.TickInputs{})
	}
	share = 0
	w.Step(ecs.TickInputs{}) // only spawns
	share = 10
	w.Step(ecs.TickInputs{}) // only despawns
	share, spawn = 0, 0
	return w
}

// Matches returns how many entities have position and velocity.
func Matches(w *ecs.World) int {
	n := 0
	for r := range Moving.Runs(w) {
		n += len(r.A)
	}
	return n
}

// Move adds velocities to positions, a run at a time. It copies the slices into variables first, as loops over Runs
// should. The compiler keeps a slice variable in registers and reads a field of the run from memory at each use.
func Move(w *ecs.World) {
	for r := range Moving.Runs(w) {
		positions, velocities := r.A, r.B
		for i := range positions {
			positions[i].X += velocities[i].X
			positions[i].Y += velocities[i].Y
		}
	}
}

// MoveByFields is Move without the variables.
func MoveByFields(w *ecs.World) {
	for r := range Moving.Runs(w) {
		for i := range r.A {
			r.A[i].X += r.B[i].X
			r.A[i].Y += r.B[i].Y
		}
	}
}

// MoveOneByOne adds velocities to positions, an entity at a time.
func MoveOneByOne(w *ecs.World) {
	for e := range Moving.All(w) {
		e.A.X += e.B.X
		e.A.Y += e.B.Y
	}
}

// Slices returns the reference of Move for n entities: the loop over two plain slices.
func Slices(n int) func() {
	positions, velocities := make([]Position, n), make([]Velocity, n)
	return func() { moveSlices(positions, velocities) }
}

func moveSlices(positions []Position, velocities []Velocity) {
	for i := range positions {
		positions[i].X += velocities[i].X
		positions[i].Y += velocities[i].Y
	}
}
