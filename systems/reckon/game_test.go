package reckon

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// The test game: each player has a walker that follows the player's heading and shoots bolts that fly for a second. A
// walker without points is dead, cannot walk, and respawns a second later.
type (
	pad struct {
		Heading int16 // 1/1024 turns
		Walk    bool
		Shoot   bool `tendon:"press"`
		Hurt    bool `tendon:"press"`
		Fast    bool // walks at one and a half times the speed: only a client that cheats sets this
	}
	body struct{ Pos, Vel fixed.Vec3 }
	life struct {
		Points int32
		Reload int32    // ticks until it can shoot
		Back   ecs.Tick // when it respawns, 0: it lives
	}
	bolt  struct{ Left int32 }
	shot  struct{ Player ecs.Player }
	score struct{ Shots, Deaths uint32 }
)

var (
	padInput = ecs.NewInput[pad]()
	bodies   = ecs.NewComponent("body", ecs.Roles[body]{
		Motion:    func(b *body) ecs.Motion { return ecs.Motion{Pos: b.Pos, Vel: b.Vel} },
		SetMotion: func(b *body, m ecs.Motion) { b.Pos, b.Vel = m.Pos, m.Vel },
	})
	seatComp = ecs.NewComponent[ecs.Seat]("seat")
	lives    = ecs.NewComponent[life]("life")
	bolts    = ecs.NewComponent[bolt]("bolt")
	scores   = ecs.NewResource[score]("tally")
	shots    = ecs.NewEvent[shot]("shot")
	deaths   = ecs.NewIrreversibleEvent[shot]("death")

	walkers = ecs.NewQuery2(ecs.Write(bodies), ecs.Read(seatComp))
	flying  = ecs.NewQuery2(ecs.Write(bodies), ecs.Write(bolts))
)

const gameRate = 60

// walking returns the rule of walkers. The rule of a client that cheats lets them be fast.
func walking(cheats bool) func(w *ecs.World) {
	if cheats {
		return walkFast
	}
	return walkOn
}

// Rules are functions, not closures: in those the compiler lets a loop over a query allocate.

func walkOn(w *ecs.World) {
	for e := range walkers.All(w) {
		live(w, e.Entity(), e.A, e.B.Player, lives.Write(w, e.Entity()), false)
	}
}

func walkFast(w *ecs.World) {
	for e := range walkers.All(w) {
		live(w, e.Entity(), e.A, e.B.Player, lives.Write(w, e.Entity()), true)
	}
}

func live(w *ecs.World, e ecs.Entity, b *body, p ecs.Player, l *life, cheats bool) {
	in := padInput.Of(w, p)
	b.Vel = fixed.Vec3{}
	if l.Reload > 0 {
		l.Reload--
	}
	if in.Hurt && l.Back == 0 {
		l.Points -= 50
	}
	switch {
	case l.Back != 0 && w.Tick() >= l.Back:
		*l = life{Points: 100}
		b.Pos = fixed.Vec3{Y: fixed.FromInt(-200)}
		return
	case l.Back != 0:
		return
	case l.Points <= 0:
		l.Back = w.Tick() + gameRate
		scores.Write(w).Deaths++
		deaths.Emit(w, e, shot{p})
		return
	}
	if in.Walk {
		speed := fixed.Num(top * fixed.One)
		if cheats && in.Fast {
			speed += speed / 2
		}
		level := fixed.FromAngle(fixed.Tau.Mul(fixed.FromRatio(int64(in.Heading), 1024)), speed).Limit(speed)
		b.Vel = fixed.Vec3{X: level.X, Y: level.Y}
	}
	b.Pos = b.Pos.Add(b.Vel.Scale(fixed.FromRatio(1, gameRate)))
	if in.Shoot && l.Reload == 0 {
		l.Reload = gameRate / 2
		s := w.Spawn(ecs.OwnedBy(p), bodies, bolts)
		bodies.Put(w, s, body{Pos: b.Pos, Vel: fixed.Vec3{X: fixed.FromInt(12)}})
		bolts.Put(w, s, bolt{Left: gameRate})
		scores.Write(w).Shots++
		shots.Emit(w, e, shot{p})
	}
}

func fly(w *ecs.World) {
	for e := range flying.All(w) {
		e.A.Pos = e.A.Pos.Add(e.A.Vel.Scale(fixed.FromRatio(1, gameRate)))
		if e.B.Left--; e.B.Left <= 0 {
			w.Despawn(e.Entity())
		}
	}
}

func testGame(cheats bool) *ecs.Game {
	return &ecs.Game{Name: "walkers", TickRate: gameRate, MaxPlayers: 8, Input: padInput, Physics: ecs.Physics{MoveLimit: top * fixed.One},
		Components: ecs.Components(bodies, seatComp, lives, bolts), Resources: ecs.Resources(scores), Events: ecs.Events(shots, deaths),
		Systems: []ecs.System{{Name: "walk", Run: walking(cheats)}, {Name: "fly", Run: fly}},
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), bodies, seatComp, lives)
			seatComp.Put(w, e, ecs.Seat{Player: p})
			bodies.Put(w, e, body{Pos: fixed.Vec3{Y: fixed.FromInt(3 * int(p))}})
			lives.Put(w, e, life{Points: 100})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range walkers.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
	}
}

func newWorld(t testing.TB, game *ecs.Game) *ecs.World {
	t.Helper()
	w, err := ecs.NewWorld(game, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// walker returns a player's entity, zero if it is not there.
func walker(w *ecs.World, p ecs.Player) (found ecs.Entity) {
	for e := range walkers.All(w) {
		if e.B.Player == p {
			found = e.Entity()
		}
	}
	return found
}
