package clock

import (
	"tendon/systems"
)

// window estimates how far the other side's clock is ahead of the own one, from the last 32 exchanges.
//
// Each sample bounds the truth; the bounds widen with age, because clocks drift, and are intersected (K. Marzullo,
// 1984; the widening by 200 ppm is that of a bad quartz at both ends). So one exchange with a short way counts more
// than many with a long one, and an asymmetric one can widen nothing. No sample can be wrong by itself: bounds that
// share no point mean that a clock was stepped or runs faster than drift allows.
//
// Invariant: with samples in it, low ≤ high at the time of the newest sample.
type window struct {
	samples [windowSize]sample
	count   int // samples since the window was begun, ≥ those that are held
	// The intersection, brought to local time 0: at time t the offset lies in [low − drift(t), high + drift(t)].
	low, high systems.Time
}

const (
	windowSize = 32
	driftParts = 5000 // clocks drift apart by at most 1 part in 5000, 200 ppm
)

// sample is what one exchange tells: at local time At, the other clock minus the own one was in [Low, High]. RTT is the
// round trip, without what the other side held the message.
type sample struct {
	Low, High, RTT, At systems.Time
}

// newSample computes a sample. sent and received are times of the own clock and exact; heard and answered are the other
// side's in between, rounded to multiples of unit. ok is false for times that no exchange can have: what is received
// before it is sent, answered before it is heard, or held for longer than the whole exchange took.
func newSample(sent, heard, answered, received, unit systems.Time) (s sample, ok bool) {
	s = sample{
		Low:  answered - received - unit/2,
		High: heard - sent + unit/2,
		RTT:  (received - sent) - (answered - heard),
		At:   received,
	}
	if received < sent || answered < heard || s.Low > s.High {
		return sample{}, false
	}
	s.RTT = max(s.RTT, 0) // rounding may have taken up to one unit away
	return s, true
}

// drift returns by how much clocks may drift apart in a time; it is negative for a negative one.
func drift(t systems.Time) systems.Time { return t / driftParts }

// Add takes a sample. It reports whether the bounds still share a point; if not, or if the own clock was set back since
// the last one, the window begins anew with this sample alone.
func (w *window) Add(s sample) (agrees bool) {
	setBack := w.Known() && s.At < w.Last().At
	w.samples[w.count%windowSize] = s
	w.count++
	if w.intersect(); !setBack && w.low-drift(s.At) <= w.high+drift(s.At) {
		return true
	}
	w.Clear()
	w.samples[0], w.count = s, 1
	w.intersect()
	return false
}

// intersect computes low and high. They are kept for local time 0, so that age is no argument: a bound of time t,
// widened until now, is the bound of time 0 widened by as much as any other.
func (w *window) intersect() {
	for i, s := range w.samples[:min(w.count, windowSize)] {
		low, high := s.Low+drift(s.At), s.High-drift(s.At)
		if i == 0 {
			w.low, w.high = low, high
		}
		w.low, w.high = max(w.low, low), min(w.high, high)
	}
}

// Clear drops all samples.
func (w *window) Clear() { *w = window{} }

// Known reports whether there is a sample.
func (w *window) Known() bool { return w.count > 0 }

// Estimate returns how far the other clock is ahead, in the middle of the bounds; it stays until the next sample.
func (w *window) Estimate() systems.Time { return w.low + (w.high-w.low)/2 }

// Last returns the newest sample; it is zero without samples.
func (w *window) Last() sample {
	if w.count == 0 {
		return sample{}
	}
	return w.samples[(w.count-1)%windowSize]
}
