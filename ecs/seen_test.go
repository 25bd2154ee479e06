//go:build moving

package ecs

import (
	"bytes"
	"testing"

	"tendon/ecs/fixed"
)

var (
	// sPos lies between two states, sLives is one or the other.
	sPos = NewComponent("s.pos", Roles[tPos]{Lerp: func(a, b tPos, t float64) tPos {
		return tPos{a.X.Lerp(b.X, fixed.FromFloat(t)), a.Y.Lerp(b.Y, fixed.FromFloat(t))}
	}})
	sLives = NewComponent[tItem]("s.lives")
	qSeen  = NewQuery2(Write(sPos), Write(sLives))
)

// sightRig is a world in which everything moves by 1 a tick along x, one entity is the world's and one is player 1's,
// and look runs in every tick after everything has moved.
type sightRig struct {
	w         *World
	ring      [64]Snapshot
	look      func(w *World)
	free, own Entity
}

func newSightRig(t *testing.T) *sightRig {
	r := &sightRig{}
	g := tGame()
	g.Components = Components(sPos, sLives)
	g.Resources, g.Events = nil, nil
	g.Systems = Systems(func(w *World) {
		for e := range qSeen.All(w) {
			e.A.X += fixed.One
			e.B.Count++
		}
	}, func(w *World) {
		if r.look != nil {
			r.look(w)
		}
	})
	g.Setup = func(w *World) {
		r.free = w.Spawn(OwnedByWorld, sPos, sLives)
		r.own = w.Spawn(OwnedBy(1), sPos, sLives)
	}
	r.w = newWorld(t, g)
	r.w.Image().Save(&r.ring[0])
	r.w.Image().SetPast(r.at)
	return r
}

func (r *sightRig) at(f Tick) (*Snapshot, bool) { return &r.ring[f%64], r.ring[f%64].Tick() == f }

func (r *sightRig) step(orders ...Order) {
	r.w.Step(TickInputs{Orders: orders})
	r.w.Image().Save(&r.ring[r.w.Tick()%64])
}

func viewOrder(p Player, v ViewStamp) Order {
	return Order{Kind: OrderView, Player: p, Payload: AppendViewStamp(nil, v)}
}

// State(f) has everything at x = f with f lives, so what is seen says when it was seen.
func TestSeenReadsTheMomentOfTheStamp(t *testing.T) {
	for _, c := range []struct {
		name  string
		stamp ViewStamp
		x     fixed.Num
		lives uint32
	}{
		{"a whole tick", ViewStamp{Tick: 4}, fixed.FromInt(4), 4},
		{"between two ticks", ViewStamp{Tick: 4, Part: 64}, fixed.FromRatio(17, 4), 5},
		{"just before the next", ViewStamp{Tick: 4, Part: 255}, 5*fixed.One - fixed.One/256, 5},
		{"the last state", ViewStamp{Tick: 9}, fixed.FromInt(9), 9},
		{"no moment", ViewStamp{}, fixed.FromInt(10), 10},
		{"no moment but a part of it", ViewStamp{Part: 9}, fixed.FromInt(10), 10},
		{"a moment that is not over", ViewStamp{Tick: 9, Part: 1}, fixed.FromInt(10), 10},
		{"the running tick", ViewStamp{Tick: 10}, fixed.FromInt(10), 10},
		{"the end of time", ViewStamp{Tick: 1<<64 - 1, Part: 255}, fixed.FromInt(10), 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newSightRig(t)
			for range 9 {
				r.step()
			}
			looks := 0
			r.look = func(w *World) {
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

// A stamp is part of what entered one tick: kept longer it would be state that no image holds.
func TestAStampIsForItsTickOnly(t *testing.T) {
	r := newSightRig(t)
	for range 9 {
		r.step()
	}
	r.step(viewOrder(1, ViewStamp{Tick: 3}))
	r.look = func(w *World) {
		if pos, _ := sPos.Seen(w, 1, r.free); pos.X != fixed.FromInt(11) {
			t.Errorf("a tick later player 1 still sees x = %v", pos.X)
		}
	}
	r.step()
	if _, ok := r.w.Image().ViewOf(1); ok {
		t.Error("between ticks there is a view")
	}
}

// The last stamp of a tick counts, and one that makes no sense takes back the one before it.
func TestALaterStampOfATickReplacesTheFirst(t *testing.T) {
	r := newSightRig(t)
	for range 9 {
		r.step()
	}
	var want fixed.Num
	r.look = func(w *World) {
		if pos, _ := sPos.Seen(w, 1, r.free); pos.X != want {
			t.Errorf("player 1 sees x = %v, want %v", pos.X, want)
		}
	}
	want = fixed.FromInt(5)
	r.step(viewOrder(1, ViewStamp{Tick: 3}), viewOrder(1, ViewStamp{Tick: 5}))
	want = fixed.FromInt(11)
	r.step(viewOrder(1, ViewStamp{Tick: 3}), Order{Kind: OrderView, Player: 1, Payload: []byte{0x83}})
}

// What Targets says of anybody must be what Seen says of the component that has the roles, or code that works with any game
// would judge otherwise than a game does.
func TestTargetsAreSeenAsTheirComponentIs(t *testing.T) {
	pos := NewComponent("s.target", Roles[tPos]{
		Lerp: func(a, b tPos, t float64) tPos {
			return tPos{a.X.Lerp(b.X, fixed.FromFloat(t)), a.Y.Lerp(b.Y, fixed.FromFloat(t))}
		},
		Motion: func(p *tPos) Motion { return Motion{Pos: fixed.Vec3{X: p.X, Y: p.Y}} },
		Bounds: func(p *tPos) fixed.Num { return p.X / 2 },
	})
	moving := NewQuery1(Write(pos))
	var ring [16]Snapshot
	var all []Entity
	looked := false
	g := tGame()
	g.Components, g.Resources, g.Events = Components(pos, sLives), nil, nil
	g.Setup = func(w *World) {
		all = append(all, w.Spawn(OwnedByWorld, sLives), w.Spawn(OwnedByWorld, pos), w.Spawn(OwnedBy(0), pos), w.Spawn(OwnedBy(1), pos))
	}
	g.Systems = Systems(func(w *World) {
		for e := range moving.All(w) {
			e.A.X += fixed.One
		}
		if w.Tick() == 6 {
			all = append(all, w.Spawn(OwnedBy(2), pos)) // nobody saw it before
		}
	}, func(w *World) {
		if w.Tick() != 9 {
			return
		}
		looked = true
		for p := range Player(2) {
			next := 1 // the first of all cannot be hit
			w.Image().Targets(p, func(e Entity, at Motion, radius fixed.Num) bool {
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
		w.Image().Targets(1, func(Entity, Motion, fixed.Num) bool { count++; return false })
		if count != 1 {
			t.Errorf("%d calls after the end was asked for", count)
		}
	})
	w := newWorld(t, g)
	w.Image().SetPast(func(f Tick) (*Snapshot, bool) { return &ring[f%16], ring[f%16].Tick() == f })
	for f := range 9 {
		w.Image().Save(&ring[f])
		var orders []Order
		if f == 8 {
			orders = append(orders, viewOrder(0, ViewStamp{Tick: 4, Part: 64}))
		}
		w.Step(TickInputs{Orders: orders})
	}
	if !looked {
		t.Error("nobody looked")
	}
}

func TestSeenKnowsWhoWasThere(t *testing.T) {
	r := newSightRig(t)
	for range 4 {
		r.step()
	}
	r.look = func(w *World) { // in tick 5: State(5) is the first with born and the first without free
		if w.Tick() == 5 {
			r.own = w.Spawn(OwnedByWorld, sPos)
			sPos.Put(w, r.own, tPos{X: fixed.FromInt(50)})
			w.Despawn(r.free)
		}
	}
	r.step()
	born := r.own
	for range 4 {
		r.step()
	}
	for _, c := range []struct {
		stamp      ViewStamp
		free, born bool
	}{
		{ViewStamp{Tick: 4}, true, false},
		{ViewStamp{Tick: 4, Part: 128}, false, true}, // as a view shows it: who is in the later state
		{ViewStamp{Tick: 5}, false, true},
	} {
		r.look = func(w *World) {
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

// Without a past, with a hole in it, with another world's or with the wrong tick's snapshot there is only the present.
func TestSeenNeedsThePast(t *testing.T) {
	other := newSightRig(t)
	for range 9 {
		other.step()
	}
	pasts := map[string]func(r *sightRig) func(Tick) (*Snapshot, bool){
		"none": func(*sightRig) func(Tick) (*Snapshot, bool) { return nil },
		"a hole": func(r *sightRig) func(Tick) (*Snapshot, bool) {
			return func(f Tick) (*Snapshot, bool) { s, ok := r.at(f); return s, ok && f != 5 }
		},
		"another tick": func(r *sightRig) func(Tick) (*Snapshot, bool) {
			return func(f Tick) (*Snapshot, bool) { return r.at(f - 1) }
		},
		"another world": func(*sightRig) func(Tick) (*Snapshot, bool) { return other.at },
		"nothing":       func(*sightRig) func(Tick) (*Snapshot, bool) { return func(Tick) (*Snapshot, bool) { return nil, true } },
	}
	for name, past := range pasts {
		r := newSightRig(t)
		for range 9 {
			r.step()
		}
		r.w.Image().SetPast(past(r))
		r.look = func(w *World) {
			if pos, ok := sPos.Seen(w, 1, r.free); !ok || pos.X != fixed.FromInt(10) {
				t.Errorf("past with %s: player 1 sees x = %v, %t", name, pos.X, ok)
			}
		}
		r.step(viewOrder(1, ViewStamp{Tick: 4, Part: 9}))
	}
}

// Whoever plays a match again keeps MaxViewTicks of its past, so nobody may judge by more, whatever they hold.
func TestPastEndsAtMaxViewTicks(t *testing.T) {
	r := newSightRig(t)
	keep := make([]Snapshot, MaxViewTicks+3)
	r.w.Image().SetPast(func(f Tick) (*Snapshot, bool) { return &keep[f], true })
	for f := range keep {
		if f > 0 {
			r.w.Step(TickInputs{})
		}
		r.w.Image().Save(&keep[f])
	}
	r.look = func(w *World) {
		now := w.Tick()
		if _, ok := w.Image().Past(now - MaxViewTicks); !ok {
			t.Error("a state of MaxViewTicks ago is not given")
		}
		if _, ok := w.Image().Past(now - MaxViewTicks - 1); ok {
			t.Error("an older state is given")
		}
		if _, ok := w.Image().Past(now); ok {
			t.Error("the state of the running tick is given")
		}
	}
	r.w.Step(TickInputs{})
}

// LC-04: looking back changes nothing, not even a page that would have to be compared.
func TestSeenLeavesTheWorldBitEqual(t *testing.T) {
	r := newSightRig(t)
	for range 9 {
		r.step()
	}
	var before, after Snapshot
	seen := 0
	r.look = func(w *World) {
		w.Image().Save(&before)
		for p := range Player(4) {
			for _, e := range []Entity{r.free, r.own, {Row: 77, Born: 2}} {
				if _, ok := sPos.Seen(w, p, e); ok {
					seen++
				}
			}
		}
		if at, dirty := w.Image().UndeclaredWrite(); dirty || len(w.image.dirty) > 0 {
			t.Errorf("looking back wrote: %v, %d pages marked", at, len(w.image.dirty))
		}
		w.Image().Save(&after)
	}
	r.step(viewOrder(0, ViewStamp{Tick: 2, Part: 7}), viewOrder(3, ViewStamp{Tick: 8, Part: 200}))
	if seen != 8 {
		t.Fatalf("%d looks found something, want 8", seen)
	}
	if !bytes.Equal(before.AppendImage(nil), after.AppendImage(nil)) {
		t.Error("the world is another one after looking back")
	}
}

// Two worlds with the same past and the same orders compute the same, and one without the past does not: the test of
// replays is worth something.
func TestAReplayWithThePastIsEqual(t *testing.T) {
	mark := func(r *sightRig) {
		r.look = func(w *World) {
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
	for f := Tick(1); f < 200; f++ {
		o := viewOrder(1, ViewStamp{Tick: max(f, 16) - 16 + f%15, Part: uint8(f * 37)})
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

func TestViewStampsAreReadBackAndNothingElseIs(t *testing.T) {
	for _, v := range []ViewStamp{{}, {Tick: 1}, {Tick: 127, Part: 255}, {Tick: 128}, {Tick: 1<<64 - 1, Part: 1}} {
		b := AppendViewStamp(nil, v)
		if got, ok := ParseViewStamp(b); !ok || got != v {
			t.Errorf("%v is read back as %v, %t", v, got, ok)
		}
		if len(b) > 11 {
			t.Errorf("%v takes %d bytes", v, len(b))
		}
	}
	for _, b := range [][]byte{nil, {}, {5}, {0x85}, {0x85, 0x00, 0x01}, {5, 1, 1}, bytes.Repeat([]byte{0xff}, 12)} {
		if v, ok := ParseViewStamp(b); ok {
			t.Errorf("% x is read as %v", b, v)
		}
	}
}

func TestSeenAllocatesNothingOnceWarm(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := newSightRig(t)
	for range 200 { // until the ring has all its pages
		r.step()
	}
	payload := make([]byte, 0, 16)
	orders := make([]Order, 1)
	r.look = func(w *World) {
		sPos.Seen(w, 1, r.free)
		sLives.Seen(w, 1, r.free)
	}
	if n := testing.AllocsPerRun(50, func() {
		payload = AppendViewStamp(payload[:0], ViewStamp{Tick: r.w.Tick() - 9, Part: 99})
		orders[0] = Order{Kind: OrderView, Player: 1, Payload: payload}
		r.step(orders...)
	}); n != 0 {
		t.Errorf("%v allocations per tick", n)
	}
}
