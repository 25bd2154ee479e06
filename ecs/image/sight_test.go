package image_test

import (
	"bytes"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

var (
	// sPos lies between two states, sLives is one or the other.
	sPos = ecs.NewComponent("s.pos", ecs.Roles[sample.Pos]{Lerp: func(a, b sample.Pos, t float64) sample.Pos {
		return sample.Pos{X: a.X.Lerp(b.X, fixed.FromFloat(t)), Y: a.Y.Lerp(b.Y, fixed.FromFloat(t))}
	}})
	sLives = ecs.NewComponent[sample.Item]("s.lives")
	qSeen  = ecs.NewQuery2(ecs.Write(sPos), ecs.Write(sLives))
)

// sightRig is a world in which everything moves by 1 per tick along x. One entity is the world's and one is player
// 1's. look runs in every tick.
type sightRig struct {
	w         *ecs.World
	ring      [64]image.Snapshot
	look      func(w *ecs.World)
	free, own ecs.Entity
}

func newSightRig(t *testing.T) *sightRig {
	r := &sightRig{}
	g := sample.Bare()
	g.Components = ecs.Components(sPos, sLives)
	g.Resources, g.Events = nil, nil
	g.Systems = ecs.Systems(func(w *ecs.World) {
		for e := range qSeen.All(w) {
			e.A.X += fixed.One
			e.B.Count++
		}
	}, func(w *ecs.World) {
		if r.look != nil {
			r.look(w)
		}
	})
	g.Setup = func(w *ecs.World) {
		r.free = w.Spawn(ecs.OwnedByWorld, sPos, sLives)
		r.own = w.Spawn(ecs.OwnedBy(1), sPos, sLives)
	}
	r.w = sample.NewWorld(t, g)
	r.w.Image().Save(&r.ring[0])
	r.w.Image().SetPast(r.at)
	return r
}

func (r *sightRig) at(f ecs.Tick) (*image.Snapshot, bool) {
	return &r.ring[f%64], r.ring[f%64].Tick() == f
}

func (r *sightRig) step(orders ...image.Order) {
	r.w.Step(ecs.TickInputs{Orders: orders})
	r.w.Image().Save(&r.ring[r.w.Tick()%64])
}

func viewOrder(p ecs.Player, v image.ViewStamp) image.Order {
	return image.Order{Kind: image.OrderView, Player: p, Payload: image.AppendViewStamp(nil, v)}
}

// State(f) has everything at x = f with f lives, so a seen value identifies its moment.
func TestSeenReadsTheMomentOfTheStamp(t *testing.T) {
	for _, c := range []struct {
		name  string
		stamp image.ViewStamp
		x     fixed.Num
		lives uint32
	}{
		{"a whole tick", image.ViewStamp{Tick: 4}, fixed.FromInt(4), 4},
		{"between two ticks", image.ViewStamp{Tick: 4, Part: 64}, fixed.FromRatio(17, 4), 5},
		{"just before the next", image.ViewStamp{Tick: 4, Part: 255}, 5*fixed.One - fixed.One/256, 5},
		{"the last state", image.ViewStamp{Tick: 9}, fixed.FromInt(9), 9},
		{"no moment", image.ViewStamp{}, fixed.FromInt(10), 10},
		{"no moment but a part of it", image.ViewStamp{Part: 9}, fixed.FromInt(10), 10},
		{"a moment that is not over", image.ViewStamp{Tick: 9, Part: 1}, fixed.FromInt(10), 10},
		{"the running tick", image.ViewStamp{Tick: 10}, fixed.FromInt(10), 10},
		{"the end of time", image.ViewStamp{Tick: 1<<64 - 1, Part: 255}, fixed.FromInt(10), 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newSightRig(t)
			for range 9 {
				r.step()
			}
			looks := 0
			r.look = func(w *ecs.World) {
				looks++
				pos, ok := sPos.Seen(w, 1, r.free)
				lives, okLives := sLives.Seen(w, 1, r.free)
				if !ok || !okLives || pos.X != c.x || lives.Count != c.lives {
					t.Errorf("player 1 sees x = %v and %d lives, want %v and %d", pos.X, lives.Count, c.x, c.lives)
				}
				if pos, _ := sPos.Seen(w, 1, r.own); pos.X != fixed.FromInt(10) {
					t.Errorf("player 1 sees their own entity late, at %v", pos.X)
				}
				if pos, _ := sPos.Seen(w, 2, r.free); pos.X != fixed.FromInt(10) {
					t.Errorf("player 2, who has no stamp, sees x = %v", pos.X)
				}
				v, ok := w.Image().ViewOf(1)
				if late := c.x != fixed.FromInt(10); ok != late || late && v != c.stamp {
					t.Errorf("ViewOf says %v, %t", v, ok)
				}
			}
			r.step(viewOrder(1, c.stamp))
			if looks != 1 {
				t.Fatalf("the system looked %d times", looks)
			}
		})
	}
}

// Targets and Seen must return the same for the component with the roles, or generic code would judge differently
// from a game.
func TestTargetsAreSeenAsTheirComponentIs(t *testing.T) {
	pos := ecs.NewComponent("s.target", ecs.Roles[sample.Pos]{
		Lerp: func(a, b sample.Pos, t float64) sample.Pos {
			return sample.Pos{X: a.X.Lerp(b.X, fixed.FromFloat(t)), Y: a.Y.Lerp(b.Y, fixed.FromFloat(t))}
		},
		Motion: func(p *sample.Pos) ecs.Motion { return ecs.Motion{Pos: fixed.Vec3{X: p.X, Y: p.Y}} },
		Bounds: func(p *sample.Pos) fixed.Num { return p.X / 2 },
	})
	moving := ecs.NewQuery1(ecs.Write(pos))
	var ring [16]image.Snapshot
	var all []ecs.Entity
	looked := false
	g := sample.Bare()
	g.Components, g.Resources, g.Events = ecs.Components(pos, sLives), nil, nil
	g.Setup = func(w *ecs.World) {
		all = append(all, w.Spawn(ecs.OwnedByWorld, sLives), w.Spawn(ecs.OwnedByWorld, pos), w.Spawn(ecs.OwnedBy(0), pos), w.Spawn(ecs.OwnedBy(1), pos))
	}
	g.Systems = ecs.Systems(func(w *ecs.World) {
		for e := range moving.All(w) {
			e.A.X += fixed.One
		}
		if w.Tick() == 6 {
			all = append(all, w.Spawn(ecs.OwnedBy(2), pos)) // no player saw it before
		}
	}, func(w *ecs.World) {
		if w.Tick() != 9 {
			return
		}
		looked = true
		for p := range ecs.Player(2) {
			next := 1 // the first of all cannot be hit
			w.Image().Targets(p, func(e ecs.Entity, at ecs.Motion, radius fixed.Num) bool {
				for e != all[next] {
					next++
				}
				want, ok := pos.Seen(w, p, e)
				now, _ := pos.Read(w, e)
				if !ok || at.Pos.X != want.X || radius != now.X/2 {
					t.Errorf("player %d sees %v at %v with radius %v, want %v (%t) and %v", p, e, at.Pos.X, radius, want.X, ok, now.X/2)
				}
				next++
				return true
			})
			if last := 4 + int(p); next != last { // player 1 has no stamp and sees what is there now
				t.Errorf("player %d sees up to entity %d, want %d", p, next, last)
			}
		}
		count := 0
		w.Image().Targets(1, func(ecs.Entity, ecs.Motion, fixed.Num) bool { count++; return false })
		if count != 1 {
			t.Errorf("%d calls after the end was asked for", count)
		}
	})
	w := sample.NewWorld(t, g)
	w.Image().SetPast(func(f ecs.Tick) (*image.Snapshot, bool) { return &ring[f%16], ring[f%16].Tick() == f })
	for f := range 9 {
		w.Image().Save(&ring[f])
		var orders []image.Order
		if f == 8 {
			orders = append(orders, viewOrder(0, image.ViewStamp{Tick: 4, Part: 64}))
		}
		w.Step(ecs.TickInputs{Orders: orders})
	}
	if !looked {
		t.Error("nobody looked")
	}
}

func TestSeenFindsOnlyEntitiesOfThatMoment(t *testing.T) {
	r := newSightRig(t)
	for range 4 {
		r.step()
	}
	r.look = func(w *ecs.World) { // in tick 5: State(5) is the first with born and the first without free
		if w.Tick() == 5 {
			r.own = w.Spawn(ecs.OwnedByWorld, sPos)
			sPos.Put(w, r.own, sample.Pos{X: fixed.FromInt(50)})
			w.Despawn(r.free)
		}
	}
	r.step()
	born := r.own
	for range 4 {
		r.step()
	}
	for _, c := range []struct {
		stamp      image.ViewStamp
		free, born bool
	}{
		{image.ViewStamp{Tick: 4}, true, false},
		{image.ViewStamp{Tick: 4, Part: 128}, false, true}, // as a view shows it: who is in the later state
		{image.ViewStamp{Tick: 5}, false, true},
	} {
		r.look = func(w *ecs.World) {
			_, free := sPos.Seen(w, 1, r.free)
			at, there := sPos.Seen(w, 1, born)
			if free != c.free || there != c.born {
				t.Errorf("at %v the despawned is there: %t, the spawned: %t; want %t, %t", c.stamp, free, there, c.free, c.born)
			}
			if there && at.X != fixed.FromInt(50) {
				t.Errorf("at %v the spawned is seen at %v", c.stamp, at.X)
			}
			if _, ok := sLives.Seen(w, 1, born); ok {
				t.Error("a component is seen that the entity has not")
			}
		}
		r.step(viewOrder(1, c.stamp))
	}
}

// There is only the present without history, with a gap in it, and with a snapshot of another world or tick.
func TestSeenNeedsHistory(t *testing.T) {
	other := newSightRig(t)
	for range 9 {
		other.step()
	}
	pasts := map[string]func(r *sightRig) func(ecs.Tick) (*image.Snapshot, bool){
		"none": func(*sightRig) func(ecs.Tick) (*image.Snapshot, bool) { return nil },
		"a hole": func(r *sightRig) func(ecs.Tick) (*image.Snapshot, bool) {
			return func(f ecs.Tick) (*image.Snapshot, bool) { s, ok := r.at(f); return s, ok && f != 5 }
		},
		"another tick": func(r *sightRig) func(ecs.Tick) (*image.Snapshot, bool) {
			return func(f ecs.Tick) (*image.Snapshot, bool) { return r.at(f - 1) }
		},
		"another world": func(*sightRig) func(ecs.Tick) (*image.Snapshot, bool) { return other.at },
		"nothing": func(*sightRig) func(ecs.Tick) (*image.Snapshot, bool) {
			return func(ecs.Tick) (*image.Snapshot, bool) { return nil, true }
		},
	}
	for name, past := range pasts {
		r := newSightRig(t)
		for range 9 {
			r.step()
		}
		r.w.Image().SetPast(past(r))
		r.look = func(w *ecs.World) {
			if pos, ok := sPos.Seen(w, 1, r.free); !ok || pos.X != fixed.FromInt(10) {
				t.Errorf("past with %s: player 1 sees x = %v, %t", name, pos.X, ok)
			}
		}
		r.step(viewOrder(1, image.ViewStamp{Tick: 4, Part: 9}))
	}
}

// A replay keeps MaxViewTicks of history, so older states must not be used even if they are there.
func TestPastEndsAtMaxViewTicks(t *testing.T) {
	r := newSightRig(t)
	keep := make([]image.Snapshot, image.MaxViewTicks+3)
	r.w.Image().SetPast(func(f ecs.Tick) (*image.Snapshot, bool) { return &keep[f], true })
	for f := range keep {
		if f > 0 {
			r.w.Step(ecs.TickInputs{})
		}
		r.w.Image().Save(&keep[f])
	}
	r.look = func(w *ecs.World) {
		now := w.Tick()
		if _, ok := w.Image().Past(now - image.MaxViewTicks); !ok {
			t.Error("a state of MaxViewTicks ago is not given")
		}
		if _, ok := w.Image().Past(now - image.MaxViewTicks - 1); ok {
			t.Error("an older state is given")
		}
		if _, ok := w.Image().Past(now); ok {
			t.Error("the state of the running tick is given")
		}
	}
	r.w.Step(ecs.TickInputs{})
}

// LC-04: reading older states changes nothing and marks no page.
func TestSeenLeavesTheWorldBitEqual(t *testing.T) {
	r := newSightRig(t)
	for range 9 {
		r.step()
	}
	var before, after image.Snapshot
	seen := 0
	r.look = func(w *ecs.World) {
		w.Image().Save(&before)
		for p := range ecs.Player(4) {
			for _, e := range []ecs.Entity{r.free, r.own, {Row: 77, Born: 2}} {
				if _, ok := sPos.Seen(w, p, e); ok {
					seen++
				}
			}
		}
		if at, dirty := w.Image().UndeclaredWrite(); dirty || len(w.Image().Dirty()) > 0 {
			t.Errorf("looking back wrote: %v, %d pages marked", at, len(w.Image().Dirty()))
		}
		w.Image().Save(&after)
	}
	r.step(viewOrder(0, image.ViewStamp{Tick: 2, Part: 7}), viewOrder(3, image.ViewStamp{Tick: 8, Part: 200}))
	if seen != 8 {
		t.Fatalf("%d looks found something, want 8", seen)
	}
	if !bytes.Equal(before.AppendImage(nil), after.AppendImage(nil)) {
		t.Error("the world is another one after looking back")
	}
}

// Two worlds with the same history and the same orders compute the same. One without the history does not: the test
// of replays is valid.
func TestAReplayWithHistoryIsEqual(t *testing.T) {
	mark := func(r *sightRig) {
		r.look = func(w *ecs.World) {
			if pos, ok := sPos.Seen(w, 1, r.free); ok && w.Tick()%5 == 0 {
				sPos.Write(w, r.own).Y = pos.X
			}
		}
	}
	a, b, c := newSightRig(t), newSightRig(t), newSightRig(t)
	mark(a)
	mark(b)
	mark(c)
	c.w.Image().SetPast(nil)
	differs := false
	for f := ecs.Tick(1); f < 200; f++ {
		o := viewOrder(1, image.ViewStamp{Tick: max(f, 16) - 16 + f%15, Part: uint8(f * 37)})
		a.step(o)
		b.step(o)
		c.step(o)
		sum := a.ring[f%64].Checksum()
		if sum != b.ring[f%64].Checksum() {
			t.Fatalf("tick %d differs", f)
		}
		differs = differs || sum != c.ring[f%64].Checksum()
	}
	if !differs {
		t.Error("a world without the past computes the same: nothing was seen late")
	}
}

func TestSeenAllocatesNothingOnceWarm(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	r := newSightRig(t)
	for range 200 { // until the ring has all its pages
		r.step()
	}
	payload := make([]byte, 0, 16)
	orders := make([]image.Order, 1)
	r.look = func(w *ecs.World) {
		sPos.Seen(w, 1, r.free)
		sLives.Seen(w, 1, r.free)
	}
	if n := testing.AllocsPerRun(50, func() {
		payload = image.AppendViewStamp(payload[:0], image.ViewStamp{Tick: r.w.Tick() - 9, Part: 99})
		orders[0] = image.Order{Kind: image.OrderView, Player: 1, Payload: payload}
		r.step(orders...)
	}); n != 0 {
		t.Errorf("%v allocations per tick", n)
	}
}
