package halves

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
)

// Pad is the input of Dots.
type Pad struct {
	DX, DY int8
	Throw  bool `tendon:"press"`
}

// Body is where an entity of Dots is and how fast, in world units and world units per second.
type Body struct{ Pos, Vel fixed.Vec2 }

// Spark is the number of ticks that an entity still flies.
type Spark struct{ Left int32 }

type dotTally struct{ Thrown, Paid uint32 }

// The parts of Dots that tests use.
var (
	PadInput = ecs.NewInput[Pad]()
	Bodies   = ecs.NewComponent("dot", ecs.Roles[Body]{Lerp: dotLerp, Motion: dotMotion, SetMotion: dotSetMotion})
	Seats    = ecs.NewComponent[ecs.Seat]("dot seat")
	Sparks   = ecs.NewComponent[Spark]("dot spark")
	Tallies  = ecs.NewResource[dotTally]("dot tally")
	Steered  = ecs.NewQuery2(ecs.Write(Bodies), ecs.Read(Seats))
)

var (
	dotThrown = ecs.NewEvent[ecs.Seat]("dot thrown")
	dotPaid   = ecs.NewIrreversibleEvent[ecs.Seat]("dot paid")
	dotFlying = ecs.NewQuery2(ecs.Write(Bodies), ecs.Write(Sparks))
)

func dotLerp(a, b Body, t float64) Body {
	b.Pos.X = a.Pos.X + fixed.Num(float64(b.Pos.X-a.Pos.X)*t)
	b.Pos.Y = a.Pos.Y + fixed.Num(float64(b.Pos.Y-a.Pos.Y)*t)
	return b
}

func dotMotion(b *Body) ecs.Motion {
	return ecs.Motion{Pos: fixed.Vec3{X: b.Pos.X, Y: b.Pos.Y}, Vel: fixed.Vec3{X: b.Vel.X, Y: b.Vel.Y}}
}

func dotSetMotion(b *Body, m ecs.Motion) {
	b.Pos, b.Vel = fixed.Vec2{X: m.Pos.X, Y: m.Pos.Y}, fixed.Vec2{X: m.Vel.X, Y: m.Vel.Y}
}

const dotRate = 60

// Dots returns a game in which each player steers a dot and throws sparks, which last half a second. It has everything
// that a strategy handles: motion, interpolation, spawns and despawns inside the prediction window, a press, random
// numbers, both kinds of events, and orders. It has 60 ticks per second and eight players.
func Dots() *ecs.Game {
	return &ecs.Game{Name: "dots", TickRate: dotRate, MaxPlayers: 8, Input: PadInput,
		Components: ecs.Components(Bodies, Seats, Sparks), Resources: ecs.Resources(Tallies),
		Events: ecs.Events(dotThrown, dotPaid), Systems: ecs.Systems(dotSteer, dotFly),
		Join: dotJoin, Leave: dotLeave, Orders: raworder.Orders(dotOrder), Bot: dotBot}
}

func (b *Body) move() {
	b.Pos = b.Pos.Add(fixed.Vec2{X: b.Vel.X / dotRate, Y: b.Vel.Y / dotRate})
}

func dotSteer(w *ecs.World) {
	for e := range Steered.All(w) {
		in := PadInput.Of(w, e.B.Player)
		e.A.Vel = fixed.Vec2{X: fixed.FromInt(4 * int(in.DX)), Y: fixed.FromInt(4 * int(in.DY))}
		e.A.move()
		if !in.Throw {
			continue
		}
		spark := w.Spawn(ecs.OwnedBy(e.B.Player), Bodies, Sparks)
		angle := fixed.FromRatio(int64(w.Rand().IntN(628)), 100)
		Bodies.Put(w, spark, Body{Pos: e.A.Pos, Vel: fixed.FromAngle(angle, fixed.FromInt(6))})
		Sparks.Put(w, spark, Spark{Left: dotRate / 2})
		Tallies.Write(w).Thrown++
		dotThrown.Emit(w, e.Entity(), ecs.Seat{Player: e.B.Player})
	}
}

func dotFly(w *ecs.World) {
	for e := range dotFlying.All(w) {
		e.A.move()
		if e.B.Left--; e.B.Left <= 0 {
			w.Despawn(e.Entity())
		}
	}
}

func dotJoin(w *ecs.World, p ecs.Player, _ ecs.Card) {
	e := w.Spawn(ecs.OwnedBy(p), Bodies, Seats)
	Bodies.Put(w, e, Body{Pos: fixed.Vec2{X: fixed.FromInt(3 * int(p))}})
	Seats.Put(w, e, ecs.Seat{Player: p})
}

func dotLeave(w *ecs.World, p ecs.Player) { w.Despawn(Dot(w, p)) }

// PayOrders returns the orders of Dots with a condition.
func PayOrders(allow func(w *ecs.World, p ecs.Player, target ecs.Entity, payload []byte) string) []ecs.AnyOrder {
	return raworder.Conditional(dotOrder, allow)
}

// dotOrder pays the amount in the order's first byte.
func dotOrder(w *ecs.World, p ecs.Player, _ ecs.Entity, order []byte) {
	Tallies.Write(w).Paid += uint32(order[0])
	dotPaid.Emit(w, ecs.Entity{}, ecs.Seat{Player: p})
}

// Dot returns the entity of a player, zero if there is none.
func Dot(w *ecs.World, p ecs.Player) (dot ecs.Entity) {
	for e := range Steered.All(w) {
		if e.B.Player == p {
			dot = e.Entity()
		}
	}
	return dot
}

func dotBot(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
	return PadInput.Pack(wander(PadInput.Unpack(w.Image().Input(p)), r))
}

// wander changes the direction about five times per second and throws about three times.
func wander(in Pad, r *ecs.Rand) Pad {
	in.Throw = r.Chance(1, 20)
	if r.Chance(1, 12) {
		in.DX, in.DY = int8(r.IntN(3)-1), int8(r.IntN(3)-1)
	}
	return in
}

// Wander returns a source of inputs that change at random, by a seed, as those of the bot do.
func Wander(seed uint64) func() Pad {
	r := image.NewRand(seed)
	var now Pad
	return func() Pad {
		now = wander(now, r)
		return now
	}
}

// Zigzag returns an input of a seat in a tick, which turns often and throws.
func Zigzag(seat, tick int) Pad {
	return Pad{DX: int8(tick/7%3) - 1, DY: int8((tick+seat)/5%3) - 1, Throw: (tick+seat*3)%40 == 0}
}
