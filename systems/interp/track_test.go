package interp

import (
	"math"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
)

func newTestTrack(t testing.TB, c RemoteConfig) *track {
	t.Helper()
	if c.TickRate == 0 {
		c.TickRate = 10
	}
	return &NewRemote(c).track
}

// bracketAt returns the states around a moment.
func (t *track) bracketAt(playing float64) Bracket {
	b, _ := t.bracket(playing)
	return b
}

func at(f ecs.Tick, x float64) Sample { return Sample{Tick: f, Motion: Motion{Pos: Vec{X: x}}} }

// A sample after a newer one fills a gap if it is not older than the shown moment. Duplicates are ignored.
func TestALateSampleFillsAGapAheadOfPlayback(t *testing.T) {
	tr := newTestTrack(t, RemoteConfig{})
	for _, v := range []struct {
		tick    ecs.Tick
		playing float64
		taken   bool
	}{{10, 9, true}, {20, 9, true}, {10, 9, false}, {20, 9, false}, {15, 15.5, false}, {15, 15, true}, {15, 0, false}, {5, 5.1, false}, {5, 4, true},
		{30, 99, true}} { // the newest is always of use, however late
		if got := tr.put(at(v.tick, float64(v.tick)), v.playing); got != v.taken {
			t.Errorf("tick %d at %v: taken %t", v.tick, v.playing, got)
		}
	}
	if b := tr.bracketAt(17); b != (Bracket{Between, 15, 20, 0.4, 0}) {
		t.Errorf("%+v", b)
	}
	if b := tr.bracketAt(4); b.Kind != Early || b.From != 5 || b.To != 5 {
		t.Errorf("%+v", b)
	}
	if b := tr.bracketAt(31.5); b != (Bracket{Beyond, 30, 30, 0, 1.5}) || tr.count != 5 {
		t.Errorf("%+v", b)
	}
}

// An entity that was at rest until tick c moved after c, not all the time since its last sample: the span begins at c.
// Without that, an entity that sets off after a long rest is shown crawling all along.
func TestAKnownRestShortensTheSpan(t *testing.T) {
	tr := newTestTrack(t, RemoteConfig{})
	s := at(10, 1)
	s.Flags, s.Vel = HasVelocity, Vec{X: 5}
	tr.put(s, 0)
	tr.rest(20)
	if m, b := tr.motion(25); b != (Bracket{Beyond, 10, 10, 0, 5}) || m.Pos.X != 1 {
		t.Errorf("a rest is extrapolated: %+v, %+v", m, b) // whatever its velocity was before
	}
	next := at(22, 2)
	next.Flags, next.Vel = HasVelocity, Vec{X: 10}
	tr.put(next, 0)
	for _, v := range []struct {
		playing float64
		want    Bracket
		x       float64
	}{
		{10, Bracket{Resting, 10, 10, 0, 0}, 1}, {19.5, Bracket{Resting, 10, 10, 0, 0}, 1}, {20, Bracket{Resting, 10, 10, 0, 0}, 1},
		// From rest to 10 a second in 0.2 s on a curve: halfway ½ − 10·0.2/8 = ¼ of the way.
		{21, Bracket{Between, 10, 22, 0.5, 0}, 1.25}, {22, Bracket{Beyond, 22, 22, 0, 0}, 2},
	} {
		if m, b := tr.motion(v.playing); b != v.want || math.Abs(m.Pos.X-v.x) > 1e-9 {
			t.Errorf("at %v: %+v, x %v; want %+v, %v", v.playing, b, m.Pos.X, v.want, v.x)
		}
	}
	if tr.put(at(15, 9), 0) || tr.put(at(20, 9), 0) {
		t.Error("a sample within a known rest was taken")
	}
	tr.rest(21) // arrives late: it concerns the sample before
	if b := tr.bracketAt(21.5); b.Part != 0.5 {
		t.Errorf("%+v", b)
	}
	tr.rest(5)
	if b := tr.bracketAt(9); b.Kind != Early {
		t.Errorf("%+v", b)
	}
}

// A curve needs the velocities of both ends; where one was not sent, the way is straight.
func TestWithoutBothVelocitiesTheWayIsStraight(t *testing.T) {
	tr := newTestTrack(t, RemoteConfig{})
	s := at(10, 0)
	s.Flags, s.Vel = HasVelocity, Vec{X: 50}
	tr.put(s, 0)
	tr.put(at(20, 4), 0)
	if m, _ := tr.motion(12.5); m.Pos.X != 1 || m.Vel.X != 4 {
		t.Errorf("%+v", m)
	}
	if m, _ := tr.motion(25); m.Pos.X != 4 || m.Vel != (Vec{}) {
		t.Errorf("extrapolated without a velocity: %+v", m)
	}
}

// Nothing is shown between the ends of a teleport: the entity stays until the tick of the second. A teleport has a flag, or
// more than twice the largest speed. The speed counts from the end of a rest, and from a late sample between the two.
func TestNothingIsShownBetweenTheEndsOfATeleport(t *testing.T) {
	for _, v := range []struct {
		name string
		to   Sample
		rest ecs.Tick
		want bool
	}{
		{"flag", Sample{20, Motion{Pos: Vec{X: 1}}, Teleported}, 0, true},
		{"20 in a second at 10 a second", at(20, 20), 0, false},
		{"more", at(20, 20.1), 0, true},
		{"10 in half a second", at(20, 10.1), 15, true},
		{"less", at(20, 9.9), 15, false},
	} {
		tr := newTestTrack(t, RemoteConfig{MaxSpeed: 10})
		tr.put(at(10, 0), 0)
		tr.rest(v.rest)
		tr.put(v.to, 0)
		m, b := tr.motion(19.9)
		if got := b.Kind == Resting && b.To == 10 && m.Pos.X == 0; got != v.want || tr.teleportedIn(10, 20) != v.want {
			t.Errorf("%s: %+v shown at %+v", v.name, b, m.Pos)
		}
		if tr.teleportedIn(10, 19.9) || tr.teleportedIn(20, 30) {
			t.Errorf("%s: teleported at another time", v.name)
		}
		if m, _ := tr.motion(20); m.Pos != v.to.Pos {
			t.Errorf("%s: %+v shown in the end", v.name, m.Pos)
		}
	}
	tr := newTestTrack(t, RemoteConfig{MaxSpeed: 10})
	tr.put(at(10, 0), 0)
	tr.put(at(20, 30), 0)
	tr.put(at(12, 20), 0) // it was there that it jumped
	if !tr.teleportedIn(10, 12) || tr.teleportedIn(12, 20) || tr.bracketAt(16).Kind != Between {
		t.Error("a late sample does not say where the jump was")
	}
}

// The track shows the same as a plain list, for samples in any order. The ring is full most of the time.
func TestATrackShowsWhatAPlainListShows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	const size = 8
	taken, refused, kinds := 0, 0, map[Kind]int{}
	for range 300 {
		tr, list, playing := newTestTrack(t, RemoteConfig{}), []Sample(nil), 0.0
		tr.ring = tr.ring[:size]
		for f := ecs.Tick(1); f < 60; f++ {
			s := at(max(f+ecs.Tick(r.IntN(9)), 5)-4, r.Float64())
			place, double := 0, false
			for _, o := range list {
				double = double || o.Tick == s.Tick
				if o.Tick < s.Tick {
					place++
				}
			}
			want := !double && (place == len(list) || float64(s.Tick) >= playing) && (place > 0 || len(list) < size)
			if got := tr.put(s, playing); got != want {
				t.Fatalf("tick %d at %v: taken %t, want %t of %v", s.Tick, playing, got, want, list)
			}
			if want {
				taken++
				list = append(list[:place], append([]Sample{s}, list[place:]...)...)
				list = list[max(0, len(list)-size):]
			} else {
				refused++
			}
			playing += 2 * r.Float64()
			m, b := tr.motion(playing)
			kinds[b.Kind]++
			if want := plain(list, playing); math.Abs(m.Pos.X-want) > 1e-9 || tr.count != len(list) {
				t.Fatalf("at %v: %v shown (%+v), want %v of %v", playing, m.Pos.X, b, want, list)
			}
		}
	}
	if taken < 1000 || refused < 1000 || kinds[Between] < 1000 || kinds[Early] < 10 || kinds[Beyond] < 100 {
		t.Errorf("%d taken, %d refused, kinds %v: the test shows too little", taken, refused, kinds)
	}
}

// plain interpolates a list.
func plain(list []Sample, playing float64) float64 {
	last := list[0]
	for _, s := range list[1:] {
		if float64(s.Tick) > playing {
			if float64(last.Tick) > playing {
				break
			}
			part := (playing - float64(last.Tick)) / float64(s.Tick-last.Tick)
			return last.Pos.X + (s.Pos.X-last.Pos.X)*part
		}
		last = s
	}
	return last.Pos.X
}

// A curve has the positions and velocities of its ends, its velocity is the change of its position, and constant speed
// stays constant.
func TestACurveMeetsItsEnds(t *testing.T) {
	a := Motion{Pos: Vec{1, 2, 3}, Vel: Vec{4, -5, 6}}
	b := Motion{Pos: Vec{-3, 7, 0}, Vel: Vec{1, 1, -9}}
	const span = 0.3
	if from, to := hermite(a, b, span, 0), hermite(a, b, span, 1); from != a || to.Pos.Sub(b.Pos).Len() > 1e-12 || to.Vel.Sub(b.Vel).Len() > 1e-12 {
		t.Errorf("from %+v to %+v", from, to)
	}
	const h = 1e-6
	for _, at := range []float64{0.1, 0.5, 0.83} {
		slope := hermite(a, b, span, at+h).Pos.Sub(hermite(a, b, span, at-h).Pos).Scale(1 / (2 * h * span))
		if got := hermite(a, b, span, at).Vel; got.Sub(slope).Len() > 1e-4 {
			t.Errorf("at %v: velocity %v, position changes by %v", at, got, slope)
		}
	}
	c := Motion{Pos: a.Pos.Add(a.Vel.Scale(span)), Vel: a.Vel}
	if m := hermite(a, c, span, 0.25); m.Pos.Sub(a.Pos.Add(a.Vel.Scale(span/4))).Len() > 1e-12 || m.Vel.Sub(a.Vel).Len() > 1e-12 {
		t.Errorf("constant speed: %+v", m)
	}
}

// Falling ends on the ground, time ends at the cap, and what is below the ground stays there.
func TestExtrapolationEndsOnTheGroundAndAtTheCap(t *testing.T) {
	after := func(m Motion, seconds float64) Motion { // above a slope
		return Extrapolate(m, seconds, 1, func(p Vec) float64 { return p.X })
	}
	falling := Motion{Pos: Vec{Z: 5}, Vel: Vec{X: 1}, Acc: Vec{Z: -9.8}}
	if m := after(falling, 0.5); math.Abs(m.Pos.Z-(5-9.8/8)) > 1e-12 || math.Abs(m.Vel.Z+4.9) > 1e-12 {
		t.Errorf("in the air: %+v", m)
	}
	if m := after(falling, 0.999); m.Pos.Z != m.Pos.X || m.Vel.Z != 0 || m.Vel.X != 1 {
		t.Errorf("on the ground: %+v", m)
	}
	if m := after(falling, 7); m.Pos != (Vec{1, 0, 1}) || m.Vel != (Vec{}) || m.Acc != (Vec{}) {
		t.Errorf("after the cap: %+v", m)
	}
	if m := after(Motion{Pos: Vec{Z: -2}, Vel: Vec{X: 1, Z: -1}}, 0.5); m.Pos.Z != -2 {
		t.Errorf("in a pit: %+v", m)
	}
	if m := Extrapolate(Motion{Vel: Vec{X: 4}}, 0.3, 0.25, nil); m.Pos.X != 1 || m.Vel != (Vec{}) {
		t.Errorf("without ground: %+v", m)
	}
}
