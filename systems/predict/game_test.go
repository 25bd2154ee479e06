package predict

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/raworder"
)

// The test game: each player has a figure that walks a step for each press, or while a direction is held. It shoots rockets
// that fly half a second. Hooks add effects that only the server has.
type (
	pad struct {
		DX, DY int8
		Step   bool `tendon:"press"`
		Fire   bool `tendon:"press"`
		Hurt   bool `tendon:"press"`
	}
	body   struct{ Pos, Vel fixed.Vec3 }
	health struct{ Points int32 }
	dead   struct{ Yes bool }
	rocket struct {
		Left int32
		By   ecs.Player
	}
	score struct{ Steps uint32 }
	by    struct{ Player ecs.Player }
)

var (
	padInput  = ecs.NewInput[pad]()
	exactBody = ecs.NewComponent("body", ecs.Roles[body]{Lerp: lerpBody, Motion: bodyMotion, SetMotion: setBodyMotion})
	looseBody = ecs.NewComponent("body", ecs.Roles[body]{Lerp: lerpBody, Motion: bodyMotion, SetMotion: setBodyMotion, Tolerance: fixed.One.Div(fixed.FromInt(8))})
	seatComp  = ecs.NewComponent[ecs.Seat]("seat")
	hpComp    = ecs.NewComponent[health]("health")
	deadComp  = ecs.NewComponent("dead", ecs.Roles[dead]{ConfirmedOnly: true})
	rockets   = ecs.NewComponent[rocket]("rocket")
	scores    = ecs.NewResource[score]("tally")
	stepped   = ecs.NewEvent[by]("stepped")
	fired     = ecs.NewEvent[by]("fired")
	died      = ecs.NewIrreversibleEvent[by]("died")
	mortals   = ecs.NewQuery3(ecs.Write(hpComp), ecs.Read(seatComp), ecs.Write(deadComp))
	seated    = ecs.NewQuery1(ecs.Read(seatComp))
)

func lerpBody(a, b body, t float64) body {
	b.Pos.X = a.Pos.X + fixed.Num(float64(b.Pos.X-a.Pos.X)*t)
	b.Pos.Y = a.Pos.Y + fixed.Num(float64(b.Pos.Y-a.Pos.Y)*t)
	return b
}

func bodyMotion(b *body) ecs.Motion       { return ecs.Motion{Pos: b.Pos, Vel: b.Vel} }
func setBodyMotion(b *body, m ecs.Motion) { b.Pos, b.Vel = m.Pos, m.Vel }

// hooks are called after the systems of a tick, by world: for effects on one side only.
var hooks = map[*ecs.World]func(w *ecs.World){}

// rules are the game's, for one of the two kinds of bodies.
type rules struct {
	bodies  *ecs.Component[body]
	figures *ecs.Query2[body, *body, ecs.Seat, ecs.Seat]
	flying  *ecs.Query2[body, *body, rocket, *rocket]
	speed   fixed.Num                                     // while a direction is held, per tick
	wall    func(w *ecs.World, p ecs.Player, in pad) bool // refuses an input, on the server only
}

func newRules(bodies *ecs.Component[body]) *rules {
	return &rules{bodies: bodies, figures: ecs.NewQuery2(ecs.Write(bodies), ecs.Read(seatComp)),
		flying: ecs.NewQuery2(ecs.Write(bodies), ecs.Write(rockets)), speed: fixed.One}
}

func (r *rules) walk(w *ecs.World) {
	for e := range r.figures.All(w) {
		in := padInput.Of(w, e.B.Player)
		rate := fixed.FromInt(w.Game().TickRate)
		by2 := fixed.Vec3{X: r.speed.Mul(fixed.FromInt(int(in.DX))), Y: r.speed.Mul(fixed.FromInt(int(in.DY)))}
		e.A.Vel = fixed.Vec3{X: by2.X.Mul(rate), Y: by2.Y.Mul(rate)}
		e.A.Pos = e.A.Pos.Add(by2)
		if in.Step {
			e.A.Pos.X += fixed.One
			stepped.Emit(w, e.Entity(), by{e.B.Player})
		}
		if in.Fire {
			for i := range 2 {
				s := w.Spawn(ecs.OwnedBy(e.B.Player), r.bodies, rockets)
				vel := fixed.Vec3{X: fixed.FromInt(10), Y: fixed.FromInt(20*i - 10)}
				r.bodies.Put(w, s, body{Pos: e.A.Pos, Vel: vel})
				rockets.Put(w, s, rocket{Left: int32(w.Game().TickRate / 2), By: e.B.Player})
				fired.Emit(w, s, by{e.B.Player})
			}
		}
	}
}

func (r *rules) fly(w *ecs.World) {
	rate := fixed.FromInt(w.Game().TickRate)
	for e := range r.flying.All(w) {
		e.A.Pos = e.A.Pos.Add(fixed.Vec3{X: e.A.Vel.X.Div(rate), Y: e.A.Vel.Y.Div(rate)})
		if e.B.Left--; e.B.Left <= 0 {
			w.Despawn(e.Entity())
		}
	}
}

func (r *rules) suffer(w *ecs.World) {
	for e := range mortals.All(w) {
		if padInput.Of(w, e.B.Player).Hurt {
			e.A.Points -= 100
		}
		if !e.C.Yes && e.A.Points <= 0 {
			e.C.Yes = true
			died.Emit(w, e.Entity(), by{e.B.Player})
		}
	}
}

func hook(w *ecs.World) {
	if f := hooks[w]; f != nil {
		f(w)
	}
}

func (r *rules) game(rate int) *ecs.Game {
	return &ecs.Game{Name: "figures", TickRate: rate, MaxPlayers: 4, Input: padInput,
		Components: ecs.Components(r.bodies, seatComp, hpComp, deadComp, rockets), Resources: ecs.Resources(scores),
		Events:  ecs.Events(stepped, fired, died),
		Systems: []ecs.System{{Name: "walk", Run: r.walk}, {Name: "fly", Run: r.fly}, {Name: "suffer", Run: r.suffer}, {Name: "hook", Run: hook}},
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), r.bodies, seatComp, hpComp, deadComp)
			seatComp.Put(w, e, ecs.Seat{Player: p})
			r.bodies.Put(w, e, body{Pos: fixed.Vec3{X: fixed.FromInt(10), Y: fixed.FromInt(int(p) * 5)}})
			hpComp.Put(w, e, health{Points: 100})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range seated.All(w) {
				if e.A.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
		Orders: raworder.Orders(func(w *ecs.World, p ecs.Player, _ ecs.Entity, payload []byte) {
			for e := range r.figures.All(w) {
				if e.B.Player == p {
					e.A.Pos.X += fixed.FromInt(len(payload))
				}
			}
		}),
		Validate: func(w *ecs.World, p ecs.Player, in ecs.InputBytes) bool {
			return r.wall == nil || !r.wall(w, p, padInput.Unpack(in))
		},
	}
}

func newWorld(t testing.TB, game *ecs.Game) *ecs.World {
	t.Helper()
	w, err := ecs.NewWorld(game, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { delete(hooks, w) })
	return w
}

// figure returns a player's entity, zero if it is not there.
func figure(w *ecs.World, p ecs.Player) (found ecs.Entity) {
	for e := range seated.All(w) {
		if e.A.Player == p {
			found = e.Entity()
		}
	}
	return found
}
