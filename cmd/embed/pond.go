package main

import (
	"github.com/yohamta/donburi"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/client"
	"tendon/systems"
	"tendon/systems/predict"
)

// Body is where something is and how far it moves in a tick, in metres. The strategies show corrections of up to two metres
// smoothly, and longer ones as jumps.
type Body struct{ Pos, Vel fixed.Vec2 }

// Bubble rises until it bursts.
type Bubble struct{ Left int32 } // ticks

// Pad is all that a player can do in one tick.
type Pad struct {
	DX, DY int8
	Blow   bool `tendon:"press"`
}

// Turtle swims in a circle and carries the fish that are near it.
type Turtle struct{ Along fixed.Num } // metres from the start of the circle

const tickRate = 60

var (
	body = ecs.NewComponent("body", ecs.Roles[Body]{
		Lerp: func(a, b Body, t float64) Body {
			b.Pos = a.Pos.Lerp(b.Pos, fixed.FromFloat(t))
			return b
		},
		Motion: func(b *Body) ecs.Motion {
			return ecs.Motion{Pos: deep(b.Pos), Vel: deep(b.Vel).Scale(tickRate * fixed.One)}
		},
		SetMotion: func(b *Body, m ecs.Motion) {
			*b = Body{Pos: flat(m.Pos), Vel: fixed.Vec2{X: m.Vel.X / tickRate, Y: m.Vel.Y / tickRate}}
		},
	})
	seat   = ecs.NewComponent[ecs.Seat]("seat") // which player steers it
	bubble = ecs.NewComponent[Bubble]("bubble")
	turtle = ecs.NewComponent[Turtle]("turtle")
	pad    = ecs.NewInput[Pad]()

	fish    = ecs.NewQuery2(ecs.Write(body), ecs.Read(seat))
	bubbles = ecs.NewQuery2(ecs.Write(body), ecs.Write(bubble))
	turtles = ecs.NewQuery2(ecs.Write(body), ecs.Write(turtle))
	backs   = ecs.NewQuery2(ecs.Read(body), ecs.Read(turtle))

	pondWidth, pondHeight = fixed.FromInt(32), fixed.FromInt(20)
	circle, pace          = fixed.FromInt(6), fixed.FromRatio(1, 20) // the turtle's radius, and its metres per tick
	reach                 = fixed.FromInt(2)                         // from the turtle to a fish that it carries
	pull                  = fixed.FromRatio(1, 80)                   // metres per tick²
	drag                  = fixed.FromRatio(15, 16)
	lift                  = fixed.Vec2{Y: fixed.FromRatio(-1, 1000)}
)

// pond returns the game: fish that swim and blow bubbles. dress is given everything that appears in a view.
func pond(dress func(*ecs.View, *donburi.Entry)) *ecs.Game {
	return &ecs.Game{
		Name: "embed", TickRate: tickRate, MaxPlayers: 8, Input: pad,
		Components: ecs.Components(body, seat, bubble, turtle), Systems: ecs.Systems(patrol, swim, rise),
		Physics: ecs.Physics{MoveLimit: fixed.FromInt(15), Carrier: carrier, Track: track, Path: path},
		Setup:   func(w *ecs.World) { w.Spawn(ecs.OwnedByWorld, body, turtle) },
		Join:    join, Leave: leave, Bot: bot, Screen: ecs.Screen{Dress: dress},
	}
}

func deep(v fixed.Vec2) fixed.Vec3 { return fixed.Vec3{X: v.X, Y: v.Y} }
func flat(v fixed.Vec3) fixed.Vec2 { return fixed.Vec2{X: v.X, Y: v.Y} }

// path returns a place on the turtle's circle and the direction there. Paths have numbers, and this pond has path 0.
func path(number uint32, along fixed.Num) (at, direction fixed.Vec3, ok bool) {
	out := fixed.FromAngle(along.Div(circle), fixed.One)
	middle := fixed.Vec2{X: pondWidth / 2, Y: pondHeight / 2}
	return deep(middle.Add(out.Scale(circle))), fixed.Vec3{X: -out.Y, Y: out.X}, number == 0
}

// track returns where a turtle is on its circle.
func track(w *ecs.World, e ecs.Entity) (number uint32, along, speed fixed.Num, ok bool) {
	t, ok := turtle.Read(w, e)
	return 0, t.Along, pace * tickRate, ok
}

// carrier returns the turtle that carries a fish.
func carrier(w *ecs.World, e ecs.Entity) (on ecs.Entity) {
	if !seat.Has(w, e) {
		return on
	}
	b, _ := body.Read(w, e)
	for t := range backs.All(w) {
		if b.Pos.Dist(t.A.Pos) < reach {
			on = t.Entity()
		}
	}
	return on
}

func patrol(w *ecs.World) {
	for e := range turtles.All(w) {
		e.B.Along = (e.B.Along + pace) % fixed.Tau.Mul(circle)
		at, direction, _ := path(0, e.B.Along)
		*e.A = Body{Pos: flat(at), Vel: flat(direction).Scale(pace)}
	}
}

func swim(w *ecs.World) {
	for e := range fish.All(w) {
		in := pad.Of(w, e.B.Player)
		under, _ := body.Read(w, carrier(w, e.Entity()))
		push := fixed.Vec2{X: fixed.FromInt(int(in.DX)), Y: fixed.FromInt(int(in.DY))}.Limit(fixed.One).Scale(pull)
		e.A.Vel = e.A.Vel.Sub(under.Vel).Add(push).Scale(drag).Add(under.Vel)
		to := e.A.Pos.Add(e.A.Vel)
		e.A.Pos = fixed.Vec2{X: to.X.Clamp(0, pondWidth), Y: to.Y.Clamp(0, pondHeight)}
		if e.A.Pos.X != to.X { // a fish at the wall stands: others extrapolate its velocity
			e.A.Vel.X = 0
		}
		if e.A.Pos.Y != to.Y {
			e.A.Vel.Y = 0
		}
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

func join(w *ecs.World, p ecs.Player, _ ecs.Card) {
	e := w.Spawn(ecs.OwnedBy(p), body, seat)
	seat.Put(w, e, ecs.Seat{Player: p})
	body.Put(w, e, Body{Pos: fixed.Vec2{X: fixed.FromInt(5 + 3*int(p)), Y: pondHeight / 2}})
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

// follow predicts the turtle while it carries the player's fish, with --sync predict. Both are then drawn at the same moment.
// The fish needs no correction when the turtle turns.
func follow(c *client.Core) {
	half, ok := c.Strategy().(*predict.Client)
	if !ok || c.State() != client.Live {
		return
	}
	var on ecs.Entity
	for e := range fish.All(c.World()) {
		if int(e.B.Player) == c.Seat() {
			on = carrier(c.World(), e.Entity())
		}
	}
	var all []ecs.Entity // Switch changes the world, so no query runs meanwhile
	for t := range backs.All(c.World()) {
		all = append(all, t.Entity())
	}
	for _, t := range all {
		to := predict.Interpolated
		if t == on {
			to = predict.Predicted
		}
		_ = half.Switch(t, to, systems.Second/4) // it fails only for an entity that is gone
	}
}
