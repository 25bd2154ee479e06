package lab

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

type (
	runner struct{ Pos, Vel fixed.Vec3 }
	steer  struct{ DX, DY int8 }
)

var (
	runners = ecs.NewComponent("runner", ecs.Roles[runner]{
		Lerp: func(a, b runner, t float64) runner {
			b.Pos = a.Pos.Lerp(b.Pos, fixed.FromFloat(t))
			return b
		},
		Motion:    func(r *runner) ecs.Motion { return ecs.Motion{Pos: r.Pos, Vel: r.Vel} },
		SetMotion: func(r *runner, m ecs.Motion) { r.Pos, r.Vel = m.Pos, m.Vel },
		Tolerance: fixed.FromRatio(1, 100),
		Bounds:    func(*runner) fixed.Num { return fixed.FromRatio(2, 5) },
	})
	seats  = ecs.NewComponent[ecs.Seat]("seat")
	steers = ecs.NewInput[steer]()
	all    = ecs.NewQuery2(ecs.Write(runners), ecs.Read(seats))
)

const testSpeed = 6 // world units per second

// testGame lets players run at a constant speed, or stand, in a plane without walls. Nothing jumps.
func testGame() *ecs.Game {
	return &ecs.Game{
		Name: "runners", TickRate: 60, MaxPlayers: 4, Input: steers, Components: ecs.Components(runners, seats),
		Systems: []ecs.System{{Name: "run", Run: func(w *ecs.World) {
			for e := range all.All(w) {
				in := steers.Of(w, e.B.Player)
				e.A.Vel = fixed.Vec3{X: fixed.FromInt(testSpeed * int(in.DX)), Y: fixed.FromInt(testSpeed * int(in.DY))}
				e.A.Pos = e.A.Pos.Add(e.A.Vel.Scale(fixed.FromRatio(1, 60)))
			}
		}}},
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			seats.Put(w, w.Spawn(ecs.OwnedBy(p), runners, seats), ecs.Seat{Player: p})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range all.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
	}
}

// newScript returns a script of some ticks. input returns each player's input of each tick, from tick 1.
func newScript(players, ticks int, input func(f ecs.Tick, p ecs.Player) ecs.InputBytes) script {
	s := make(script, ticks)
	for f := range s {
		for p := range players {
			s[f] = append(s[f], input(ecs.Tick(f+1), ecs.Player(p)))
		}
	}
	return s
}

// turns is a script in which each player turns every so many ticks, at different times.
func turns(every int) script {
	random, held := image.NewRand(7), [4]steer{}
	return newScript(4, 60*60, func(f ecs.Tick, p ecs.Player) ecs.InputBytes {
		if (int(f)+int(p)*every/4)%every == 0 {
			for before := held[p]; held[p] == before || held[p] == (steer{}); {
				held[p] = steer{DX: int8(random.IntN(3)) - 1, DY: int8(random.IntN(3)) - 1}
			}
		}
		return steers.Pack(held[p])
	})
}
