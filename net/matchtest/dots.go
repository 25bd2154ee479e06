package matchtest

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// The game of Dots: each player steers a dot and throws sparks, which last half a second. It has everything that a
// strategy handles: motion, interpolation, spawns and despawns inside the prediction window, a press, random numbers, both
// kinds of events, and orders.
type (
	dotPad struct {
		DX, DY int8
		Throw  bool `tendon:"press"`
	}
	dotBody  struct{ Pos, Vel fixed.Vec2 }
	dotSpark struct{ Left int32 }
	dotTally struct{ Thrown, Paid uint32 }
)

var (
	dotInput   = ecs.NewInput[dotPad]()
	dotBodies  = ecs.NewComponent("dot", ecs.Roles[dotBody]{Lerp: dotLerp, Motion: dotMotion, SetMotion: dotSetMotion})
	dotSeats   = ecs.NewComponent[ecs.Seat]("dot seat")
	dotSparks  = ecs.NewComponent[dotSpark]("dot spark")
	dotTallies = ecs.NewResource[dotTally]("dot tally")
	dotThrown  = ecs.NewEvent[ecs.Seat]("dot thrown")
	dotPaid    = ecs.NewIrreversibleEvent[ecs.Seat]("dot paid")

	dotSteered = ecs.NewQuery2(ecs.Write(dotBodies), ecs.Read(dotSeats))
	dotFlying  = ecs.NewQuery2(ecs.Write(dotBodies), ecs.Write(dotSparks))
)

func dotLerp(a, b dotBody, t float64) dotBody {
	b.Pos.X = a.Pos.X + fixed.Num(float64(b.Pos.X-a.Pos.X)*t)
	b.Pos.Y = a.Pos.Y + fixed.Num(float64(b.Pos.Y-a.Pos.Y)*t)
	return b
}

func dotMotion(b *dotBody) ecs.Motion {
	return ecs.Motion{Pos: fixed.Vec3{X: b.Pos.X, Y: b.Pos.Y}, Vel: fixed.Vec3{X: b.Vel.X, Y: b.Vel.Y}}
}

func dotSetMotion(b *dotBody, m ecs.Motion) {
	b.Pos, b.Vel = fixed.Vec2{X: m.Pos.X, Y: m.Pos.Y}, fixed.Vec2{X: m.Vel.X, Y: m.Vel.Y}
}

// Dots returns a small game for tests, at 60 ticks per second with eight players. Conformance plays it in a larger world.
func Dots() *ecs.Game {
	return &ecs.Game{Name: "dots", TickRate: 60, MaxPlayers: 8, Input: dotInput,
		Components: ecs.Components(dotBodies, dotSeats, dotSparks), Resources: ecs.Resources(dotTallies),
		Events: ecs.Events(dotThrown, dotPaid), Systems: ecs.Systems(dotSteer, dotFly),
		Join: dotJoin, Leave: dotLeave, Order: dotOrder, Bot: dotBot}
}

func dotSteer(w *ecs.World) {
	const rate = 60
	for e := range dotSteered.All(w) {
		in := dotInput.Of(w, e.B.Player)
		e.A.Vel = fixed.Vec2{X: fixed.FromInt(4 * int(in.DX)), Y: fixed.FromInt(4 * int(in.DY))}
		e.A.Pos = e.A.Pos.Add(fixed.Vec2{X: e.A.Vel.X / rate, Y: e.A.Vel.Y / rate})
		if !in.Throw {
			continue
		}
		spark := w.Spawn(ecs.OwnedBy(e.B.Player), dotBodies, dotSparks)
		angle := fixed.FromRatio(int64(w.Rand().IntN(628)), 100)
		dotBodies.Put(w, spark, dotBody{Pos: e.A.Pos, Vel: fixed.FromAngle(angle, fixed.FromInt(6))})
		dotSparks.Put(w, spark, dotSpark{Left: rate / 2})
		dotTallies.Write(w).Thrown++
		dotThrown.Emit(w, e.Entity(), ecs.Seat{Player: e.B.Player})
	}
}

func dotFly(w *ecs.World) {
	const rate = 60
	for e := range dotFlying.All(w) {
		e.A.Pos = e.A.Pos.Add(fixed.Vec2{X: e.A.Vel.X / rate, Y: e.A.Vel.Y / rate})
		if e.B.Left--; e.B.Left <= 0 {
			w.Despawn(e.Entity())
		}
	}
}

func dotJoin(w *ecs.World, p ecs.Player) {
	e := w.Spawn(ecs.OwnedBy(p), dotBodies, dotSeats)
	dotBodies.Put(w, e, dotBody{Pos: fixed.Vec2{X: fixed.FromInt(3 * int(p))}})
	dotSeats.Put(w, e, ecs.Seat{Player: p})
}

func dotLeave(w *ecs.World, p ecs.Player) {
	w.Despawn(avatarOf(w, p))
}

// dotOrder pays the amount in the order's first byte.
func dotOrder(w *ecs.World, p ecs.Player, _ ecs.Entity, order []byte) {
	if len(order) > 0 {
		dotTallies.Write(w).Paid += uint32(order[0])
		dotPaid.Emit(w, ecs.Entity{}, ecs.Seat{Player: p})
	}
}

// dotBot changes its direction about five times per second and throws about three times.
func dotBot(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
	in := dotInput.Unpack(w.Image().Input(p))
	in.Throw = r.Chance(1, 20)
	if r.Chance(1, 12) {
		in.DX, in.DY = int8(r.IntN(3)-1), int8(r.IntN(3)-1)
	}
	return dotInput.Pack(in)
}

// dustCount is the number of dust entities: enough that an image of the state takes many pieces.
const dustCount = 5000

// dust is random data, so that it does not compress.
type dust struct{ A, B, C, D uint64 }

var (
	dustOf    = ecs.NewComponent[dust]("dust")
	dustQuery = ecs.NewQuery1(ecs.Write(dustOf))
)

// largeGame returns the game that Conformance plays: Dots in a world whose image takes seconds to send.
func largeGame() *ecs.Game {
	g := Dots()
	g.Name = "crowd"
	g.Components = append(g.Components, dustOf)
	g.Setup = func(w *ecs.World) {
		r := w.Rand()
		for range dustCount {
			dustOf.Put(w, w.Spawn(ecs.OwnedByWorld, dustOf), dust{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()})
		}
	}
	return g
}

// flipDust flips one bit, which no system changes back.
func flipDust(w *ecs.World) {
	for e := range dustQuery.All(w) {
		e.A.C ^= 1 << 17
		return
	}
}

// avatarOf returns the entity of a player, zero if there is none.
func avatarOf(w *ecs.World, p ecs.Player) (avatar ecs.Entity) {
	for e := range dotSteered.All(w) {
		if e.B.Player == p {
			avatar = e.Entity()
		}
	}
	return avatar
}
