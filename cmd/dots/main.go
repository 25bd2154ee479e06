// Command dots is a whole networked game: each player is a dot that moves, and leaves seeds that fade.
//
//	go run ./cmd/dots demo --for 20s
//	go run ./cmd/dots play
package main

import (
	"tendon/cmd/cli"
	"tendon/ecs"
	"tendon/ecs/fixed"
)

type Body struct{ Pos, Vel fixed.Vec2 } // a component is plain data
type Seed struct{ Left int32 }          // ticks until it is gone
type Pad struct {                       // all that a player can say in one tick
	DX, DY int8
	Plant  bool `tendon:"press"`
}

var (
	body = ecs.NewComponent("body", ecs.Roles[Body]{Lerp: func(a, b Body, t float64) Body {
		return Body{a.Pos.Lerp(b.Pos, fixed.FromFloat(t)), b.Vel}
	}})
	seat = ecs.NewComponent[ecs.Seat]("seat") // which player steers it
	seed = ecs.NewComponent[Seed]("seed")
	pad  = ecs.NewInput[Pad]()

	steered = ecs.NewQuery2(ecs.Write(body), ecs.Read(seat))
	seeds   = ecs.NewQuery2(ecs.Read(body), ecs.Write(seed))
)

func steer(w *ecs.World) {
	for e := range steered.All(w) { // in the same order on every machine; e.A is written, e.B only read
		in := pad.Of(w, e.B.Player)
		want := fixed.Vec2{X: fixed.FromInt(int(in.DX)), Y: fixed.FromInt(int(in.DY))}
		e.A.Vel = e.A.Vel.Lerp(want.Scale(fixed.FromRatio(1, 7)), fixed.FromRatio(1, 8))
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
		if in.Plant {
			s := w.Spawn(ecs.OwnedBy(e.B.Player), body, seed)
			body.Put(w, s, Body{Pos: e.A.Pos})
			seed.Put(w, s, Seed{Left: 180})
		}
	}
}

func fade(w *ecs.World) {
	for e := range seeds.All(w) {
		if e.B.Left--; e.B.Left == 0 {
			w.Despawn(e.Entity())
		}
	}
}

func join(w *ecs.World, p ecs.Player) {
	seat.Put(w, w.Spawn(ecs.OwnedBy(p), body, seat), ecs.Seat{Player: p})
}

func leave(w *ecs.World, p ecs.Player) {
	for e := range steered.All(w) {
		if e.B.Player == p {
			w.Despawn(e.Entity())
		}
	}
}

func bot(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
	now := pad.Unpack(w.InputOf(p))
	now.Plant = r.Chance(1, 30)
	if r.Chance(1, 20) {
		now.DX, now.DY = int8(r.IntN(3)-1), int8(r.IntN(3)-1)
	}
	return pad.Pack(now)
}

func keys(c ecs.Controls) ecs.InputBytes {
	one := map[bool]int8{true: 1}
	return pad.Pack(Pad{DX: one[c.Down("right")] - one[c.Down("left")], DY: one[c.Down("down")] - one[c.Down("up")], Plant: c.Down("space")})
}

func draw(c ecs.Canvas, v *ecs.View) { // v.Sim is a copy of the world, interpolated to this moment
	c.Camera(0, 0, 22)
	for e := range seeds.All(v.Sim) {
		c.Circle(e.A.Pos.X.Float(), e.A.Pos.Y.Float(), 0.15, ecs.Color{R: 120, G: 200, B: 120, A: uint8(e.B.Left)})
	}
	for e := range steered.All(v.Sim) {
		c.Circle(e.A.Pos.X.Float(), e.A.Pos.Y.Float(), 0.5, ecs.Color{R: 90, G: 160, B: 255, A: 255})
	}
}

var game = ecs.Game{
	Name: "dots", TickRate: 60, MaxPlayers: 8, Input: pad, Components: ecs.Components(body, seat, seed),
	Systems: ecs.Systems(steer, fade), Join: join, Leave: leave, Bot: bot, Controls: keys, Draw: draw,
}

func main() { cli.Main(game) }
