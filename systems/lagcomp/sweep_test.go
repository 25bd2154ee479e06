package lagcomp

import (
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/ecs/space"
	"tendon/rollback"
)

// movingWorld is a world of many targets in the plane that come, go, jump and lose their place for a while.
type movingWorld struct {
	t    *testing.T
	w    *ecs.World
	ring *rollback.Snapshots
	rand *rand.Rand
	look func(w *ecs.World)
}

var spots = ecs.NewQuery1(ecs.Read(spot))

// newMovingWorld returns n who move straight on in a square, by at most so much a tick along each axis. Something unusual
// happens to a few, by odds out of 1000 in a tick.
func newMovingWorld(t *testing.T, n int, seed uint64, speed fixed.Num, odds int) *movingWorld {
	c := &movingWorld{t: t, ring: rollback.NewSnapshots(64), rand: rand.New(rand.NewPCG(seed, 1))}
	spawn := func(w *ecs.World, o image.Owner) {
		spot.Put(w, w.Spawn(o, spot, life), gSpot{Pos: c.somewhere(), Vel: c.direction(speed), Radius: fixed.FromRatio(1+c.rand.Int64N(8), 8)})
	}
	var bare []ecs.Entity
	g := gallery(60)
	g.Systems = ecs.Systems(func(w *ecs.World) {
		for _, e := range bare {
			spot.Add(w, e, gSpot{Pos: c.somewhere(), Radius: fixed.One})
		}
		bare = bare[:0]
		for e := range movers.All(w) {
			e.A.Pos = e.A.Pos.Add(e.A.Vel)
			if e.A.Pos.X < 0 || e.A.Pos.X > square || e.A.Pos.Y < 0 || e.A.Pos.Y > square || c.rand.IntN(50) == 0 {
				e.A.Vel = fixed.Vec2{X: square / 2, Y: square / 2}.Sub(e.A.Pos).Normalize().Scale(speed)
			}
			switch k := c.rand.IntN(1000); {
			case k >= odds:
			case k%4 == 0:
				e.A.Pos = c.somewhere()
			case k%4 == 1:
				w.Despawn(e.Entity())
			case k%4 == 2:
				spawn(w, image.Owner(c.rand.IntN(3)))
			default:
				spot.Remove(w, e.Entity())
				bare = append(bare, e.Entity())
			}
		}
	}, func(w *ecs.World) {
		if c.look != nil {
			c.look(w)
		}
	})
	g.Setup = func(w *ecs.World) {
		for range n {
			spawn(w, image.Owner(c.rand.IntN(3)))
		}
	}
	w, err := ecs.NewWorld(g, seed)
	if err != nil {
		t.Fatal(err)
	}
	c.w = w
	w.Image().SetPast(c.ring.At)
	c.ring.Save(w)
	return c
}

const square = 128 * fixed.One

func (c *movingWorld) direction(speed fixed.Num) fixed.Vec2 {
	return fixed.Vec2{X: speed.Mul(fixed.FromRatio(c.rand.Int64N(65)-32, 32)), Y: speed.Mul(fixed.FromRatio(c.rand.Int64N(65)-32, 32))}
}

// somewhere is a place in the square.
func (c *movingWorld) somewhere() fixed.Vec2 {
	return fixed.Vec2{X: fixed.FromRatio(c.rand.Int64N(128*16), 16), Y: fixed.FromRatio(c.rand.Int64N(128*16), 16)}
}

func (c *movingWorld) step(orders ...image.Order) {
	c.w.Step(ecs.TickInputs{Orders: orders})
	c.ring.Save(c.w)
}

func viewOrder(p ecs.Player, v image.ViewStamp) image.Order {
	return image.Order{Kind: image.OrderView, Player: p, Payload: image.AppendViewStamp(nil, v)}
}

// The broad phase must find exactly the entities that a search of every entity's past finds, for all motions and for all
// ticks that it has read.
func TestNearFindsTheSameAsASearchOfAllEntities(t *testing.T) {
	found, late, gone, skipped := 0, 0, 0, uint64(0)
	for seed := range uint64(12) {
		c := newMovingWorld(t, 60, seed, fixed.FromRatio(int64(seed%4)*9, 10), 8)
		for range 400 {
			f := c.w.Tick() + 1
			v := image.ViewStamp{Tick: max(f, 30) - ecs.Tick(1+c.rand.IntN(29)), Part: uint8(c.rand.IntN(3) * 100)}
			if v.Tick+1 >= f {
				v.Part = 0
			}
			looks := c.rand.IntN(3) == 0 // so that it has gaps of any length to make up
			if c.rand.IntN(40) == 0 {
				for range 30 {
					c.look = nil
					c.step()
				}
				continue
			}
			lo := c.somewhere()
			hi := lo.Add(fixed.Vec2{X: fixed.FromInt(c.rand.IntN(20)), Y: fixed.FromInt(c.rand.IntN(20))})
			c.look = func(w *ecs.World) {
				if !looks {
					return
				}
				var want []ecs.Entity
				for row := range spots.All(w) {
					e := row.Entity()
					value, ok := judged(w, 1, e)
					if !ok {
						gone++
						continue
					}
					x := value.Pos.X
					y := value.Pos.Y
					if x+value.Radius >= lo.X && x-value.Radius <= hi.X && y+value.Radius >= lo.Y && y-value.Radius <= hi.Y {
						want = append(want, e)
						if value != row.A {
							late++
						}
					}
				}
				before := reach.Cost(w)
				for e, value := range reach.Near(w, 1, lo, hi) {
					if len(want) == 0 || want[0] != e {
						t.Fatalf("seed %d, tick %d, view %v: found %v, want %v", seed, f, v, e, want)
					}
					if got, _ := judged(w, 1, e); got != value {
						t.Fatalf("tick %d: %v is found as %v, judged %v", f, e, value, got)
					}
					want = want[1:]
					found++
				}
				if len(want) > 0 {
					t.Fatalf("seed %d, tick %d, view %v: %v were not found", seed, f, v, want)
				}
				after := reach.Cost(w)
				skipped += after.Looked - before.Looked - min(after.Rewound-before.Rewound, after.Looked-before.Looked)
			}
			c.step(viewOrder(1, v))
		}
	}
	if found < 500 || late < 300 || gone < 20 || skipped < 10000 {
		t.Errorf("%d found, %d of them elsewhere by now, %d not yet there, %d skipped: the test proves little", found, late, gone, skipped)
	}
}

// LC-08: of n entities only those near the shot are rewound, and Cost counts them.
func TestLC08OnlyCandidatesAreRewound(t *testing.T) {
	const n = 400
	c := newMovingWorld(t, n, 5, fixed.FromRatio(1, 10), 0)
	for range 40 {
		c.step()
	}
	var shot Cost
	shots := 0
	c.look = func(w *ecs.World) {
		for range 10 {
			at := c.somewhere()
			area := space.Bounds{Min: at, Max: at.Add(fixed.Vec2{X: fixed.FromInt(4), Y: fixed.FromInt(4)})}
			x := &index[gSpot]{}
			possible := uint64(0) // entities near at any time since the view
			for row := range spots.All(w) {
				all := reach.place(x, row.A)
				for f := w.Tick() - 40; f < w.Tick(); f++ { // two windows: what the boxes hold at most
					past, _ := c.ring.At(f)
					if v, ok := spot.ReadAt(past, row.Entity()); ok {
						all = all.With(reach.place(x, v))
					}
				}
				if row.Entity().Owner() != ecs.OwnedBy(1) && all.Touches(area) {
					possible++
				}
			}
			before := reach.Cost(w)
			for range reach.Near(w, 1, area.Min, area.Max) {
			}
			after := reach.Cost(w)
			if got := after.Rewound - before.Rewound; got > possible {
				t.Errorf("%d were rewound, at most %d came near", got, possible)
			}
			if got := after.Looked - before.Looked; got != n {
				t.Errorf("%d boxes were compared, want %d", got, n)
			}
			shots++
		}
		shot = reach.Cost(w)
	}
	for range 30 {
		c.step(viewOrder(1, image.ViewStamp{Tick: c.w.Tick() - 14, Part: 128}))
	}
	if shot.Rewound == 0 || shot.Rewound > uint64(shots)*n/20 {
		t.Errorf("%d shots among %d entities rewound %d: want some, and less than one in twenty", shots, n, shot.Rewound)
	}
	if shot.Swept != n*(20+29) {
		t.Errorf("%d rows were read to keep the boxes, want a window and then one of each tick", shot.Swept)
	}
}

// An entity that teleports is checked at its present place. A shot hits neither the former place nor the way between.
func TestNoEntityIsRewoundAcrossATeleport(t *testing.T) {
	for _, c := range []struct {
		far     int
		rewound bool
	}{{3, true}, {4, false}, {30, false}} {
		s := newStand(t, 60, Config{})
		s.place(1, gSpot{Radius: fixed.FromRatio(1, 4)})
		s.run(40)
		s.place(1, gSpot{Pos: fixed.Vec2{X: fixed.FromInt(c.far)}, Radius: fixed.FromRatio(1, 4)})
		// State(40) is the first after the move.
		s.run(44)
		for _, shot := range []struct {
			aim  fixed.Num
			view image.ViewStamp
			hits bool
		}{
			{0, image.ViewStamp{Tick: 38}, c.rewound},
			{fixed.FromInt(c.far), image.ViewStamp{Tick: 38}, !c.rewound},
			{fixed.FromInt(c.far) / 2, image.ViewStamp{Tick: 39, Part: 128}, c.rewound},
			{fixed.FromInt(c.far), image.ViewStamp{Tick: 40}, true},
			{0, image.ViewStamp{Tick: 40}, false},
		} {
			before, refused := s.life(1).Hits, reach.Cost(s.w).Refused
			s.inputs[0] = pads.Pack(gPad{Aim: shot.aim, Fire: true})
			s.view(0, shot.view)
			s.step()
			if hit := s.life(1).Hits > before; hit != shot.hits {
				t.Errorf("moved %d in a tick, aim %v, view %v: hit %t, want %t", c.far, shot.aim, shot.view, hit, shot.hits)
			}
			if got := reach.Cost(s.w).Refused > refused; got != (!c.rewound && shot.view.Tick < 40) {
				t.Errorf("moved %d, view %v: refused %t", c.far, shot.view, got)
			}
		}
	}
}

// An entity that had not appeared at the seen moment cannot be hit, and neither can one that is gone.
func TestNoEntityIsHitBeforeItsSpawnOrAfterItsEnd(t *testing.T) {
	s := newStand(t, 60, Config{})
	s.run(20)
	s.orders = append(s.orders, image.Order{Kind: image.OrderJoin, Player: 2}) // spawned in tick 21
	s.step()
	e := avatarOf(s.w, 2)
	s.place(2, gSpot{Vel: fixed.Vec2{X: fixed.One}})
	s.run(30)
	seen, part := map[ecs.Tick]bool{}, gSpot{}
	for _, view := range []ecs.Tick{19, 20, 21, 25, 0} {
		if v := (image.ViewStamp{Tick: view}); view == 0 {
			s.view(0, image.ViewStamp{Tick: 20, Part: 99}) // on the way to its first state
		} else {
			s.view(0, v)
		}
		s.order(func(w *ecs.World) { part, seen[view] = judged(w, 0, e) })
		s.step()
	}
	if seen[19] || seen[20] || !seen[21] || !seen[25] || !seen[0] || part.Pos.X != 0 {
		t.Errorf("spawned in tick 21, met by shots of views %v, in the last at %v", seen, part.Pos.X)
	}
	s.view(0, image.ViewStamp{Tick: 30})
	s.order(func(w *ecs.World) { w.Despawn(e) })
	s.w.Game().Systems = ecs.Systems(func(w *ecs.World) {
		if _, ok := judged(w, 0, e); ok {
			t.Error("somebody who is gone is met")
		}
		if _, ok := spot.Seen(w, 0, e); !ok {
			t.Error("and was not seen either: the test proves nothing")
		}
	})
	s.step()
}

// Within a tick, systems may ask before and after others have spawned somebody or have taken a component away for a
// moment. State by state nothing is missing, so the boxes must not be either.
func TestWhatHappensWithinATickHidesNobody(t *testing.T) {
	w, ring := (*ecs.World)(nil), rollback.NewSnapshots(64)
	var blinker ecs.Entity
	met := func(w *ecs.World, x int) (who []ecs.Entity) {
		at := fixed.Vec2{X: fixed.FromInt(x)}
		for e := range reach.Near(w, 1, at, at) {
			who = append(who, e)
		}
		return who
	}
	g := gallery(60)
	g.Setup = func(w *ecs.World) {
		blinker = w.Spawn(ecs.OwnedByWorld, spot)
		spot.Put(w, blinker, gSpot{Vel: fixed.Vec2{X: fixed.One}, Radius: fixed.Half})
	}
	var kept gSpot
	g.Systems = ecs.Systems(moveAll, func(w *ecs.World) {
		switch w.Tick() {
		case 20:
			met(w, 0)
			spot.Put(w, w.Spawn(ecs.OwnedByWorld, spot), gSpot{Pos: fixed.Vec2{X: fixed.FromInt(-50)}, Radius: fixed.Half})
		case 21:
			kept, _ = spot.Read(w, blinker)
			spot.Remove(w, blinker)
		}
	}, func(w *ecs.World) {
		switch w.Tick() {
		case 20:
			if who := met(w, -70); len(who) != 0 {
				t.Errorf("no target is at −70, but %v", who)
			}
		case 21:
			met(w, 0) // while the component is away
		case 24:
			if who := met(w, 10); len(who) != 1 || who[0] != blinker {
				t.Errorf("at 10, where the blinker was seen, are %v", who)
			}
		}
	}, func(w *ecs.World) {
		if w.Tick() == 21 {
			spot.Add(w, blinker, kept)
		}
	})
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	w.Image().SetPast(ring.At)
	for f := ecs.Tick(1); f <= 24; f++ {
		ring.Save(w)
		w.Step(ecs.TickInputs{Orders: []image.Order{viewOrder(1, image.ViewStamp{Tick: min(10, f-1)})}})
	}
}

// An entity seen between two states is found there, for every position of the two states in the windows of the boxes.
func TestAnEntityBetweenTwoStatesIsFoundThere(t *testing.T) {
	s := newStand(t, 60, Config{})
	s.place(1, gSpot{Vel: fixed.Vec2{X: 3 * fixed.One}, Radius: fixed.FromRatio(1, 4)})
	s.run(30)
	const shots = 400
	for i := range ecs.Tick(shots) {
		f := s.w.Tick() + 1
		from := f - 2 - i%17 // 17 and the window, 20, meet in every way
		s.inputs[0] = pads.Pack(gPad{Aim: s.shown(1, image.ViewStamp{Tick: from, Part: 128}), Fire: true})
		s.view(0, image.ViewStamp{Tick: from, Part: 128})
		s.step()
	}
	if hits := s.life(1).Hits; hits != shots {
		t.Errorf("%d of %d shots hit", hits, shots)
	}
}

func TestASweepNeedsToKnowWhereAndHowLarge(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a component without roles is taken")
		}
	}()
	NewSweep(life, SweepConfig{})
}

func TestAShotAllocatesNothingOnceWarm(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	c := newMovingWorld(t, 100, 3, fixed.FromRatio(1, 10), 0)
	met := 0
	c.look = func(w *ecs.World) {
		for range reach.Near(w, 1, fixed.Vec2{}, fixed.Vec2{X: fixed.FromInt(60), Y: fixed.FromInt(60)}) {
			met++
		}
	}
	payload, orders := make([]byte, 0, 16), make([]image.Order, 1)
	judge, err := NewJudge(Config{TickRate: 60, Past: c.ring.At})
	if err != nil {
		t.Fatal(err)
	}
	tick := func() {
		f := c.w.Tick() + 1
		v := judge.View(image.ViewStamp{Tick: max(f, 13) - 12, Part: 99}, f, 50*millisecond, 100*millisecond)
		payload = image.AppendViewStamp(payload[:0], v)
		orders[0] = image.Order{Kind: image.OrderView, Player: 1, Payload: payload}
		c.w.Step(ecs.TickInputs{Orders: orders})
		c.ring.Save(c.w)
	}
	for range 300 {
		tick()
	}
	if n := testing.AllocsPerRun(50, tick); n != 0 || met == 0 {
		t.Errorf("%v allocations per tick, %d met", n, met)
	}
}

// judged returns e's value as p's shot meets it. ok is false if p did not see e, or if e is gone by now.
func judged(w *ecs.World, p ecs.Player, e ecs.Entity) (value gSpot, ok bool) {
	value, ok = reach.component.Read(w, e)
	view, late := w.Image().ViewOf(p)
	if !ok || !late || e.Owner() == ecs.OwnedBy(p) {
		return value, ok
	}
	return reach.judged(reach.derived.Of(w), w, p, e, value, view)
}
