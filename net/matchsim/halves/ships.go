package halves

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// Pad is the input of Ships.
type Pad struct {
	DX, DY int8
	Fire   bool `tendon:"press"`
}

// Body is where an entity of Ships is and how fast, in world units and world units per tick.
type Body struct{ Pos, Vel fixed.Vec2 }

// Shot is a projectile of Ships.
type Shot struct {
	Left int32 // ticks
	By   ecs.Player
}

// Fired is the value of both events of Ships.
type Fired struct{ By ecs.Player }

// The parts of Ships.
var (
	PadInput   = ecs.NewInput[Pad]()
	Bodies     = ecs.NewComponent[Body]("body")
	Seats      = ecs.NewComponent[ecs.Seat]("seat")
	Shots      = ecs.NewComponent[Shot]("shot")
	FiredEvent = ecs.NewEvent[Fired]("fired")
	HitEvent   = ecs.NewIrreversibleEvent[Fired]("hit")
	AllShips   = ecs.NewQuery2(ecs.Write(Bodies), ecs.Read(Seats))
	allShots   = ecs.NewQuery2(ecs.Write(Bodies), ecs.Write(Shots))
)

// Ships returns a game for four players at a tick rate. Each player has a ship that moves and shoots. A shot lasts 40
// ticks, or until it hits another ship, which then returns to the origin. An order moves the ship by its length.
func Ships(rate int) *ecs.Game {
	return &ecs.Game{Name: "ships", TickRate: rate, MaxPlayers: 4, Input: PadInput,
		Components: ecs.Components(Bodies, Seats, Shots), Events: ecs.Events(FiredEvent, HitEvent),
		Systems: []ecs.System{{Name: "steer", Run: steer}, {Name: "fly", Run: fly}},
		Join: func(w *ecs.World, p ecs.Player) {
			e := w.Spawn(ecs.OwnedBy(p), Bodies, Seats)
			Seats.Put(w, e, ecs.Seat{Player: p})
			Bodies.Put(w, e, Body{Pos: fixed.Vec2{X: fixed.FromInt(int(p) * 5)}})
		},
		Order: func(w *ecs.World, p ecs.Player, _ ecs.Entity, payload []byte) {
			for e := range AllShips.All(w) {
				if e.B.Player == p {
					e.A.Pos.X += fixed.FromInt(len(payload))
				}
			}
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range AllShips.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
	}
}

func steer(w *ecs.World) {
	for e := range AllShips.All(w) {
		in := PadInput.Of(w, e.B.Player)
		e.A.Vel = fixed.Vec2{X: fixed.FromInt(int(in.DX)).Div(fixed.FromInt(8)), Y: fixed.FromInt(int(in.DY)).Div(fixed.FromInt(8))}
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
		if in.Fire {
			FiredEvent.Emit(w, e.Entity(), Fired{e.B.Player})
			s := w.Spawn(ecs.OwnedBy(e.B.Player), Bodies, Shots)
			angle := fixed.FromRatio(int64(w.Rand().IntN(1000)), 159)
			Bodies.Put(w, s, Body{Pos: e.A.Pos, Vel: fixed.FromAngle(angle, fixed.One)})
			Shots.Put(w, s, Shot{Left: 40, By: e.B.Player})
		}
	}
}

func fly(w *ecs.World) {
	for e := range allShots.All(w) {
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
		if e.B.Left--; e.B.Left <= 0 {
			w.Despawn(e.Entity())
			continue
		}
		for s := range AllShips.All(w) {
			if s.B.Player != e.B.By && s.A.Pos.Dist(e.A.Pos) < fixed.FromInt(2) {
				s.A.Pos = fixed.Vec2{}
				HitEvent.Emit(w, s.Entity(), Fired{e.B.By})
				w.Despawn(e.Entity())
				break
			}
		}
	}
}

// Wander returns a source of inputs that change at random, by a seed.
func Wander(seed uint64) func() Pad {
	r := image.NewRand(seed)
	var now Pad
	return func() Pad {
		if r.Chance(1, 12) {
			now.DX, now.DY = int8(r.IntN(3)-1), int8(r.IntN(3)-1)
		}
		now.Fire = r.Chance(1, 15)
		return now
	}
}

// Zigzag returns an input of a seat in a tick, which turns often and shoots.
func Zigzag(seat, tick int) Pad {
	return Pad{DX: int8(tick/7%3) - 1, DY: int8((tick+seat)/5%3) - 1, Fire: (tick+seat*3)%40 == 0}
}
