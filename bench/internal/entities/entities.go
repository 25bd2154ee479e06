// Package entities is the game of the benchmarks: entities of 72 bytes in four components, and systems that write a
// chosen part of them.
package entities

import (
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

// EntityBytes is the size of an entity's components.
const EntityBytes = 72

// Pad is a player's input.
type Pad struct{ DX, DY int8 }

// The components and the input of the game.
var (
	Positions  = ecs.NewComponent[Position]("position")
	Velocities = ecs.NewComponent[Velocity]("velocity")
	Bodies     = ecs.NewComponent[Body]("body")
	Lives      = ecs.NewComponent[Life]("life")
	Chosen     = ecs.NewComponent[struct{}]("chosen") // entities that Touch writes
	Input      = ecs.NewInput[Pad]()
)

var (
	moving   = ecs.NewQuery2(ecs.Write(Positions), ecs.Read(Velocities))
	everyone = ecs.NewQuery4(ecs.Write(Positions), ecs.Write(Velocities), ecs.Write(Bodies), ecs.Write(Lives))
	chosen   = ecs.NewQuery4(ecs.Write(Positions), ecs.Write(Velocities), ecs.Write(Bodies), ecs.Write(Lives), ecs.With(Chosen))
	chosen2  = ecs.NewQuery2(ecs.Write(Positions), ecs.Write(Velocities), ecs.With(Chosen))
)

// Game returns a game of n entities with these systems. choose reports, by row, whether an entity is Chosen. Optional.
func Game(n int, choose func(row uint32) bool, systems ...func(w *ecs.World)) *ecs.Game {
	return &ecs.Game{Name: "entities", TickRate: 60, MaxPlayers: 2, Input: Input,
		Components: ecs.Components(Positions, Velocities, Bodies, Lives, Chosen),
		Systems:    ecs.Systems(systems...),
		Setup:      func(w *ecs.World) { populate(w, n, choose) },
	}
}

// World returns a world of Game.
func World(n int, choose func(row uint32) bool, systems ...func(w *ecs.World)) *ecs.World {
	return New(Game(n, choose, systems...))
}

// New returns a world of a valid game.
func New(g *ecs.Game) *ecs.World {
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		panic(err)
	}
	return w
}

func populate(w *ecs.World, n int, choose func(row uint32) bool) {
	for range n {
		e := w.Spawn(ecs.OwnedByWorld, Positions, Velocities, Bodies, Lives)
		Positions.Put(w, e, Position{fixed.Num(e.Row), 1})
		Velocities.Put(w, e, Velocity{1, fixed.Num(e.Row)})
		Bodies.Put(w, e, Body{1, fixed.Num(e.Row), 3})
		Lives.Put(w, e, Life{100, int32(e.Row), 1})
		if choose != nil && choose(e.Row) {
			Chosen.Add(w, e, struct{}{})
		}
	}
}

// Below chooses the entities of the first rows, in whole pages.
func Below(rows int) func(uint32) bool { return func(row uint32) bool { return row < uint32(rows) } }

// Scattered chooses every k-th entity.
func Scattered(k uint32) func(uint32) bool { return func(row uint32) bool { return row%k == 0 } }

// Move adds velocities to positions, a run at a time. It copies the slices into variables first, as loops over Runs
// should. The compiler keeps a slice variable in registers and reads a field of the run from memory at each use.
func Move(w *ecs.World) {
	for r := range moving.Runs(w) {
		positions, velocities := r.A, r.B
		for i := range positions {
			positions[i].X += velocities[i].X
			positions[i].Y += velocities[i].Y
		}
	}
}

// MoveByFields is Move without the variables.
func MoveByFields(w *ecs.World) {
	for r := range moving.Runs(w) {
		for i := range r.A {
			r.A[i].X += r.B[i].X
			r.A[i].Y += r.B[i].Y
		}
	}
}

// MoveOneByOne adds velocities to positions, an entity at a time.
func MoveOneByOne(w *ecs.World) {
	for e := range moving.All(w) {
		e.A.X += e.B.X
		e.A.Y += e.B.Y
	}
}

// MoveSlices is the reference of Move: the loop over two plain slices.
func MoveSlices(positions []Position, velocities []Velocity) {
	for i := range positions {
		positions[i].X += velocities[i].X
		positions[i].Y += velocities[i].Y
	}
}

// TouchAll writes every component of every entity.
func TouchAll(w *ecs.World) {
	for r := range everyone.Runs(w) {
		for i := range r.A {
			r.A[i].X++
			r.B[i].X++
			r.C[i].Angle++
			r.D[i].Health++
		}
	}
}

// Touch declares and writes every component of the chosen entities.
func Touch(w *ecs.World) {
	for r := range chosen.Runs(w) {
		for i := range r.A {
			r.A[i].X++
			r.B[i].X++
			r.C[i].Angle++
			r.D[i].Health++
		}
	}
}

// TouchTwo declares and writes two components of the chosen entities.
func TouchTwo(w *ecs.World) {
	for r := range chosen2.Runs(w) {
		for i := range r.A {
			r.A[i].X++
			r.B[i].X++
		}
	}
}

// TouchBelow returns a system that declares that it writes everything, and writes the first rows.
//
// It is not inlined. In another package the compiler would not inline the iterator in the system, and each tick would
// allocate it.
//
//go:noinline
func TouchBelow(rows int) func(w *ecs.World) {
	return func(w *ecs.World) {
		for r := range everyone.Runs(w) {
			for i := range r.A {
				if r.Entities[i].Row >= uint32(rows) {
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
