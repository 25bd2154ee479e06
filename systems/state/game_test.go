package state

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

type tBody struct {
	Pos fixed.Vec2 `tendon:"step=1/512"`
	Vel fixed.Vec2 `tendon:"step=1/256"`
}

type tLife struct {
	Health int16
	Armour uint8
	Alive  bool
}

type tLook struct {
	Hue   float32
	_     uint32
	Angle float64 `tendon:"step=1/1024"`
}

type tBag struct {
	Items  ecs.List[uint16, [24]uint16]
	Target ecs.Entity
}

type tSpin struct {
	Left uint8
	_    uint8
	Turn [3]int16 `tendon:"rotation=256"`
}

type tScore struct{ Points [4]int32 }

type tClock struct{ Left uint32 }

var (
	cBody = ecs.NewComponent("body", ecs.Roles[tBody]{
		Motion: func(b *tBody) ecs.Motion {
			return ecs.Motion{Pos: fixed.Vec3{X: b.Pos.X, Y: b.Pos.Y}, Vel: fixed.Vec3{X: b.Vel.X, Y: b.Vel.Y}}
		},
		SetMotion: func(b *tBody, m ecs.Motion) {
			b.Pos, b.Vel = fixed.Vec2{X: m.Pos.X, Y: m.Pos.Y}, fixed.Vec2{X: m.Vel.X, Y: m.Vel.Y}
		},
	})
	cLife  = ecs.NewComponent[tLife]("life")
	cLook  = ecs.NewComponent[tLook]("look")
	cBag   = ecs.NewComponent[tBag]("bag")
	cTag   = ecs.NewComponent[struct{}]("tag")
	cSpin  = ecs.NewComponent[tSpin]("spin")
	rScore = ecs.NewResource[tScore]("score")
	rClock = ecs.NewResource[tClock]("clock")
	pad    = ecs.NewInput[struct{ X int8 }]()

	qBody = ecs.NewQuery1(ecs.Read(cBody))
	qMove = ecs.NewQuery1(ecs.Write(cBody))
)

// scene is what the systems of a test's world do.
type scene struct {
	busy bool // things are spawned, changed and removed at random
	move bool // everything moves on
	turn bool // and turns elsewhere about once a second
	bend bool // in curves
	sway bool // and is shaken, so that nothing follows from where it was
}

func testGame(s *scene) *ecs.Game {
	return &ecs.Game{Name: "state", TickRate: 60, MaxPlayers: 4, Input: pad,
		Components: ecs.Components(cBody, cLife, cLook, cBag, cTag, cSpin), Resources: ecs.Resources(rScore, rClock),
		Systems: ecs.Systems(s.play, s.drift)}
}

// play does some random thing to some entities.
func (s *scene) play(w *ecs.World) {
	if !s.busy {
		return
	}
	r := w.Rand()
	for range r.IntN(3) {
		e := w.Spawn(image.Owner(r.IntN(5)), cBody, cLife)
		cBody.Put(w, e, tBody{Pos: fixed.Vec2{X: fixed.FromInt(r.IntN(2000) - 1000), Y: fixed.FromInt(r.IntN(2000) - 1000)}})
		if r.IntN(2) == 0 {
			cLook.Add(w, e, tLook{Hue: float32(r.IntN(100)) / 7})
		}
		if r.IntN(4) == 0 {
			cBag.Add(w, e, tBag{})
		}
	}
	if r.IntN(10) == 0 {
		rScore.Write(w).Points[r.IntN(4)] += int32(r.IntN(10)) - 3
	}
	rClock.Write(w).Left++
	for at := range qBody.All(w) {
		e := at.Entity()
		switch r.IntN(60) {
		case 0:
			w.Despawn(e)
		case 1:
			cTag.Add(w, e, struct{}{})
		case 2:
			cTag.Remove(w, e)
		case 3:
			cBag.Add(w, e, tBag{Target: e})
		case 4:
			cLook.Remove(w, e)
		case 5, 6, 7, 8, 9, 10, 11:
			if b := cBody.Write(w, e); b != nil {
				b.Vel = fixed.Vec2{X: fixed.Num(r.Uint64()) >> 28, Y: fixed.Num(r.Uint64()) >> 28}
				b.Pos = b.Pos.Add(b.Vel)
			}
		case 12, 13:
			if l := cLife.Write(w, e); l != nil {
				*l = tLife{Health: l.Health - 5, Armour: l.Armour + 1, Alive: !l.Alive}
			}
		case 14:
			if l := cLook.Write(w, e); l != nil {
				l.Hue, l.Angle = l.Hue*1.5, l.Angle+0.37
			}
		case 17: // not only rotations
			cSpin.Add(w, e, tSpin{Left: uint8(r.IntN(5)), Turn: [3]int16{int16(r.IntN(600) - 300), int16(r.IntN(600) - 300), int16(r.Uint64())}})
		case 18, 19, 20, 21, 22, 23, 24:
			if b := cSpin.Write(w, e); b != nil {
				b.Left = uint8(r.IntN(8) * int(b.Left) / 7)
				b.Turn = [3]int16{b.Turn[0] + int16(r.IntN(20)), b.Turn[1] - 7, b.Turn[2] / 2}
			}
		case 15, 16:
			if b := cBag.Write(w, e); b != nil && !b.Items.Append(uint16(r.IntN(1000))) {
				b.Items.Clear()
			}
		}
	}
}

// drift moves everything by its velocity, turning it at the sides.
func (s *scene) drift(w *ecs.World) {
	if !s.move {
		return
	}
	side := fixed.FromInt(500)
	for e := range qMove.All(w) {
		b := e.A
		if s.turn && w.Rand().IntN(60) == 0 {
			b.Vel = b.Vel.Rotate(fixed.Num(w.Rand().Uint64() >> 29))
		}
		if s.bend {
			b.Vel = b.Vel.Rotate(fixed.One / fixed.Num(40+e.Entity().Row%100))
		}
		if s.sway {
			b.Vel = b.Vel.Rotate(fixed.Num(w.Rand().Uint64() >> 29))
			b.Pos = b.Pos.Add(b.Vel)
		}
		b.Pos = b.Pos.Add(b.Vel.Scale(fixed.One / 60))
		if b.Pos.X > side || b.Pos.X < -side {
			b.Vel.X = -b.Vel.X
		}
		if b.Pos.Y > side || b.Pos.Y < -side {
			b.Vel.Y = -b.Vel.Y
		}
	}
}

func newWorld(t testing.TB, g *ecs.Game) *ecs.World {
	t.Helper()
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
