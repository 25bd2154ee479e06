package lab

import (
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/systems"
)

// path is where one entity is by the moment, in ticks.
type path func(ticks float64) vec

// staged is a display whose truth and picture are made up, so that what must be found is known.
type staged struct {
	display
	entity ecs.Entity
	way    path
}

// straight goes 6 world units a second, and turns by a right angle every second, so that moments can be told apart.
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

// goOn makes the truth up to a tick.
func (s *staged) goOn(to ecs.Tick) {
	for f := s.truth.tick + 1; f <= to; f++ {
		s.truth.tracks[s.entity].add(f, s.way(float64(f)), s.speed(float64(f)), s.truth)
		s.truth.tick = f
	}
}

// stage begins the truth; the entity belongs to player 1, the picture is player 0's.
func stage(t *testing.T, way path) *staged {
	t.Helper()
	s := &staged{entity: ecs.Entity{Row: 2 << 20, Born: 1}, way: way}
	s.display = display{truth: newTruth(60, 10), rate: 60, hz: 60, snap: 2, ahead: ahead}
	k := &track{entity: s.entity, first: 1}
	s.truth.tracks[s.entity] = k
	if s.entity.Owner() != ecs.OwnedBy(1) {
		t.Fatalf("the entity is %v's", s.entity.Owner())
	}
	return s
}

// speed is the velocity with which the entity came to where it is, along the floor.
func (s *staged) speed(ticks float64) vec {
	v := s.way(ticks).sub(s.way(ticks - 1)).times(60)
	v[2] = 0
	return v
}

// show judges frames in which the entity is shown as old as age says, in ticks, and off by as much as off says.
func (s *staged) show(age func(frame int) float64, off func(frame int) vec) {
	for i := range 600 {
		at := 400 + float64(i) + 0.3
		of := at - age(i)
		pos := s.way(of).sub(off(i).times(-1))
		s.frames = append(s.frames, frame{at: at, shown: of, things: []thing{{entity: s.entity, pos: pos, vel: s.speed(math.Ceil(of))}}})
		s.goOn(ecs.Tick(at) + 121) // two seconds ahead
		s.judge()
	}
}

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }
func nowhere(int) vec                      { return vec{} }

// What is shown exactly, only later, or sooner, is that old, off by what is covered in that time, and nothing else.
func TestWhatIsShownLateIsOldAndNothingElse(t *testing.T) {
	for _, age := range []float64{0, 6.5, 30, 111, -12} {
		s := stage(t, straight)
		s.show(constant(age), nowhere)
		m := &s.marks
		found := spreadOf(m.remote)
		if found.N < 50 || math.Abs(found.P50-age*1e3/60) > 1 || found.P99-found.P50 > 2 {
			t.Errorf("%v ticks old: found %+v ms", age, found)
		}
		// Around a corner the distance is less than the way.
		if e := errorOf(m.errors); e.N != 600 || e.RMS > math.Abs(age)*0.1+1e-9 || e.RMS < math.Abs(age)*0.1*0.6 {
			t.Errorf("%v ticks old: off by %+v", age, e)
		}
		if e := errorOf(m.shapes); e.P99 > 0.02 {
			t.Errorf("%v ticks old: off for its age by %+v", age, e)
		}
		if jumps := spreadOf(m.jumps); jumps.Max > 0.2 || m.snaps != 0 || m.backward != 0 || m.frozen != 0 || deviation(m.paces) > 1e-6 || len(m.paces) < 200 {
			t.Errorf("%v ticks old: jumps %+v, %d snaps, %d backward, %d frozen, roughness %v of %d", age, jumps, m.snaps, m.backward, m.frozen,
				deviation(m.paces), len(m.paces))
		}
	}
}

// One frame that shows an entity elsewhere is a jump there and a jump back.
func TestAJumpIsFoundThereAndBack(t *testing.T) {
	for _, far := range []float64{0.5, 3} {
		s := stage(t, straight)
		s.show(constant(10), func(i int) vec {
			if i == 300 {
				return vec{0, 0, far}
			}
			return vec{}
		})
		big := 0
		for _, j := range s.marks.jumps {
			if math.Abs(j-far) < 0.15 {
				big++
			}
		}
		wantSnaps := 0
		if far > 2 {
			wantSnaps = 2
		}
		if big != 2 || s.marks.snaps != wantSnaps {
			t.Errorf("%v far: jumps %v, %d snaps", far, s.marks.jumps, s.marks.snaps)
		}
	}
}

// Where the truth jumps nobody is wrong who jumps too, sooner or later.
func TestATeleportIsNobodysFault(t *testing.T) {
	s := stage(t, func(ticks float64) vec {
		at := straight(ticks)
		if ticks >= 700 {
			at[2] = 40
		}
		return at
	})
	s.show(constant(20), nowhere)
	if s.marks.snaps != 0 || errorOf(s.marks.errors).P99 > 3 || len(s.marks.errors) < 200 || len(s.marks.errors) == 600 {
		t.Errorf("%d snaps, off by %+v", s.marks.snaps, errorOf(s.marks.errors))
	}
}

// A step of the truth that no velocity explains, such as along a wall, is no jump of who shows it.
func TestAStepThatTheTruthTookIsNoJump(t *testing.T) {
	s := stage(t, func(ticks float64) vec {
		at := straight(ticks)
		if ticks >= 700 {
			at[2] = 1
		}
		return at
	})
	s.show(constant(20), nowhere)
	if jumps := spreadOf(s.marks.jumps); jumps.Max > 0.2 {
		t.Errorf("jumps %+v", jumps)
	}
}

// What belongs to the player who watches is held against its own timeline, and is no measure of how the others are shown.
func TestOwnEntitiesSayNothingOfTheOthers(t *testing.T) {
	s := stage(t, straight)
	s.seat = 1
	s.show(constant(-20), nowhere)
	m := &s.marks
	if len(m.remote)+len(m.errors)+len(m.shapes)+len(m.paces) > 0 || len(m.own) != 600 || m.own[0] > -300 {
		t.Errorf("%d ages, %d errors, %d shapes, %d paces; own ages %v …", len(m.remote), len(m.errors), len(m.shapes), len(m.paces), m.own[0])
	}
	if spreadOf(m.jumps).Max > 0.2 {
		t.Errorf("jumps %+v", spreadOf(m.jumps))
	}
}

// A picture that stands still for 100 ms and then goes on where it should be.
func TestAFreezeIsFound(t *testing.T) {
	s := stage(t, straight)
	s.show(func(i int) float64 {
		if i >= 360 && i < 366 { // in the middle of a leg
			return 10 + float64(i-359)
		}
		return 10
	}, nowhere)
	m := &s.marks
	if m.frozen != 6 || m.episodes != 1 || m.longest != 6 || m.frames != 600 || deviation(m.paces) < 0.1 {
		t.Errorf("%d frames frozen of %d, %d times, at most %d, roughness %v", m.frozen, m.frames, m.episodes, m.longest, deviation(m.paces))
	}
}

// A step against every way that the entity took is one back; standing still, and a way back that it took, are not.
func TestAStepBackIsFound(t *testing.T) {
	s := stage(t, straight)
	s.show(func(i int) float64 {
		if i == 360 {
			return 12
		}
		return 10
	}, nowhere)
	if s.marks.backward != 1 {
		t.Errorf("%d steps back, want 1", s.marks.backward)
	}
	s = stage(t, func(ticks float64) vec { return vec{5 * math.Cos(ticks/4), 0, 0} })
	s.show(constant(10), nowhere)
	if s.marks.backward != 0 {
		t.Errorf("%d steps back of one who goes to and fro", s.marks.backward)
	}
	s = stage(t, func(float64) vec { return vec{} })
	s.show(constant(10), func(i int) vec { return vec{0, 0.01 * float64(i), 0} })
	if s.marks.backward != 0 {
		t.Errorf("%d steps back of one who stands and is shown drifting", s.marks.backward)
	}
}

// The server's time goes on between its ticks.
func TestTheServersTimeGoesOnBetweenTicks(t *testing.T) {
	s := truth{rate: 60, tick: 90, at: 1500 * time.Millisecond}
	if now := s.now(1525 * time.Millisecond); math.Abs(now-91.5) > 1e-9 {
		t.Errorf("25 ms after tick 90 it is %v", now)
	}
}

// With no part of the way to the newest state shown, what that state goes on from is not shown yet.
func TestAStateOfWhichNothingIsShownYetShowsNoPress(t *testing.T) {
	w, err := ecs.NewWorld(testGame(), 1)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ecs.NewView(testGame())
	if err != nil {
		t.Fatal(err)
	}
	p := player{match: &match{net: simnet.New(simnet.Config{})}, presses: presses{until: math.MaxInt64}}
	in := steers.Pack(steer{DX: 1})
	p.presses.give(in, 0)
	var before, after image.Snapshot
	w.Image().Save(&before)
	w.Step(ecs.TickInputs{Players: []ecs.InputBytes{in, {}, {}, {}}})
	w.Image().Save(&after)
	for _, alpha := range []float64{0, 0.001} {
		v.Update(&before, &after, &before, alpha)
		p.press(v)
		if got := len(p.presses.display) > 0; got != (alpha > 0) {
			t.Errorf("%v of the way: shown is %t", alpha, got)
		}
	}
}

// Ages that wander are followed: what is off for the age stays small while the age doubles.
func TestAnAgeThatGrowsIsFollowed(t *testing.T) {
	s := stage(t, straight)
	s.show(func(i int) float64 { return 20 + 20*float64(i)/600 }, nowhere)
	if e := errorOf(s.marks.shapes); e.P99 > 0.2 {
		t.Errorf("off for its age by %+v", e)
	}
	if n := len(s.marks.remote); math.Abs(s.marks.remote[n-1]-39.9*1e3/60) > 10 || math.Abs(s.marks.remote[0]-20*1e3/60) > 10 {
		t.Errorf("ages from %v to %v ms", s.marks.remote[0], s.marks.remote[n-1])
	}
}

// A press counts from the frame that gives it to the first that shows it, and once; what is shown of another player's
// kind of press, or again, does not count.
func TestPressesAreFollowedByTheirValue(t *testing.T) {
	a, b := steers.Pack(steer{DX: 1}), steers.Pack(steer{DY: 1})
	none := steers.Pack(steer{})
	p := presses{until: math.MaxInt64}
	ms := time.Millisecond
	p.give(none, 0) // what is held from the start is no press
	p.give(a, 10*ms)
	p.give(a, 20*ms)
	p.show(none, 20*ms)
	p.show(a, 30*ms)
	p.show(none, 40*ms) // taken back by the server …
	p.show(a, 50*ms)    // … and there again
	p.give(b, 60*ms)
	p.give(a, 70*ms)
	p.use(a, 5)
	p.confirmUpTo(4, 80*ms)
	p.confirmUpTo(6, 90*ms)
	p.show(a, 100*ms) // no change: this is the old one
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
	// One that was never seen by itself counts with the one that took its place.
	p = presses{until: math.MaxInt64}
	p.give(a, 10*ms)
	p.give(b, 20*ms)
	p.show(b, 50*ms)
	if want := []float64{40, 30}; !equal(p.display, want) {
		t.Errorf("shown after %v, want %v", p.display, want)
	}
	// Nobody waits for ever for what never comes.
	for i := range 3 * mostPresses {
		p.give(steers.Pack(steer{DX: int8(i % 100), DY: int8(i / 100 % 100)}), ms)
	}
	if len(p.list) > mostPresses || p.shown < 0 || p.shown > len(p.list) {
		t.Errorf("%d presses are waited for, %d shown", len(p.list), p.shown)
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

// What is queued between two flushes leaves in one packet, whose headers are paid once.
func TestTheWireCarriesHeadersOncePerPacket(t *testing.T) {
	var m meter
	m.flush(0)
	if m.traffic != (Traffic{}) {
		t.Errorf("nothing sent: %+v", m.traffic)
	}
	m.send(systems.Datagram, 20)
	m.send(systems.Datagram, 30)
	m.flush(0)
	if want := (Traffic{Messages: 2, Payload: 50, Packets: 1, Wire: 28 + 19 + 1 + 2*3 + 50, MostWire: 104}); m.traffic != want {
		t.Errorf("two datagrams: %+v, want %+v", m.traffic, want)
	}
	m.begin()
	m.send(systems.Reliable, 3000) // in three segments, which need three packets
	m.flush(time.Second)
	if want := uint64(3*48 + 3*(3+24) + 2 + 3000); m.traffic.Packets != 3 || m.traffic.Wire != want {
		t.Errorf("a reliable message: %+v, want %d bytes", m.traffic, want)
	}
	m.begin()
	m.heard(systems.Reliable, 10)
	m.heard(systems.Datagram, 10)
	m.flush(2 * time.Second)
	if m.traffic.Wire != 48+24 {
		t.Errorf("an acknowledgement: %+v", m.traffic)
	}
}

func TestFiguresAreWhatTheirNamesSay(t *testing.T) {
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

// A script says the same for ever; what bots recorded depends on the seed alone.
func TestAScriptIsTheSameForAll(t *testing.T) {
	g := testGame()
	count := NewScript(2, 3, func(f ecs.Tick, p ecs.Player) ecs.InputBytes { return ecs.InputBytes{byte(f), byte(p)} })
	for f, want := range []byte{0, 1, 2, 3, 1, 2, 3, 1} {
		if in := count.At(ecs.Tick(f), 1); in[0] != want || f > 0 && in[1] != 1 {
			t.Errorf("tick %d is %v, want %d", f, in[:2], want)
		}
	}
	a, err := Record(g, 3, 1) // without bots: noise
	if err != nil {
		t.Fatal(err)
	}
	held, seen := 0, map[ecs.InputBytes]bool{}
	for f := ecs.Tick(1); f <= 3600; f++ {
		in := a.At(f, 1)
		if clean := in; in != (ecs.InputBytes{}) {
			if clean = g.Input.Clean(clean); clean != in {
				t.Fatalf("tick %d: no program makes %v", f, in)
			}
		}
		if in == a.At(f+1, 1) {
			held++
		}
		seen[in] = true
		if a.At(f+3600, 1) != in {
			t.Fatalf("tick %d is another one a minute later", f)
		}
	}
	if held < 3300 || len(seen) < 100 || a.At(0, 0) != (ecs.InputBytes{}) || a.At(9, 3) != (ecs.InputBytes{}) {
		t.Errorf("%d ticks hold what the one before does, %d inputs", held, len(seen))
	}
	g.Bot = func(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
		return steers.Pack(steer{DX: int8(r.IntN(3)) - 1, DY: int8(w.Tick()%3) - 1})
	}
	one, _ := Record(g, 2, 1)
	two, _ := Record(g, 2, 1)
	three, _ := Record(g, 2, 2)
	same, other := 0, 0
	for f := ecs.Tick(1); f <= 3600; f++ {
		for p := range ecs.Player(2) {
			if one.At(f, p) == two.At(f, p) {
				same++
			}
			if one.At(f, p) != three.At(f, p) {
				other++
			}
		}
	}
	if same != 7200 || other < 3000 {
		t.Errorf("%d inputs of 7200 are the same again, %d differ with another seed", same, other)
	}
}
