package clock

import (
	"testing"

	"tendon/systems"
)

// uncertainty returns the largest error of the estimate at local time now, if both clocks together drift by at most 200 ppm.
func (w *window) uncertainty(now systems.Time) systems.Time {
	return (w.high-w.low+1)/2 + drift(now)
}

// exact returns the sample of an exchange whose answer came at once, with stamps that are exact to a nanosecond.
func exact(sent, arrived, received systems.Time) sample {
	return sample{Low: arrived - received - 1, High: arrived - sent + 1, RTT: received - sent, At: received}
}

// Bounds widen with age by 200 ppm. A smaller drift never empties the window, however short the round trips, and the truth
// stays within. A larger drift does empty it. Without new samples the uncertainty grows.
func TestBoundsWidenWithAge(t *testing.T) {
	const start = 100_000 * systems.Second // age counts, not what the clock shows
	for _, v := range []struct {
		ppm   systems.Time
		holds bool
	}{{100, true}, {-190, true}, {500, false}, {-500, false}} {
		var w window
		holds := true
		for now := start; now < start+100*systems.Second; now += systems.Second {
			offset := now / 1_000_000 * v.ppm
			if !w.Add(exact(now, now+offset+ms/20, now+ms/10)) {
				holds = false
				continue
			}
			if off := w.Estimate() - offset; v.holds && max(off, -off) > w.uncertainty(now) {
				t.Fatalf("%d ppm: off by %d, uncertainty %d", v.ppm, off, w.uncertainty(now))
			}
		}
		if holds != v.holds {
			t.Errorf("%d ppm: the bounds agree: %v", v.ppm, holds)
		}
		if grown := w.uncertainty(start+1000*systems.Second) - w.uncertainty(start); grown != 200*ms {
			t.Errorf("the uncertainty grew by %d ms in 1000 s", grown/ms)
		}
	}
}

// A window holds the last 32 samples. The best of them decides, not the last.
func TestAWindowKeepsTheBestOfTheLast(t *testing.T) {
	var w window
	if w.Known() || w.Last() != (sample{}) {
		t.Fatal("an empty window knows something")
	}
	good := exact(0, ms, 2*ms)
	w.Add(good)
	for i := range systems.Time(40) {
		bad := exact(i*ms, i*ms+900*ms, i*ms+systems.Second)
		if !w.Add(bad) {
			t.Fatal("bounds that contain the same truth share no point")
		}
		if exact := w.Estimate() < 2*ms; exact != (i < windowSize-1) {
			t.Errorf("%d samples after the best: estimate %d", i+1, w.Estimate())
		}
	}
	if w.Add(good) || w.count != 1 {
		t.Error("a clock that was set back did not begin the window anew")
	}
}
