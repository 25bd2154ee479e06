package lab

import (
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim"
	"tendon/net/simnet"
)

// path is the position of one entity by the moment, in ticks.
type path func(ticks float64) vec

// staged is a display with an artificial history and picture, so that the right measurements are known.
type staged struct {
	display
	entity ecs.Entity
	way    path
}

// straight moves 6 world units per second and turns by a right angle every second, so that no two moments are alike.
func straight(ticks float64) vec {
	leg, rest := math.Floor(ticks/60), math.Mod(ticks, 60)
	at := vec{0.1 * 60 * math.Ceil(leg/2), 0.1 * 60 * math.Floor(leg/2), 0}
	if int(leg)%2 == 0 {
		at[0] += 0.1 * rest
		return at
	}
	at[1] += 0.1 * rest
	return at
}

// extend extends the history up to a tick.
func (s *staged) extend(to ecs.Tick) {
	for f := s.history.tick + 1; f <= to; f++ {
		s.history.tracks[s.entity].add(f, s.way(float64(f)), s.speed(float64(f)), s.history)
		s.history.tick = f
	}
}

// stage begins the history. The entity belongs to player 1, the picture is player 0's.
func stage(t *testing.T, way path) *staged {
	t.Helper()
	s := &staged{entity: ecs.Entity{Row: 2 << 20, Born: 1}, way: way}
	s.display = display{samples: &samples{}, history: newHistory(60, 10), snap: 2, ahead: ahead, frames: make([]frame, 1)}
	k := &track{first: 1}
	s.history.tracks[s.entity] = k
	if s.entity.Owner() != ecs.OwnedBy(1) {
		t.Fatalf("the entity belongs to %v", s.entity.Owner())
	}
	return s
}

// speed is the velocity of the entity's last step, along the floor.
func (s *staged) speed(ticks float64) vec {
	v := s.way(ticks).sub(s.way(ticks - 1)).times(60)
	v[2] = 0
	return v
}

// play judges frames in which the entity is shown with an age, in ticks, and an error.
func (s *staged) play(age func(frame int) float64, off func(frame int) vec) {
	for i := range 600 {
		at := 400 + float64(i) + 0.3
		of := at - age(i)
		pos := s.way(of).sub(off(i).times(-1))
		s.frames = append(s.frames, frame{at: at, shown: of, entities: []shownEntity{{entity: s.entity, pos: pos, vel: s.speed(math.Ceil(of))}}})
		s.extend(ecs.Tick(at) + 121) // two seconds ahead
		s.judge()
	}
}

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }
func noError(int) vec                      { return vec{} }

// A picture that is exact but late or early has that age, and an error of the distance covered in that time.
func TestALateOrEarlyPictureHasAnAgeAndNoOtherError(t *testing.T) {
	for _, age := range []float64{0, 6.5, 30, 111, -12} {
		s := stage(t, straight)
		s.play(constant(age), noError)
		m := s.samples
		found := spreadOf(m.remote)
		if found.N < 50 || math.Abs(found.P50-age*1e3/60) > 1 || found.P99-found.P50 > 2 {
			t.Errorf("%v ticks old: found %+v ms", age, found)
		}
		// Around a corner the distance is less than the path.
		if e := errorOf(m.absolute); e.N != 600 || e.RMS > math.Abs(age)*0.1+1e-9 || e.RMS < math.Abs(age)*0.1*0.6 {
			t.Errorf("%v ticks old: absolute error %+v", age, e)
		}
		if e := errorOf(m.shape); e.P99 > 0.02 {
			t.Errorf("%v ticks old: shape error %+v", age, e)
		}
		if jumps := spreadOf(m.jumps); jumps.Max > 0.2 || m.snaps != 0 || m.backward != 0 || m.frozen != 0 || deviation(m.paces) > 1e-6 || len(m.paces) < 200 {
			t.Errorf("%v ticks old: jumps %+v, %d snaps, %d backward, %d frozen, roughness %v of %d", age, jumps, m.snaps, m.backward, m.frozen,
				deviation(m.paces), len(m.paces))
		}
	}
}

// One frame that shows an entity elsewhere makes two jumps, there and back.
func TestOneWrongFrameMakesTwoJumps(t *testing.T) {
	for _, far := range []float64{0.5, 3} {
		s := stage(t, straight)
		s.play(constant(10), func(i int) vec {
			if i == 300 {
				return vec{0, 0, far}
			}
			return vec{}
		})
		big := 0
		for _, j := range s.jumps {
			if math.Abs(j-far) < 0.15 {
				big++
			}
		}
		wantSnaps := 0
		if far > 2 {
			wantSnaps = 2
		}
		if big != 2 || s.snaps != wantSnaps {
			t.Errorf("%v far: jumps %v, %d snaps", far, s.jumps, s.snaps)
		}
	}
}

// After a teleport on the server no picture is wrong, whenever it follows.
func TestATeleportIsNoError(t *testing.T) {
	s := stage(t, func(ticks float64) vec {
		at := straight(ticks)
		if ticks >= 700 {
			at[2] = 40
		}
		return at
	})
	s.play(constant(20), noError)
	if s.snaps != 0 || errorOf(s.absolute).P99 > 3 || len(s.absolute) < 200 || len(s.absolute) == 600 {
		t.Errorf("%d snaps, off by %+v", s.snaps, errorOf(s.absolute))
	}
}

// A step on the server that deviates from the velocity, such as along a wall, is no jump of the picture.
func TestADeviationOnTheServerIsNoJump(t *testing.T) {
	s := stage(t, func(ticks float64) vec {
		at := straight(ticks)
		if ticks >= 700 {
			at[2] = 1
		}
		return at
	})
	s.play(constant(20), noError)
	if jumps := spreadOf(s.jumps); jumps.Max > 0.2 {
		t.Errorf("jumps %+v", jumps)
	}
}

// Own entities are compared with the own timeline, and do not count as remote.
func TestOwnEntitiesDoNotCountAsRemote(t *testing.T) {
	s := stage(t, straight)
	s.seat = 1
	s.play(constant(-20), noError)
	m := s.samples
	if len(m.remote)+len(m.absolute)+len(m.shape)+len(m.paces) > 0 || len(m.own) != 600 || m.own[0] > -300 {
		t.Errorf("%d ages, %d errors, %d shapes, %d paces; own ages %v …", len(m.remote), len(m.absolute), len(m.shape), len(m.paces), m.own[0])
	}
	if spreadOf(m.jumps).Max > 0.2 {
		t.Errorf("jumps %+v", spreadOf(m.jumps))
	}
}

// The picture stands still for 100 ms and then continues at the right place.
func TestAFreezeIsFound(t *testing.T) {
	s := stage(t, straight)
	s.play(func(i int) float64 {
		if i >= 360 && i < 366 { // in the middle of a leg
			return 10 + float64(i-359)
		}
		return 10
	}, noError)
	m := s.samples
	if m.frozen != 6 || m.freezes != 1 || m.longestFreeze != 6 || m.frames != 600 || deviation(m.paces) < 0.1 {
		t.Errorf("%d frames frozen of %d, %d times, at most %d, roughness %v", m.frozen, m.frames, m.freezes, m.longestFreeze, deviation(m.paces))
	}
}

// A step is backward if it is against every step of the entity on the server. Standing still is not backward, and neither
// is an entity that goes to and fro.
func TestAStepBackIsFound(t *testing.T) {
	s := stage(t, straight)
	s.play(func(i int) float64 {
		if i == 360 {
			return 12
		}
		return 10
	}, noError)
	if s.backward != 1 {
		t.Errorf("%d steps back, want 1", s.backward)
	}
	s = stage(t, func(ticks float64) vec { return vec{5 * math.Cos(ticks/4), 0, 0} })
	s.play(constant(10), noError)
	if s.backward != 0 {
		t.Errorf("%d steps back of an entity that goes to and fro", s.backward)
	}
	s = stage(t, func(float64) vec { return vec{} })
	s.play(constant(10), func(i int) vec { return vec{0, 0.01 * float64(i), 0} })
	if s.backward != 0 {
		t.Errorf("%d steps back of an entity that stands and is shown drifting", s.backward)
	}
}

func TestTheServersTimeAdvancesBetweenTicks(t *testing.T) {
	s := history{rate: 60, tick: 90, at: 1500 * time.Millisecond}
	if now := s.now(1525 * time.Millisecond); math.Abs(now-91.5) > 1e-9 {
		t.Errorf("25 ms after tick 90 it is %v", now)
	}
}

// A view with Alpha 0 shows the state before, so the input of the newest state is not shown yet.
func TestAViewWithoutItsNewestStateShowsNoInput(t *testing.T) {
	w, err := ecs.NewWorld(testGame(), 1)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ecs.NewView(testGame())
	if err != nil {
		t.Fatal(err)
	}
	p := player{match: &match{Match: &matchsim.Match{Net: simnet.New(simnet.Config{})}}, inputs: newLatency()}
	in := steers.Pack(steer{DX: 1})
	p.inputs.give(in, 0, true)
	var before, after image.Snapshot
	w.Image().Save(&before)
	w.Step(ecs.TickInputs{Players: []ecs.InputBytes{in, {}, {}, {}}})
	w.Image().Save(&after)
	for _, alpha := range []float64{0, 0.001} {
		v.Update(&before, &after, &before, alpha)
		p.showInput(v)
		if got := len(p.inputs.display) > 0; got != (alpha > 0) {
			t.Errorf("alpha %v: shown is %t", alpha, got)
		}
	}
}

// The usual age follows a changing age: the shape error stays small while the age doubles.
func TestAnAgeThatGrowsIsFollowed(t *testing.T) {
	s := stage(t, straight)
	s.play(func(i int) float64 { return 20 + 20*float64(i)/600 }, noError)
	if e := errorOf(s.shape); e.P99 > 0.2 {
		t.Errorf("shape error %+v", e)
	}
	if n := len(s.remote); math.Abs(s.remote[n-1]-39.9*1e3/60) > 10 || math.Abs(s.remote[0]-20*1e3/60) > 10 {
		t.Errorf("ages from %v to %v ms", s.remote[0], s.remote[n-1])
	}
}

func newLatency() latency { return latency{samples: &samples{}} }

// A change of input counts once, from the frame that gives it to the first frame that shows it.
func TestChangesOfInputAreFollowedByTheirValue(t *testing.T) {
	a, b := steers.Pack(steer{DX: 1}), steers.Pack(steer{DY: 1})
	none := steers.Pack(steer{})
	p := newLatency()
	ms := time.Millisecond
	p.give(none, 0, true) // no change
	p.give(a, 10*ms, true)
	p.give(a, 20*ms, true)
	p.show(none, 20*ms)
	p.show(a, 30*ms)
	p.show(none, 40*ms) // removed by a correction …
	p.show(a, 50*ms)    // … and shown again
	p.give(b, 60*ms, true)
	p.give(a, 70*ms, true)
	p.use(a, 5)
	p.confirmUpTo(4, 80*ms)
	p.confirmUpTo(6, 90*ms)
	p.show(a, 100*ms) // no change
	p.use(b, 8)
	p.use(a, 9)
	p.show(b, 110*ms)
	p.show(a, 120*ms)
	p.confirmUpTo(20, 130*ms)
	if want := []float64{20, 50, 50}; !equal(p.display, want) {
		t.Errorf("shown after %v, want %v", p.display, want)
	}
	if want := []float64{80, 70, 60}; !equal(p.confirm, want) {
		t.Errorf("confirmed after %v, want %v", p.confirm, want)
	}
	// A change that is never shown by itself counts with the one that replaced it.
	p = newLatency()
	p.give(a, 10*ms, true)
	p.give(b, 20*ms, true)
	p.show(b, 50*ms)
	if want := []float64{40, 30}; !equal(p.display, want) {
		t.Errorf("shown after %v, want %v", p.display, want)
	}
	// Changes that are never shown are bounded.
	for i := range 3 * maxChanges {
		p.give(steers.Pack(steer{DX: int8(i % 100), DY: int8(i / 100 % 100)}), ms, true)
	}
	if len(p.list) > maxChanges || p.shown < 0 || p.shown > len(p.list) {
		t.Errorf("%d changes are followed, %d shown", len(p.list), p.shown)
	}
}

func equal(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-9 {
			return false
		}
	}
	return true
}

func TestStatistics(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[99-i] = float64(i + 1)
	}
	if s := spreadOf(values); s != (Spread{N: 100, P50: 50, P95: 95, P99: 99, Mean: 50.5, Max: 100}) {
		t.Errorf("%+v", s)
	}
	if s := spreadOf(nil); s != (Spread{}) {
		t.Errorf("%+v", s)
	}
	if e := errorOf([]float64{3, 4}); math.Abs(e.RMS-math.Sqrt(12.5)) > 1e-12 || e.P99 != 4 {
		t.Errorf("%+v", e)
	}
	if d := deviation([]float64{1, 3}); math.Abs(d-0.5) > 1e-12 {
		t.Errorf("deviation %v", d)
	}
	if s := slope([]float64{5, 7, 9, 11}); math.Abs(s-2) > 1e-12 || slope([]float64{3}) != 0 {
		t.Errorf("slope %v", s)
	}
	var timeline []Second
	for i := range 60 {
		timeline = append(timeline, Second{Own: 100 + 3*float64(i)})
	}
	if s := lagSlope(timeline); math.Abs(s-3) > 1e-9 {
		t.Errorf("lag slope %v ms/s, want 3", s)
	}
}

// A script repeats from its end. The recorded inputs of bots depend on the seed alone.
func TestAScriptDependsOnItsSeedAlone(t *testing.T) {
	g := testGame()
	count := newScript(2, 3, func(f ecs.Tick, p ecs.Player) ecs.InputBytes { return ecs.InputBytes{byte(f), byte(p)} })
	for f, want := range []byte{0, 1, 2, 3, 1, 2, 3, 1} {
		if in := count.at(ecs.Tick(f), 1); in[0] != want || f > 0 && in[1] != 1 {
			t.Errorf("tick %d is %v, want %d", f, in[:2], want)
		}
	}
	a, err := record(g, 3, 1) // without bots: random inputs
	if err != nil {
		t.Fatal(err)
	}
	held, seen := 0, map[ecs.InputBytes]bool{}
	for f := ecs.Tick(1); f <= 3600; f++ {
		in := a.at(f, 1)
		if !g.Input.Valid(in) {
			t.Fatalf("tick %d: %v is not a valid input", f, in)
		}
		if in == a.at(f+1, 1) {
			held++
		}
		seen[in] = true
		if a.at(f+3600, 1) != in {
			t.Fatalf("tick %d differs a minute later", f)
		}
	}
	if held < 3300 || len(seen) < 100 || a.at(0, 0) != (ecs.InputBytes{}) || a.at(9, 3) != (ecs.InputBytes{}) {
		t.Errorf("%d ticks have the input of the tick before, %d inputs", held, len(seen))
	}
	g.Bot = func(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
		return steers.Pack(steer{DX: int8(r.IntN(3)) - 1, DY: int8(w.Tick()%3) - 1})
	}
	one, _ := record(g, 2, 1)
	two, _ := record(g, 2, 1)
	three, _ := record(g, 2, 2)
	same, other := 0, 0
	for f := ecs.Tick(1); f <= 3600; f++ {
		for p := range ecs.Player(2) {
			if one.at(f, p) == two.at(f, p) {
				same++
			}
			if one.at(f, p) != three.at(f, p) {
				other++
			}
		}
	}
	if same != 7200 || other < 3000 {
		t.Errorf("%d inputs of 7200 are the same again, %d differ with another seed", same, other)
	}
}
