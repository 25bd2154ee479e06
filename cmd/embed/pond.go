package main

import (
	"github.com/yohamta/donburi"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Body is where something is and how far it moves in a tick, in pixels of the pond.
type Body struct{ Pos, Vel fixed.Vec2 }

// Bubble rises until it bursts.
type Bubble struct{ Left int32 } // ticks

// Pad is all that a player can do in one tick.
type Pad struct {
	DX, DY int8
	Blow   bool `tendon:"press"`
}

var (
	body = ecs.NewComponent("body", ecs.Roles[Body]{Lerp: func(a, b Body, t float64) Body {
		b.Pos = a.Pos.Lerp(b.Pos, fixed.FromFloat(t))
		return b
	}})
	seat   = ecs.NewComponent[ecs.Seat]("seat") // which player steers it
	bubble = ecs.NewComponent[Bubble]("bubble")
	pad    = ecs.NewInput[Pad]()

	fish    = ecs.NewQuery2(ecs.Write(body), ecs.Read(seat))
	bubbles = ecs.NewQuery2(ecs.Write(body), ecs.Write(bubble))

	pondWidth, pondHeight = fixed.FromInt(640), fixed.FromInt(400)
	pull                  = fixed.FromRatio(1, 4) // pixels per tick²
	drag                  = fixed.FromRatio(15, 16)
	lift                  = fixed.Vec2{Y: fixed.FromRatio(-1, 50)}
)

// pond returns the game: fish that swim and blow bubbles. dress is given everything that appears in a view.
func pond(dress func(*ecs.View, *donburi.Entry)) *ecs.Game {
	return &ecs.Game{
		Name: "embed", TickRate: 60, MaxPlayers: 8, Input: pad,
		Components: ecs.Components(body, seat, bubble), Systems: ecs.Systems(swim, rise),
		Join: join, Leave: leave, Bot: bot, Screen: ecs.Screen{Dress: dress},
	}
}

func swim(w *ecs.World) {
	for e := range fish.All(w) {
		in := pad.Of(w, e.B.Player)
		e.A.Vel = e.A.Vel.Add(fixed.Vec2{X: fixed.FromInt(int(in.DX)), Y: fixed.FromInt(int(in.DY))}.Limit(fixed.One).Scale(pull)).Scale(drag)
		to := e.A.Pos.Add(e.A.Vel)
		e.A.Pos = fixed.Vec2{X: to.X.Clamp(0, pondWidth), Y: to.Y.Clamp(0, pondHeight)}
		if in.Blow && !pad.Last(w, e.B.Player).Blow {
			b := w.Spawn(ecs.OwnedBy(e.B.Player), body, bubble)
			body.Put(w, b, Body{Pos: e.A.Pos, Vel: e.A.Vel})
			bubble.Put(w, b, Bubble{Left: 150})
		}
	}
}

func rise(w *ecs.World) {
	for e := range bubbles.All(w) {
		e.A.Vel = e.A.Vel.Scale(drag).Add(lift)
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
		if e.B.Left--; e.B.Left <= 0 {
			w.Despawn(e.Entity())
		}
	}
}

func join(w *ecs.World, p ecs.Player) {
	e := w.Spawn(ecs.OwnedBy(p), body, seat)
	seat.Put(w, e, ecs.Seat{Player: p})
	body.Put(w, e, Body{Pos: fixed.Vec2{X: fixed.FromInt(100 + 60*int(p)), Y: pondHeight / 2}})
}

func leave(w *ecs.World, p ecs.Player) {
	for e := range fish.All(w) {
		if e.B.Player == p {
			w.Despawn(e.Entity())
		}
	}
}

// bot swims about and turns now and then.
func bot(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
	in := pad.Unpack(w.Image().Input(p))
	in.Blow = r.Chance(1, 40)
	if r.Chance(1, 25) {
		in.DX, in.DY = int8(r.IntN(3)-1), int8(r.IntN(3)-1)
	}
	return pad.Pack(in)
}
