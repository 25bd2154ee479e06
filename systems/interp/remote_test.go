package interp

import (
	"math"
	"testing"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/systems"
)

// An offset decays to a centimetre, at 60 frames a second, in 63 frames from 0.25 m, 79 from 1 m and 89 from 5 m.
func TestAnOffsetFadesInTheTimesOfTheTable(t *testing.T) {
	for metres, frames := range map[float64]int{0.25: 63, 1: 79, 5: 89} {
		o := Offset{value: Vec{Y: metres}}
		n := 0
		for ; o.Value().Len() > 0.01; n++ {
			o.Fade(1.0/60, 0)
		}
		if n != frames {
			t.Errorf("%v m: %d frames, want %d", metres, n, frames)
		}
		for range 60 {
			o.Fade(1.0/60, 0)
		}
		if o.Value() != (Vec{}) {
			t.Errorf("%v remains of an invisible offset", o.Value())
		}
	}
}

// Below a millimetre an offset is gone, above two metres it snaps, and with Jumping there never is one.
func TestAnOffsetIsClearedSnappedOrNotThere(t *testing.T) {
	o := NewOffset(Decaying)
	if o.Add(Vec{X: 2}); o.Value() != (Vec{X: 2}) {
		t.Error("2 m snapped")
	}
	if o.Add(Vec{X: 0.01}); o.Value() != (Vec{}) {
		t.Error("more than 2 m did not snap")
	}
	o.Add(Vec{X: 0.00105})
	if o.Fade(1.0/60, 0); o.Value() != (Vec{}) {
		t.Error("less than a millimetre is left")
	}
	o.Add(Vec{X: 1})
	if o.Fade(1.0/60, 0.02); o.Value() != (Vec{X: 0.98}) {
		t.Errorf("%v, the bound was 0.02", o.Value())
	}
	none := NewOffset(Jumping)
	if none.Add(Vec{X: 1}); none.Value() != (Vec{}) {
		t.Error("a correction is smoothed")
	}
}

// The frame rate does not change how long an offset lasts, but for the step between small and large ones.
func TestAnOffsetLastsAsLongAtAnyFrameRate(t *testing.T) {
	var left [2]float64
	for i, fps := range []int{30, 144} {
		o := NewOffset(Decaying)
		o.Add(Vec{X: 0.25})
		for range fps {
			o.Fade(1/float64(fps), 0)
		}
		left[i] = o.Value().X
	}
	if math.Abs(left[0]-left[1]) > 1e-9 || math.Abs(left[0]-0.25*math.Pow(0.95, 60)) > 1e-9 {
		t.Error(left)
	}
}

// A correction is smoothed from any source: a sample after a gap, one that fills a gap, or a rest. In that instant the shown
// place stays, and then it moves to the track.
func TestACorrectionNeverMovesThePictureAtOnce(t *testing.T) {
	moving := func(f ecs.Tick, x float64) Sample {
		return Sample{f, Motion{Pos: Vec{X: x}, Vel: Vec{X: 6}}, HasVelocity}
	}
	for name, correct := range map[string]func(*Remote){
		"a sample after a gap":  func(r *Remote) { r.Put(moving(70, 6.5), 66) },
		"a late sample":         func(r *Remote) { r.Put(moving(66, 6), 66) },
		"word of a rest":        func(r *Remote) { r.Rest(66, 66) },
		"a sample that stopped": func(r *Remote) { r.Put(at(65, 5.8), 66) },
	} {
		r := NewRemote(RemoteConfig{TickRate: 60})
		r.Put(moving(60, 6), 0)
		before := r.Show(66)
		if math.Abs(before.Pos.X-6.6) > 1e-9 {
			t.Fatal(before.Pos)
		}
		correct(r)
		after := r.Show(66)
		if math.Abs(after.Pos.X-before.Pos.X) > 1e-9 || after.Offset == (Vec{}) {
			t.Errorf("%s: %v, then %v with offset %v", name, before.Pos.X, after.Pos.X, after.Offset.X)
		}
		for f := 67; f < 66+180; f++ {
			after = r.Show(float64(f))
		}
		if after.Offset != (Vec{}) {
			t.Errorf("%s: offset %v three seconds later", name, after.Offset)
		}
	}
}

// A correction that is too far to blend snaps. Nothing is smoothed before the first view.
func TestACorrectionTooFarToBlendSnaps(t *testing.T) {
	r := NewRemote(RemoteConfig{TickRate: 60})
	if s := r.Show(10); s != (Shown{}) {
		t.Errorf("%+v of nothing", s)
	}
	r.Put(at(10, 0), 20)
	r.Put(at(12, 1), 20)
	if s := r.Show(20); s.Pos.X != 1 || s.Offset != (Vec{}) {
		t.Errorf("%+v", s)
	}
	r.Put(at(19, 4), 20)
	if s := r.Show(20); s.Pos.X != 4 || s.Offset != (Vec{}) {
		t.Errorf("%+v", s)
	}
	if r.track.count != 3 {
		t.Error(r.track.count)
	}
	r.Clear()
	r.Put(at(5, 9), 30)
	if s := r.Show(30); s.Pos.X != 9 || s.Offset != (Vec{}) {
		t.Errorf("after Clear: %+v", s)
	}
}

// A teleport ends what is left of a correction: at the new place the entity is shown where it is.
func TestATeleportEndsAnOffset(t *testing.T) {
	r := NewRemote(RemoteConfig{TickRate: 60})
	r.Put(at(10, 0), 20)
	r.Show(20)
	r.Put(at(15, 1), 20)
	r.Put(Sample{22, Motion{Pos: Vec{X: 50}}, Teleported}, 20)
	if s := r.Show(21); s.Offset == (Vec{}) || s.Pos.X > 1 {
		t.Errorf("before the teleport: %+v", s)
	}
	if s := r.Show(22.5); s.Offset != (Vec{}) || s.Pos.X != 50 {
		t.Errorf("after the teleport: %+v", s)
	}
}

// An entity that hardly moves cannot hide a correction in its own way; it does not keep it for that.
func TestASlowEntityDoesNotKeepItsOffset(t *testing.T) {
	r := NewRemote(RemoteConfig{TickRate: 60})
	r.Put(at(10, 0), 20)
	r.Show(20)
	r.Put(at(15, 1), 20)
	r.Put(at(200, 1.01), 20)
	r.Show(21)
	if s := r.Show(21 + 120); s.Offset.Len() > 0.02 {
		t.Errorf("offset %v two seconds later", s.Offset)
	}
}

// Nothing allocates: a client shows hundreds of entities in every frame.
func TestNothingAllocatesInAFrame(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	p := NewPlayback(PlaybackConfig{TickRate: 60, Interval: 3})
	r := NewRemote(RemoteConfig{TickRate: 60, MaxSpeed: 10})
	f, sum := ecs.Tick(0), 0.0
	if n := testing.AllocsPerRun(500, func() {
		f++
		now := systems.TickTime(0, f, 60)
		if f%3 == 0 && f%30 > 12 {
			p.Arrived(f, now)
			r.Put(Sample{f, Motion{Pos: Vec{X: float64(f)}, Vel: Vec{X: 60}}, HasVelocity}, p.Tick())
		} else {
			r.Rest(f, p.Tick())
		}
		sum += r.Show(p.Advance(now)).Pos.X
		m := Motion{Pos: Vec{X: 1}}
		sum += newProjective(m, m, 1).after(0.5).Pos.X
	}); n != 0 || sum == 0 {
		t.Errorf("%v allocations a frame, sum %v", n, sum)
	}
}

// Projective velocity blending moves a wrongly shown entity onto its track within the time between two samples. It starts
// with the shown place and velocity. No step is larger than its speeds allow, and a distance too far for an offset does not
// snap.
func TestProjectiveBlendingReachesTheTrack(t *testing.T) {
	moving := func(f ecs.Tick, x, y, speed float64) Sample {
		return Sample{f, Motion{Pos: Vec{X: x, Y: y}, Vel: Vec{X: speed}}, HasVelocity}
	}
	for name, off := range map[string]float64{"a little": 0.3, "too far for an offset": 5} {
		r := NewRemote(RemoteConfig{TickRate: 60, Smoothing: Projective})
		r.Put(moving(30, 3, 0, 6), 0)
		r.Put(moving(60, 6, 0, 6), 0)
		before := r.Show(66)
		r.Put(moving(66, 6.6, off, 9), 66)
		if s := r.Show(66); s.Pos.Sub(before.Pos).Len() > 1e-9 || math.Abs(s.Vel.X-6) > 1e-9 {
			t.Errorf("%s: %v at %v, then %v at %v", name, before.Pos, before.Vel, s.Pos, s.Vel)
		}
		last, most := r.Show(66), 0.0
		for f := 66.25; f < 78; f += 0.25 {
			s := r.Show(f)
			most = max(most, s.Pos.Sub(last.Pos).Len())
			last = s
		}
		// The new sample comes 6 ticks after the last: the blend takes 0.1 s. Across it covers off, no more than 3 off / 0.1 s
		// fast, and along 6 to 9 m/s.
		if limit := (3*off/0.1 + 2*9) / 240; most > limit || most == 0 {
			t.Errorf("%s: a step of %v, at most %v", name, most, limit)
		}
		if s := r.Show(78); s.Offset != (Vec{}) || math.Abs(s.Pos.Y-off) > 1e-9 || math.Abs(s.Pos.X-(6.6+9*12.0/60)) > 1e-9 {
			t.Errorf("%s: %+v after the blend", name, s)
		}
	}
}
