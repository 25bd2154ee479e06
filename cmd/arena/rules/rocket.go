package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Rocket flies straight at its body's velocity until it touches a wall, a door or somebody other than its shooter, or
// until tick Until; then it explodes.
type Rocket struct {
	Until   ecs.Tick
	From    ecs.Entity // whom it passes through
	Shooter ecs.Player
	_       [7]uint8
}

var rocket = ecs.NewComponent[Rocket]("rocket")

const (
	rocketTicks    = 180 // longest flight
	rocketCooldown = 48  // ticks
)

var (
	rocketSpeed  = fixed.FromInt(18) // m/s
	rocketRadius = fixed.FromRatio(15, 100)
	rocketHeight = fixed.FromRatio(9, 10) // above the shooter's feet: a jump clears it
)

var flying = ecs.NewQuery2(ecs.Write(body), ecs.Read(rocket))

// launch spawns the rockets that were asked for. They belong to their shooter, so that one player's mispredicted
// rocket leaves the rows of all others alone.
func launch(w *ecs.World) {
	if !clock.Read(w).Playing {
		return
	}
	for e := range gunners.All(w) {
		p := e.D.Player
		if !pressed(w, p).Rocket || w.Tick() < e.A.Rocket {
			continue
		}
		if a := arms.Write(w, e.Entity()); a != nil {
			a.Rocket = w.Tick() + rocketCooldown
		}
		at := e.B.Pos
		at.Z += rocketHeight
		shot := w.Spawn(ecs.OwnedBy(p), body, rocket)
		body.Put(w, shot, Body{Pos: at, Vel: lifted(e.C.Dir.Scale(rocketSpeed), 0), Radius: rocketRadius})
		rocket.Put(w, shot, Rocket{Until: w.Tick() + rocketTicks, From: e.Entity(), Shooter: p})
	}
}

// fly moves the rockets. The whole way of a tick is swept, so that none passes through anything.
func fly(w *ecs.World) {
	s := scene.Of(w)
	for e := range flying.All(w) {
		b := e.A
		r := Ray{From: b.Pos, Dir: flat(b.Vel).Normalize(), Radius: b.Radius, Length: rocketSpeed.Mul(tickTime)}
		far, _ := s.Cast(r, e.B.From)
		step := r.Dir.Scale(far)
		b.Pos.X, b.Pos.Y = b.Pos.X+step.X, b.Pos.Y+step.Y
		if far < r.Length || w.Tick() >= e.B.Until {
			explode(w, s, b.Pos, e.B.Shooter)
			w.Despawn(e.Entity())
		}
	}
}
