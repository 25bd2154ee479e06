package lagcomp

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
)

// The test game is a shooting gallery. Targets move along the line y = 0, and a shot hits the target at the aim on that line.
// Everything beyond a point is behind cover. Shots are fired after all targets have moved, so the present of tick F is
// State(F).

type gPad struct {
	Aim  fixed.Num
	Fire bool `tendon:"press"`
	_    [7]uint8
}

type gSpot struct {
	Pos, Vel fixed.Vec2 // units, units per tick
	Radius   fixed.Num
}

// gLife counts the shots that hit.
type gLife struct{ Hits uint32 }

type gCover struct{ From fixed.Num }

var (
	pads = ecs.NewInput[gPad]()
	spot = ecs.NewComponent("spot", ecs.Roles[gSpot]{
		Lerp: func(a, b gSpot, t float64) gSpot {
			b.Pos = a.Pos.Lerp(b.Pos, fixed.FromFloat(t))
			return b
		},
		Motion: func(s *gSpot) ecs.Motion {
			return ecs.Motion{Pos: fixed.Vec3{X: s.Pos.X, Y: s.Pos.Y}, Vel: fixed.Vec3{X: s.Vel.X, Y: s.Vel.Y}}
		},
		Bounds: func(s *gSpot) fixed.Num { return s.Radius },
	})
	life    = ecs.NewComponent[gLife]("life")
	seat    = ecs.NewComponent[ecs.Seat]("seat")
	cover   = ecs.NewResource[gCover]("cover")
	reach   = NewSweep(spot, SweepConfig{Window: 20, Teleport: fixed.FromInt(4)})
	movers  = ecs.NewQuery1(ecs.Write(spot))
	players = ecs.NewQuery1(ecs.Read(seat))
)

func moveAll(w *ecs.World) {
	for e := range movers.All(w) {
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
	}
}

func shoot(w *ecs.World) {
	for e := range players.All(w) {
		p := e.A.Player
		in := pads.Of(w, p)
		if !in.Fire {
			continue
		}
		at := fixed.Vec2{X: in.Aim}
		for target, seen := range reach.Near(w, p, at, at) {
			if target == e.Entity() || seen.Pos.X > cover.Read(w).From || seen.Pos.Dist(at) > seen.Radius {
				continue
			}
			if l := life.Write(w, target); l != nil {
				l.Hits++
			}
		}
	}
}

func avatarOf(w *ecs.World, p ecs.Player) ecs.Entity {
	for e := range players.All(w) {
		if e.A.Player == p {
			return e.Entity()
		}
	}
	return ecs.Entity{}
}

func gallery(rate int) *ecs.Game {
	return &ecs.Game{Name: "gallery", TickRate: rate, MaxPlayers: 4, Input: pads,
		Orders:     ecs.Orders(run.Do(func(w *ecs.World, _ ecs.Player, _ ecs.Entity, _ struct{}) { ordered(w) })),
		Components: ecs.Components(spot, life, seat), Resources: ecs.Resources(cover),
		Derived: []ecs.AnyDerived{reach.Derived()}, Systems: ecs.Systems(moveAll, shoot),
		Setup: func(w *ecs.World) { cover.Write(w).From = fixed.Max },
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), seat, spot, life)
			seat.Put(w, e, ecs.Seat{Player: p})
			spot.Put(w, e, gSpot{Pos: fixed.Vec2{Y: fixed.FromInt(100)}})
		}}
}

// stand is a server in the gallery: player 0 shoots, player 1 is the target.
type stand struct {
	t      *testing.T
	w      *ecs.World
	ring   *rollback.Snapshots
	judge  *Judge
	stamp  image.ViewStamp // of the last shot
	inputs [4]ecs.InputBytes
	orders []image.Order
}

func newStand(t *testing.T, rate int, c Config) *stand {
	t.Helper()
	w, err := ecs.NewWorld(gallery(rate), 1)
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, w: w, ring: rollback.NewSnapshots(128)}
	c.TickRate, c.Past = rate, s.ring.At
	if s.judge, err = NewJudge(c); err != nil {
		t.Fatal(err)
	}
	w.Image().SetPast(s.ring.At)
	s.ring.Save(w)
	for p := range ecs.Player(2) {
		s.orders = append(s.orders, image.Order{Kind: image.OrderJoin, Player: p})
	}
	s.step()
	return s
}

// order has an order run f in the next tick.
func (s *stand) order(f func(*ecs.World)) {
	ordered = f
	s.orders = append(s.orders, image.Order{Kind: image.OrderGame, Payload: []byte{0}})
}

var (
	ordered func(*ecs.World) // by the order
	run     = ecs.NewOrder[struct{}]("run")
)

// step computes a tick from the prepared inputs.
func (s *stand) step() {
	s.w.Step(ecs.TickInputs{Players: s.inputs[:], Orders: s.orders})
	s.ring.Save(s.w)
	s.inputs, s.orders = [4]ecs.InputBytes{}, s.orders[:0]
}

func (s *stand) run(to ecs.Tick) {
	for s.w.Tick() < to {
		s.step()
	}
}

// place puts the target somewhere as of the next save.
func (s *stand) place(p ecs.Player, v gSpot) {
	s.t.Helper()
	if !spot.Put(s.w, avatarOf(s.w, p), v) {
		s.t.Fatal("the player is not there")
	}
	s.ring.Save(s.w)
}

// fire makes p fire in the next tick, at aim, and say what it saw; the judge decides.
func (s *stand) fire(p ecs.Player, aim fixed.Num, seen image.ViewStamp, oneWay, delay systems.Time) {
	s.inputs[p] = pads.Pack(gPad{Aim: aim, Fire: true})
	s.stamp = s.judge.View(seen, s.w.Tick()+1, oneWay, delay)
	if s.stamp.Tick > 0 {
		s.view(p, s.stamp)
	}
}

func (s *stand) view(p ecs.Player, v image.ViewStamp) {
	s.orders = append(s.orders, image.Order{Kind: image.OrderView, Player: p, Payload: image.AppendViewStamp(nil, v)})
}

func (s *stand) life(p ecs.Player) gLife {
	l, _ := life.Read(s.w, avatarOf(s.w, p))
	return l
}

// shown is where a client draws the target that shows this moment.
func (s *stand) shown(p ecs.Player, v image.ViewStamp) fixed.Num {
	s.t.Helper()
	at := func(f ecs.Tick) fixed.Num {
		past, ok := s.ring.At(f)
		v, there := spot.ReadAt(past, avatarOf(s.w, p))
		if !ok || !there {
			s.t.Fatalf("the target's place in tick %d is not known", f)
		}
		return v.Pos.X
	}
	if v.Part == 0 {
		return at(v.Tick)
	}
	return at(v.Tick).Lerp(at(v.Tick+1), fixed.FromRatio(int64(v.Part), 256))
}

const millisecond = systems.Second / 1000
