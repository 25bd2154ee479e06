package interp

import (
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
	"tendon/net/simnet"
	"tendon/systems"
)

const ms = systems.Second / 1000

// GH-01, GAM-INT: x = 9, 10 and 11 at 900, 1000 and 1100 ms, each here at once, 40 ticks a second, delay 100 ms. The
// shown position is the true one of 100 ms ago, one unit behind.
func TestGH01ShownIsTheTruthOfTheDelayAgo(t *testing.T) {
	p := NewPlayback(PlaybackConfig{TickRate: 40, Interval: 4, Intervals: 1})
	r := NewRemote(RemoteConfig{TickRate: 40})
	want := map[systems.Time]float64{1000: 9, 1050: 9.5, 1100: 10}
	seen := 0
	for at := systems.Time(900); at <= 1100; at++ {
		if at%100 == 0 { // deliveries come before what is shown at the same time
			p.Arrived(ecs.Tick(at/25), at*ms)
			r.Put(Sample{Tick: ecs.Tick(at / 25), Motion: Motion{Pos: Vec{X: float64(at) / 100}}}, p.Tick())
		}
		shown := r.Show(p.Advance(at * ms)).Pos.X
		if truth := float64(at) / 100; at >= 1000 && (math.Abs(shown-(truth-1)) > 1e-9) {
			t.Fatalf("at %d ms: %v shown, the truth of 100 ms ago is %v", at, shown, truth-1)
		}
		if x, ok := want[at]; ok {
			if seen++; math.Abs(shown-x) > 1e-9 {
				t.Errorf("at %d ms: %v shown, want %v", at, shown, x)
			}
		}
	}
	if seen != len(want) || p.pace != 1 {
		t.Errorf("%d of the vector's points, pace %v", seen, p.pace)
	}
}

// GH-02: at P5, with 20 states a second and the multiplier that strategies have, there are at most 0.3 freezes a minute and
// no backward step. Each frame moves within 6 % of nominal speed. The shown state is at most 380 ms old (the table of
// section 15). At P3: 210 ms and 0.2. The control, almost without delay, freezes all the time.
func TestGH02PlaybackIsSmoothOverABadNetwork(t *testing.T) {
	const v, minutes = 5.0, 10
	seeds := uint64(6)
	if race.Enabled {
		seeds = 2
	}
	for _, link := range []struct {
		profile string
		freezes float64 // per minute
		age     float64 // seconds
	}{{"P3", 0.2, 0.21}, {"P5", 0.3, 0.38}} {
		freezes, frames, age, late := 0, 0, 0.0, uint64(0)
		for seed := range seeds {
			r := newRig(t, link.profile, seed+1, 0, straight(v))
			r.run(minutes * time.Minute)
			if worst, least := roughest(r.frames, v); worst > 0.06 || least <= 0 {
				t.Errorf("%s, seed %d: a frame moved %.3f off nominal speed, the least step is %v", link.profile, seed, worst, least)
			}
			if r.playback.jumps > 0 {
				t.Errorf("%s, seed %d: playback jumped", link.profile, seed)
			}
			for _, f := range r.frames {
				age += f.age
			}
			freezes, frames, late = freezes+r.freezes, frames+len(r.frames), late+r.playback.late
		}
		rate := float64(freezes) / float64(minutes*seeds)
		if mean := age / float64(frames); rate > link.freezes || mean > link.age {
			t.Errorf("%s: %.3f freezes a minute and %.0f ms of age", link.profile, rate, mean*1000)
		}
		if late == 0 && !race.Enabled {
			t.Errorf("%s: nothing ever came late: the test shows nothing", link.profile)
		}
	}
	control := newRig(t, "P5", 1, 1, straight(v))
	control.playback = NewPlayback(PlaybackConfig{TickRate: rigTicks, Interval: rigSend, Intervals: 1})
	control.playback.most = rigTicks / 20
	control.run(2 * time.Minute)
	if control.freezes < 60 {
		t.Errorf("the control froze %d times in two minutes", control.freezes)
	}
}

// GH-02, an entity that changes its speed: truth that never goes back is never shown going back, though it is
// extrapolated wrongly while nothing comes.
func TestGH02MonotoneTruthIsNeverShownGoingBack(t *testing.T) {
	wavy := func(s float64) Motion {
		return Motion{Pos: Vec{X: 5*s - 2*math.Cos(2*s)}, Vel: Vec{X: 5 + 4*math.Sin(2*s)}}
	}
	largest := 0.0
	for seed := range uint64(4) {
		r := newRig(t, "P5", seed+1, 3, wavy)
		r.net.Partition(r.client, r.server, simnet.Time(30*time.Second), simnet.Time(30500*time.Millisecond))
		r.run(3 * time.Minute)
		for _, f := range r.frames {
			largest = max(largest, f.shown.Offset.Len())
		}
		if _, least := roughest(r.frames, 5); least < 0 {
			t.Errorf("seed %d: the least step is %v", seed, least)
		}
	}
	if largest < 0.01 {
		t.Errorf("the largest offset is %v: the test shows nothing", largest)
	}
}

// GH-03, negative control: positions stamped by their arrival let the jitter into the motion. The same connection with
// the sender's ticks is smooth (GH-02).
func TestGH03StampsOfTheArrivalShakeTheMotion(t *testing.T) {
	const v = 5.0
	variation := func(byArrival bool) float64 {
		r := newRig(t, "P5", 7, 3, straight(v))
		track := newTestTrack(t, RemoteConfig{TickRate: 1000})
		var steps []float64
		last := math.NaN()
		if byArrival {
			r.net.OnMessage(r.client, func(_ simnet.NodeID, _ simnet.Channel, payload []byte, now simnet.Time) {
				stamp := float64(payload[0]) + 256*float64(payload[1])
				playing := float64(now)/1e6 - 150
				track.put(Sample{Tick: ecs.Tick(now / 1e6), Motion: r.truth(stamp / rigTicks)}, playing)
			})
			r.net.Every(r.client, r.net.LocalNow(r.client), rigFPS, func(_ int64, now simnet.Time) {
				m, b := track.motion(float64(now)/1e6 - 150)
				if b.Kind == Between && !math.IsNaN(last) {
					steps = append(steps, m.Pos.X-last)
				}
				last = m.Pos.X
			})
		}
		r.run(5 * time.Minute)
		for i := 1; !byArrival && i < len(r.frames); i++ {
			steps = append(steps, r.frames[i].shown.Pos.X-r.frames[i-1].shown.Pos.X)
		}
		mean, square := 0.0, 0.0
		for _, s := range steps {
			mean += s / float64(len(steps))
		}
		for _, s := range steps {
			square += (s - mean) * (s - mean) / float64(len(steps))
		}
		return math.Sqrt(square) / mean
	}
	if arrival, sender := variation(true), variation(false); arrival <= 0.2 || sender > 0.04 {
		t.Errorf("speed varies by %.3f with stamps of the arrival and by %.3f with the sender's", arrival, sender)
	}
}

// gapped plays an entity at v units a second, at 60 frames a second. No sample of it arrives between ticks 60 and
// 60 + silence. It returns the shown states from tick 60 on.
func gapped(t *testing.T, v float64, silence ecs.Tick, back Flags, c RemoteConfig) (shown []Shown) {
	c.TickRate = 60
	r := NewRemote(c)
	for f := ecs.Tick(1); f < 60+silence+180; f++ {
		playing := float64(f)
		// States are here the moment they are played, but for those of the gap.
		if f%3 == 0 && (f <= 60 || f >= 60+silence) {
			s := Sample{Tick: f, Motion: Motion{Pos: Vec{X: v * float64(f) / 60}, Vel: Vec{X: v}}, Flags: HasVelocity}
			if f == 60+silence {
				s.Flags |= back
			}
			r.Put(s, playing)
		}
		if s := r.Show(playing); f >= 60 {
			shown = append(shown, s)
		}
	}
	return shown
}

// GH-04: in a gap of 400 ms an entity is extrapolated for 250 ms and then holds. When samples arrive again, no frame moves it
// by more than twice its speed, unless it teleported.
func TestGH04AGapIsExtrapolatedHeldAndBlended(t *testing.T) {
	const silence = 24 // ticks, 400 ms
	for _, v := range []float64{1, 5, 10} {
		shown := gapped(t, v, silence, 0, RemoteConfig{})
		for f := 1; f < silence; f++ {
			if want := v + v*min(float64(f)/60, 0.25); math.Abs(shown[f].Pos.X-want) > 1e-9 {
				t.Fatalf("v %v: %v shown %d ticks into the gap, want %v", v, shown[f].Pos.X, f, want)
			}
		}
		for f := silence; f < len(shown); f++ {
			if step := shown[f].Pos.X - shown[f-1].Pos.X; step > 2*v/60 || step < 0 || f > silence && step < v/60-1e-9 {
				t.Errorf("v %v: a step of %v when it is back, %v is nominal", v, step, v/60)
			}
		}
		end := shown[len(shown)-1]
		if end.Offset != (Vec{}) || math.Abs(end.Pos.X-v*(60+silence+179)/60) > 1e-9 {
			t.Errorf("v %v: %v shown in the end, offset %v", v, end.Pos.X, end.Offset)
		}
	}
	// With the flag the picture is where the entity is at once; without blending too, which is what blending is for.
	for _, s := range [][]Shown{
		gapped(t, 10, silence, Teleported, RemoteConfig{}),
		gapped(t, 10, silence, 0, RemoteConfig{Smoothing: Jumping}),
	} {
		step := s[silence].Pos.X - s[silence-1].Pos.X
		if math.Abs(step-1.5) > 0.02 || s[silence].Offset != (Vec{}) {
			t.Errorf("a step of %v, offset %v", step, s[silence].Offset)
		}
	}
}

// GH-05: when the jitter rises from 2 to 20 ms, the delay grows by at least a tick within a second, which is twenty states.
// On average it grows by a third of its total growth in that second. When the jitter falls, the delay shrinks within 30 s,
// and never by more than a tenth of the surplus in a second.
func TestGH05TheDelayGrowsFastAndShrinksSlowly(t *testing.T) {
	const seeds = 8
	share := 0.0
	for seed := range uint64(seeds) {
		r := newRig(t, "P2", seed+1, 2, straight(5))
		r.run(30 * time.Second)
		calm := r.playback.Delay()
		r.jitter(20 * time.Millisecond)
		r.run(31 * time.Second)
		grown := r.playback.Delay()
		r.run(90 * time.Second)
		sum, n := 0.0, 0.0
		for _, f := range r.frames {
			if f.at > 40*systems.Second {
				sum, n = sum+f.delay, n+1
			}
		}
		rough := sum / n
		if calm > 7 || rough < 10 || grown < calm+1 {
			t.Errorf("seed %d: delay %v before, %v a second after and %v later", seed, calm, grown, rough)
		}
		share += (grown - calm) / (rough - calm) / seeds
		r.jitter(2 * time.Millisecond)
		from := len(r.frames)
		r.run(120 * time.Second)
		if back := r.playback.Delay(); back > calm+0.1*(rough-calm) {
			t.Errorf("seed %d: delay %v 30 s after, %v before", seed, back, calm)
		}
		for i := from + 1; i < len(r.frames); i++ {
			a, b := r.frames[i-1].delay, r.frames[i].delay
			if a-b > (a-6)*0.1/rigFPS*1.01 {
				t.Fatalf("seed %d: the delay shrank from %v to %v in a frame", seed, a, b)
			}
		}
	}
	if share < 1.0/3 {
		t.Errorf("a second after, the delay has grown by %.2f of its total growth", share)
	}
}

// GH-06, PAPER-GHOST: a difference of 0.05 is left, 0.5 goes by a tenth per update, 2.5 at once. From 1.0 to a target that
// stands still there are 22 updates, and 0.0985 is left. A velocity has no offset, so it is always taken over.
func TestGH06AGhostIsKeptBlendedOrSnapped(t *testing.T) {
	for diff, left := range map[float64]float64{0.05: 0.05, 0.1: 0.1, 0.5: 0.45, 2: 1.8, 2.5: 0} {
		o := NewOffset(Stepping)
		o.Add(Vec{X: diff})
		if o.Fade(1.0/60, 0); math.Abs(o.Value().X-left) > 1e-9 {
			t.Errorf("difference %v: %v is left", diff, o.Value())
		}
	}
	o, updates := NewOffset(Stepping), 0
	o.Add(Vec{X: 1})
	for last := 2.0; o.Value().X != last; updates++ {
		last = o.Value().X
		o.Fade(1.0/60, 0)
	}
	if left := o.Value().X; updates-1 != 22 || math.Abs(left-0.0985) > 5e-5 {
		t.Errorf("%d updates, %v left", updates-1, left)
	}
}

// GH-07, PVB-1: P0 = 0, V0 = 4, P1 = 1, V1 = 6, T = 1 s.
func TestGH07ProjectiveBlendingMeetsTheVector(t *testing.T) {
	b := newProjective(Motion{Vel: Vec{X: 4}}, Motion{Pos: Vec{X: 1}, Vel: Vec{X: 6}}, 1)
	for i, want := range []float64{0, 1.46875, 3.25, 5.15625, 7} {
		if got := b.after(float64(i) / 4).Pos.X; math.Abs(got-want) > 1e-12 {
			t.Errorf("%v s: %v shown, want %v", float64(i)/4, got, want)
		}
	}
	if after := b.after(2); after.Pos.X != 13 || after.Vel.X != 6 {
		t.Errorf("after the blend: %+v", after)
	}
}

// GAM-DR: a car at 100 m/s, updates every 100 ms. Dead reckoning fills a gap of 10 m without error if it drives straight.
// In a turn of 1 rad/s it is off by ½·a·t² = 0.5 m, with a = 100 m/s²; where the acceleration is sent too, by far less.
func TestGamDRDeadReckoningFillsTheGapsOfACar(t *testing.T) {
	const v, omega = 100.0, 1.0
	gap := 0.1
	track := func(acc Vec) Motion {
		tr := newTestTrack(t, RemoteConfig{TickRate: 40})
		tr.put(Sample{Tick: 4, Motion: Motion{Vel: Vec{X: v}, Acc: acc}, Flags: HasVelocity}, 4)
		m, _ := tr.motion(8)
		return m
	}
	straight, turned := track(Vec{}).Pos, Vec{X: v / omega * math.Sin(omega*gap), Y: v / omega * (1 - math.Cos(omega*gap))}
	if straight.Sub(Vec{X: 10}).Len() > 1e-9 {
		t.Errorf("%v after a gap, want 10 m", straight)
	}
	if off := straight.Sub(turned).Len(); math.Abs(off-0.5) > 0.005 {
		t.Errorf("off by %v m in a turn, want 0.5", off)
	}
	if off := track(Vec{Y: v * omega}).Pos.Sub(turned).Len(); off > 0.02 {
		t.Errorf("off by %v m in a turn with its acceleration", off)
	}
}

// PAPER-ALPHA: previous 10, current 11, 0.0025 s of a step of 0.01 s: 10.25 is shown.
func TestPaperAlphaAQuarterOfAStepShowsAQuarterOfTheWay(t *testing.T) {
	r := NewRemote(RemoteConfig{TickRate: 100})
	r.Put(Sample{Tick: 10, Motion: Motion{Pos: Vec{X: 10}}}, 0)
	r.Put(Sample{Tick: 11, Motion: Motion{Pos: Vec{X: 11}}}, 0)
	if got := r.Show(10 + 0.0025/0.01); got.Pos.X != 10.25 || got.Bracket != (Bracket{Between, 10, 11, 0.25, 0}) {
		t.Errorf("%+v", got)
	}
	if a, b := fixed.FromInt(10), fixed.FromInt(11); VecOf(fixed.Vec3{X: a}).Lerp(VecOf(fixed.Vec3{X: b}), 0.25).Fixed().X != fixed.MustParse("10.25") {
		t.Error("there and back from fixed point")
	}
}

// lightyear#148: rendering that leaves out the part of a tick jitters. At 144 frames a second of 60 ticks each frame moves
// the same way; cut to whole ticks, most frames do not move at all.
func TestIssue148RenderingUsesThePartOfATick(t *testing.T) {
	const v, fps = 6.0, 144
	p := NewPlayback(PlaybackConfig{TickRate: 60, Interval: 1})
	r := NewRemote(RemoteConfig{TickRate: 60})
	var last, lastWhole float64
	still, sent := 0, ecs.Tick(0)
	for f := systems.Time(0); f < 10*fps; f++ {
		now := f * systems.Second / fps
		for systems.TickTime(0, sent+1, 60) <= now {
			sent++
			at := systems.TickTime(0, sent, 60)
			p.Arrived(sent, at)
			r.Put(Sample{Tick: sent, Motion: Motion{Pos: Vec{X: v * float64(sent) / 60}, Vel: Vec{X: v}}, Flags: HasVelocity}, p.Tick())
		}
		playing := p.Advance(now)
		shown, whole := r.Show(playing).Pos.X, v*math.Floor(playing)/60
		if f > 30 {
			if step := shown - last; math.Abs(step*fps/v-1) > 1e-6 {
				t.Fatalf("frame %d moves %v, want %v", f, step, v/fps)
			}
			if whole == lastWhole {
				still++
			}
		}
		last, lastWhole = shown, whole
	}
	if still < 5*fps {
		t.Errorf("the control stood still in %d frames only: the test shows nothing", still)
	}
}
