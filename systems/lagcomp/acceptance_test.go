package lagcomp

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
)

// GAM-LC runs at 40 Hz. The target is at 5 t. The shooter sees it 100 ms late and fires at the seen place at 1000 ms. The
// server's place is 0.5 off.
func gamLC(t *testing.T, cover fixed.Num, claims bool) (hit bool, off fixed.Num) {
	s := newStand(t, 40, Config{})
	s.w.Image().SetPast(s.ring.At)
	s.place(1, gSpot{Pos: fixed.Vec2{X: fixed.FromRatio(1, 8)}, Vel: fixed.Vec2{X: fixed.FromRatio(1, 8)}, Radius: fixed.FromRatio(1, 4)})
	s.run(39)
	seen := image.ViewStamp{Tick: 36}
	aim := s.shown(1, seen)
	s.setCover(cover)
	if claims {
		s.fire(0, aim, seen, 0, 100*millisecond)
		if s.stamp != (image.ViewStamp{Tick: 36}) {
			t.Fatalf("the shot is judged by %v", s.stamp)
		}
	} else {
		s.inputs[0] = pads.Pack(gPad{Aim: aim, Fire: true})
	}
	s.step()
	truth, _ := spot.Read(s.w, avatarOf(s.w, 1))
	return s.life(1).Hits > 0, truth.Pos.X - aim
}

func (s *stand) setCover(from fixed.Num) {
	// A system of the game sets it in the state, as an order would; here it stands in the state before the tick.
	cover.Write(s.w).From = from
	s.ring.Save(s.w)
}

func TestLC01GambettasVector(t *testing.T) {
	if hit, off := gamLC(t, fixed.Max, false); hit || off != fixed.Half {
		t.Errorf("without looking back: hit %t, off by %v, want a miss by 0.5", hit, off)
	}
	if hit, _ := gamLC(t, fixed.Max, true); !hit {
		t.Error("looking back to 900 ms misses")
	}
	behindCoverSince950 := 38 * fixed.FromRatio(1, 8)
	if hit, _ := gamLC(t, behindCoverSince950, true); !hit {
		t.Error("a target that has been behind cover for 50 ms is safe from a shot that saw it 100 ms ago")
	}
}

// crossing is LC-02's range: 60 Hz, a target crossing at 5 m/s, 0.4 m in radius.
func crossing(t *testing.T, c Config) *stand {
	s := newStand(t, 60, c)
	s.place(1, gSpot{Vel: fixed.Vec2{X: fixed.FromRatio(5, 60)}, Radius: fixed.FromRatio(4, 10)})
	s.run(70)
	return s
}

// RTT 100 ms and 100 ms of interpolation: the shooter sees the target where it was 50 + 100 + 50 ms ago, 1 m behind.
func TestLC02DeadOnAimHitsWithCompensationAndMissesWithout(t *testing.T) {
	const age, shots = 12, 40
	s := crossing(t, Config{})
	for range shots {
		s.run(s.w.Tick() + 6)
		c := image.ViewStamp{Tick: s.w.Tick() + 1 - age}
		s.fire(0, s.shown(1, c), c, 50*millisecond, 100*millisecond)
		s.step()
	}
	if got := s.life(1).Hits; got != shots {
		t.Errorf("with compensation %d of %d shots hit", got, shots)
	}
	if c := s.judge.Counters(); c != (Counters{Views: shots}) {
		t.Errorf("an honest client is bounded: %+v", c)
	}
	for range shots {
		s.run(s.w.Tick() + 6)
		c := image.ViewStamp{Tick: s.w.Tick() + 1 - age}
		aim := s.shown(1, c)
		s.inputs[0] = pads.Pack(gPad{Aim: aim, Fire: true})
		s.step()
		if now, _ := spot.Read(s.w, avatarOf(s.w, 1)); (now.Pos.X - aim - fixed.One).Abs() > fixed.FromRatio(1, 100) {
			t.Fatalf("the target has moved %v m, want 1", now.Pos.X-aim)
		}
	}
	if got := s.life(1).Hits; got != shots {
		t.Errorf("without compensation %d of %d shots hit", got-shots, shots)
	}
}

// RTT 600 ms: the client shows what is 700 ms old. Judged is what is 250 ms old, and only that is hit.
func TestLC03BeyondTheCapOnlyTheCapIsHit(t *testing.T) {
	s := crossing(t, Config{})
	for _, c := range []struct {
		aimed ecs.Tick // by how much the aim is behind
		hits  bool
	}{{42, false}, {30, false}, {20, false}, {15, true}, {14, true}, {8, false}, {0, false}} {
		before := s.life(1).Hits
		f := s.w.Tick() + 1
		aim := s.shown(1, image.ViewStamp{Tick: f - max(c.aimed, 1)})
		s.fire(0, aim, image.ViewStamp{Tick: f - 42}, 300*millisecond, 100*millisecond)
		if s.stamp != (image.ViewStamp{Tick: f - 15}) {
			t.Fatalf("tick %d is judged by %v, want 250 ms before", f, s.stamp)
		}
		s.step()
		if hit := s.life(1).Hits > before; hit != c.hits {
			t.Errorf("aimed %d ticks behind: hit %t, want %t", c.aimed, hit, c.hits)
		}
	}
	if c := s.judge.Counters(); c.Clamped != c.Views || c.Views == 0 {
		t.Errorf("not every view was clamped: %+v", c)
	}
}

// A world that looks back in every tick has the checksums of one that never does, and the states it looked at are as
// they were.
func TestLC04LookingBackChangesNothing(t *testing.T) {
	a, b := crossing(t, Config{}), crossing(t, Config{})
	changed := map[image.Checksum]bool{}
	for range 60 {
		f := a.w.Tick() + 1
		var before [16]image.Checksum
		for i := range before {
			s, _ := a.ring.At(f - 16 + ecs.Tick(i))
			before[i] = s.Checksum()
		}
		a.fire(0, fixed.FromInt(-9), image.ViewStamp{Tick: f - 3 - f%12, Part: uint8(f % 7)}, 50*millisecond, 100*millisecond) // at no target
		b.inputs = a.inputs
		a.step()
		b.step()
		for i, want := range before {
			if s, _ := a.ring.At(f - 16 + ecs.Tick(i)); s.Checksum() != want {
				t.Fatalf("tick %d changed State(%d)", f, s.Tick())
			}
		}
		now, _ := a.ring.At(f)
		twin, _ := b.ring.At(f)
		if now.Checksum() != twin.Checksum() {
			t.Fatalf("tick %d: a world that looked back differs from one that did not", f)
		}
		changed[now.Checksum()] = true
	}
	if reach.Cost(b.w).Swept != 0 || reach.Cost(a.w).Swept == 0 || len(changed) < 60 {
		t.Errorf("nothing was looked at: %+v", reach.Cost(a.w))
	}
	if a.w.Image().Strays() != 0 {
		t.Errorf("%d undeclared writes", a.w.Image().Strays())
	}
}

// Somebody who got behind cover t ago is killed iff t ≤ min(cap, how late the shooter sees), never when t > cap.
func TestLC05BehindCoverForLongerThanTheCapIsSafe(t *testing.T) {
	kills, spared := 0, 0
	for _, lag := range []ecs.Tick{2, 6, 12, 15, 18, 30} { // 33 to 500 ms
		for behind := ecs.Tick(0); behind <= 34; behind++ {
			s := crossing(t, Config{})
			f := s.w.Tick() + 1
			// The target touches the cover's edge in State(f − behind) and is behind it in every later one.
			edge := s.w.Tick() - behind + 1
			if behind == 0 {
				now, _ := spot.Read(s.w, avatarOf(s.w, 1))
				s.setCover(now.Pos.X + now.Vel.X)
			} else {
				s.setCover(s.shown(1, image.ViewStamp{Tick: edge}))
			}
			judged := min(lag, 15)
			aim := s.shown(1, image.ViewStamp{Tick: f - judged})
			c := image.ViewStamp{Tick: f - lag}
			s.fire(0, aim, c, 0, ticksAt60(lag))
			s.step()
			killed, want := s.life(1).Hits > 0, behind <= min(15, lag)
			if killed != want {
				t.Errorf("behind cover for %d ticks, seen %d late: killed %t, want %t", behind, lag, killed, want)
			}
			if killed {
				kills++
			} else {
				spared++
			}
		}
	}
	if kills == 0 || spared == 0 {
		t.Errorf("%d kills, %d spared: the test proves nothing", kills, spared)
	}
}

// ticksAt60 is the time of a number of ticks at 60 Hz.
func ticksAt60(n ecs.Tick) systems.Time { return systems.Time(n) * systems.Second / 60 }

// For any declaration of a client, its hits lie within the tolerance of the server's estimate, and within the cap.
func TestLC06ForgedStampsHitNothingBeyondTheTolerance(t *testing.T) {
	s := crossing(t, Config{})
	f := s.w.Tick() + 1
	estimate := ecs.Tick(9) // 50 ms one way and 100 ms of interpolation
	for name, c := range map[string]image.ViewStamp{
		"a second earlier": {Tick: f - 60},
		"a second later":   {Tick: f + 60, Part: 7},
		"the first tick":   {Tick: 1, Part: 255},
		"the end of time":  {Tick: 1<<64 - 1},
		"wraps around":     {Tick: 1<<64 - 1, Part: 255},
	} {
		for aimed := ecs.Tick(1); aimed < 65; aimed++ {
			s := crossing(t, Config{})
			s.fire(0, s.shown(1, image.ViewStamp{Tick: f - aimed}), c, 50*millisecond, 100*millisecond)
			if s.stamp != (image.ViewStamp{Tick: f - estimate}) {
				t.Fatalf("%s: judged by %v, want the estimate, %d", name, s.stamp, f-estimate)
			}
			s.step()
			// 0.4 m are 4.8 ticks of the target's way.
			if hit := s.life(1).Hits > 0; hit != (aimed >= estimate-4 && aimed <= estimate+4) {
				t.Errorf("%s, aimed %d ticks behind: hit %t", name, aimed, hit)
			}
		}
	}
	// The most that a lie within the tolerance gains is the cap.
	for _, late := range []ecs.Tick{10, 15, 16, 21} {
		c := image.ViewStamp{Tick: f - late}
		if v := s.judge.View(c, f, 50*millisecond, 100*millisecond); v.Tick < f-15 || v.Tick > f-10 {
			t.Errorf("a claim of %d ticks ago is judged by %v in tick %d", late, v, f)
		}
	}
}
