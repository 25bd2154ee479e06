// Package crumbs is a small deterministic game for the tests of the command line: players walk and leave crumbs that
// disappear.
package crumbs

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

type (
	Body struct{ Pos, Vel fixed.Vec2 }
	Wear struct{ Left int32 }
	Pad  struct{ DX, DY int8 }
)

var (
	Bodies = ecs.NewComponent("body", ecs.Roles[Body]{
		Lerp: func(a, b Body, t float64) Body { return Body{a.Pos.Lerp(b.Pos, fixed.FromFloat(t)), b.Vel} },
		Motion: func(b *Body) ecs.Motion {
			return ecs.Motion{Pos: fixed.Vec3{X: b.Pos.X, Y: b.Pos.Y}, Vel: fixed.Vec3{X: b.Vel.X * 60, Y: b.Vel.Y * 60}}
		},
		SetMotion: func(b *Body, m ecs.Motion) {
			*b = Body{Pos: fixed.Vec2{X: m.Pos.X, Y: m.Pos.Y}, Vel: fixed.Vec2{X: m.Vel.X / 60, Y: m.Vel.Y / 60}}
		},
	})
	Seats = ecs.NewComponent[ecs.Seat]("seat")
	Wears = ecs.NewComponent[Wear]("wear")
	Pads  = ecs.NewInput[Pad]()

	Walkers = ecs.NewQuery2(ecs.Write(Bodies), ecs.Read(Seats))
	Crumbs  = ecs.NewQuery1(ecs.Write(Wears))
)

// Game returns the game. A round takes two seconds.
func Game() *ecs.Game {
	return &ecs.Game{
		Name: "crumbs", TickRate: 60, MaxPlayers: 4, Input: Pads, Components: ecs.Components(Bodies, Seats, Wears),
		Systems: []ecs.System{{Name: "walk", Run: Walk(1)}, {Name: "wear", Run: wear}},
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			Seats.Put(w, w.Spawn(ecs.OwnedBy(p), Bodies, Seats), ecs.Seat{Player: p})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range Walkers.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
		Result: func(w *ecs.World) []byte { // a round is two seconds
			if w.Tick()%120 != 0 {
				return nil
			}
			return fmt.Appendf(nil, "round %d", w.Tick()/120)
		},
		Bot: func(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
			now := Pads.Unpack(w.Image().Input(p))
			if r.Chance(1, 8) {
				now = Pad{DX: int8(r.IntN(3) - 1), DY: int8(r.IntN(3) - 1)}
			}
			return Pads.Pack(now)
		},
	}
}

// Walk returns the system that moves players by so much per tick.
func Walk(speed int) func(w *ecs.World) {
	return func(w *ecs.World) {
		for e := range Walkers.All(w) {
			in := Pads.Of(w, e.B.Player)
			e.A.Vel = fixed.Vec2{X: fixed.FromInt(speed * int(in.DX)), Y: fixed.FromInt(speed * int(in.DY))}
			e.A.Pos = e.A.Pos.Add(e.A.Vel)
			if in.DX > 0 {
				Wears.Put(w, w.Spawn(ecs.OwnedBy(e.B.Player), Wears), Wear{Left: 20})
			}
		}
	}
}

func wear(w *ecs.World) {
	for e := range Crumbs.All(w) {
		if e.A.Left--; e.A.Left <= 0 {
			w.Despawn(e.Entity())
		}
	}
}
