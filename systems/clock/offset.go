package clock

import "tendon/systems"

// window estimates how far the other side's clock is ahead of the own one, from the last 32 exchanges.
//
// Each sample bounds the offset. The bounds widen with age, since clocks drift, and are intersected (K. Marzullo, 1984; the
// drift of 200 ppm is that of a bad quartz on both sides). So one exchange with a short round trip counts more than many
// with a long one. Bounds without a common point mean that a clock was stepped or drifts more.
//
// Invariant: with samples in it, low ≤ high at the time of the newest sample.
type window struct {
	samples [windowSize]sample
	count   int // samples since Clear
	// The intersection at local time 0: at time t the offset lies in [low − drift(t), high + drift(t)].
	low, high systems.Time
}

const (
	windowSize = 32
	driftParts = 5000 // clocks drift apart by at most 1 part in 5000, 200 ppm
)

// sample is the result of one exchange: at local time At, the other clock minus the own one was in [Low, High]. RTT is the
// round trip without the time on the other side.
type sample struct {
	Low, High, RTT, At systems.Time
}

// newSample computes a sample. sent and received are exact times of the own clock. arrived and answered are times of the
// other side, rounded to multiples of stampUnit. ok is false for impossible times, such as an answer before its question.
func newSample(sent, arrived, answered, received systems.Time) (s sample, ok bool) {
	s = sample{
		Low:  answered - received - stampUnit/2,
		High: arrived - sent + stampUnit/2,
		RTT:  (received - sent) - (answered - arrived),
		At:   received,
	}
	if received < sent || answered < arrived || s.Low > s.High {
		return sample{}, false
	}
	s.RTT = max(s.RTT, 0) // rounding may have taken up to one unit away
	return s, true
}

// drift returns the most that two clocks drift apart in a time. It is negative for a negative time.
func drift(t systems.Time) systems.Time { return t / driftParts }

// Add adds a sample and reports whether the bounds still have a common point. If not, or if the own clock was set back since
// the last sample, only this sample is kept.
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

// intersect computes low and high. They are converted to local time 0, where all bounds are widened alike.
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

// Estimate returns how far the other clock is ahead: the middle of the bounds.
func (w *window) Estimate() systems.Time { return w.low + (w.high-w.low)/2 }

// Last returns the newest sample; it is zero without samples.
func (w *window) Last() sample {
	if w.count == 0 {
		return sample{}
	}
	return w.samples[(w.count-1)%windowSize]
}
