// Package crumbs is a small deterministic game for the tests of the command line: players walk and leave crumbs that
// disappear.
package cli

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

type (
	testBody struct{ Pos, Vel fixed.Vec2 }
	testWear struct{ Left int32 }
	testPad  struct{ DX, DY int8 }
)

var (
	bodyType = ecs.NewComponent("body", ecs.Roles[testBody]{
		Lerp: func(a, b testBody, t float64) testBody { return testBody{a.Pos.Lerp(b.Pos, fixed.FromFloat(t)), b.Vel} },
		Motion: func(b *testBody) ecs.Motion {
			return ecs.Motion{Pos: fixed.Vec3{X: b.Pos.X, Y: b.Pos.Y}, Vel: fixed.Vec3{X: b.Vel.X * 60, Y: b.Vel.Y * 60}}
		},
		SetMotion: func(b *testBody, m ecs.Motion) {
			*b = testBody{Pos: fixed.Vec2{X: m.Pos.X, Y: m.Pos.Y}, Vel: fixed.Vec2{X: m.Vel.X / 60, Y: m.Vel.Y / 60}}
		},
	})
	seatType = ecs.NewComponent[ecs.Seat]("seat")
	wearType = ecs.NewComponent[testWear]("wear")
	padType  = ecs.NewInput[testPad]()

	walkers = ecs.NewQuery2(ecs.Write(bodyType), ecs.Read(seatType))
	crumbs  = ecs.NewQuery1(ecs.Write(wearType))
)

// testGame returns the game. A round takes two seconds.
func testGame() *ecs.Game {
	return &ecs.Game{
		Name: "crumbs", TickRate: 60, MaxPlayers: 4, Input: padType, Components: ecs.Components(bodyType, seatType, wearType),
		Systems: []ecs.System{{Name: "walk", Run: walk(1)}, {Name: "wear", Run: wear}},
		Join: func(w *ecs.World, p ecs.Player) {
			seatType.Put(w, w.Spawn(ecs.OwnedBy(p), bodyType, seatType), ecs.Seat{Player: p})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range walkers.All(w) {
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
			now := padType.Unpack(w.Image().Input(p))
			if r.Chance(1, 8) {
				now = testPad{DX: int8(r.IntN(3) - 1), DY: int8(r.IntN(3) - 1)}
			}
			return padType.Pack(now)
		},
	}
}

// walk returns the system that moves players by so much per tick.
func walk(speed int) func(w *ecs.World) {
	return func(w *ecs.World) {
		for e := range walkers.All(w) {
			in := padType.Of(w, e.B.Player)
			e.A.Vel = fixed.Vec2{X: fixed.FromInt(speed * int(in.DX)), Y: fixed.FromInt(speed * int(in.DY))}
			e.A.Pos = e.A.Pos.Add(e.A.Vel)
			if in.DX > 0 {
				wearType.Put(w, w.Spawn(ecs.OwnedBy(e.B.Player), wearType), testWear{Left: 20})
			}
		}
	}
}

func wear(w *ecs.World) {
	for e := range crumbs.All(w) {
		if e.A.Left--; e.A.Left <= 0 {
			w.Despawn(e.Entity())
		}
	}
}
