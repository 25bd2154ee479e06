package lockstep

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// The test game: each player has a ship that moves and shoots; shots are entities that die after a while or when they
// meet a ship, which then is sent back to its start.
type (
	pad struct {
		DX, DY int8
		Fire   bool `tendon:"press"`
	}
	body struct{ Pos, Vel fixed.Vec2 }
	shot struct {
		Left int32
		By   ecs.Player
	}
	fired struct{ By ecs.Player }
)

var (
	padInput  = ecs.NewInput[pad]()
	bodyComp  = ecs.NewComponent[body]("body")
	seatComp  = ecs.NewComponent[ecs.Seat]("seat")
	shotComp  = ecs.NewComponent[shot]("shot")
	firedNews = ecs.NewEvent[fired]("fired")
	hitNews   = ecs.NewIrreversibleEvent[fired]("hit")
	ships     = ecs.NewQuery2(ecs.Write(bodyComp), ecs.Read(seatComp))
	shots     = ecs.NewQuery2(ecs.Write(bodyComp), ecs.Write(shotComp))
)

func steer(w *ecs.World) {
	for e := range ships.All(w) {
		in := padInput.Of(w, e.B.Player)
		e.A.Vel = fixed.Vec2{X: fixed.FromInt(int(in.DX)).Div(fixed.FromInt(8)), Y: fixed.FromInt(int(in.DY)).Div(fixed.FromInt(8))}
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
		if in.Fire {
			firedNews.Emit(w, e.Entity(), fired{e.B.Player})
			s := w.Spawn(ecs.OwnedBy(e.B.Player), bodyComp, shotComp)
			angle := fixed.FromRatio(int64(w.Rand().IntN(1000)), 159)
			bodyComp.Put(w, s, body{Pos: e.A.Pos, Vel: fixed.FromAngle(angle, fixed.One)})
			shotComp.Put(w, s, shot{Left: 40, By: e.B.Player})
		}
	}
}

func fly(w *ecs.World) {
	for e := range shots.All(w) {
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
		if e.B.Left--; e.B.Left <= 0 {
			w.Despawn(e.Entity())
			continue
		}
		for s := range ships.All(w) {
			if s.B.Player != e.B.By && s.A.Pos.Dist(e.A.Pos) < fixed.FromInt(2) {
				s.A.Pos = fixed.Vec2{}
				hitNews.Emit(w, s.Entity(), fired{e.B.By})
				w.Despawn(e.Entity())
				break
			}
		}
	}
}

func testGame(rate int) *ecs.Game {
	return &ecs.Game{Name: "ships", TickRate: rate, MaxPlayers: 4, Input: padInput,
		Components: ecs.Components(bodyComp, seatComp, shotComp), Events: ecs.Events(firedNews, hitNews),
		Systems: ecs.Systems(steer, fly),
		Join: func(w *ecs.World, p ecs.Player) {
			e := w.Spawn(ecs.OwnedBy(p), bodyComp, seatComp)
			seatComp.Put(w, e, ecs.Seat{Player: p})
			bodyComp.Put(w, e, body{Pos: fixed.Vec2{X: fixed.FromInt(int(p) * 5)}})
		},
		Order: func(w *ecs.World, p ecs.Player, _ ecs.Entity, payload []byte) {
			for e := range ships.All(w) {
				if e.B.Player == p {
					e.A.Pos.X += fixed.FromInt(len(payload))
				}
			}
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range ships.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
	}
}

// wander presses at random but the same for a seed.
func wander(seed uint64) func(*player, int) pad {
	r := image.NewRand(seed)
	var now pad
	return func(*player, int) pad {
		if r.Chance(1, 12) {
			now.DX, now.DY = int8(r.IntN(3)-1), int8(r.IntN(3)-1)
		}
		now.Fire = r.Chance(1, 15)
		return now
	}
}

// idle does nothing.
func idle(*player, int) pad { return pad{} }
