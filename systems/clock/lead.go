package clock

import (
	"math"

	"tendon/systems"
)

// Lead keeps a client's inputs arriving at the server a little before they are used.
//
// The server measures the margin of each input: how many ticks before its use it arrived, negative if too late. Lead
// knows by how much the local time line was moved since that input was sent, so a margin that is on its way back is
// never corrected twice.
//
// The control law is Unity Netcode for Entities': pace 1 + 0.1 per tick of error, within [0.9, 1.1], and a jump when
// the error is beyond 10 ticks. The target follows the jitter seen: the largest shortfall but one in 100. An error of
// less than half a tick is left alone: inputs are sampled once per frame, so that a margin moves in whole steps, and
// a smaller error could only be chased.
type Lead struct {
	sent      [leadWindow]sentMark
	samples   [jitterWindow]float64 // by how much a margin fell short of the mean of its time
	count     int
	mean      float64 // of margins, less what had been gained when their inputs were sent
	roundTrip float64 // nanoseconds
}

// sentMark remembers when the input of a tick was sent, and what had been gained by then.
type sentMark struct {
	tick   uint64
	gained float64
	at     systems.Time
	set    bool
}

const (
	leadWindow   = 1024 // ticks between sending and hearing of it, at most
	jitterWindow = 128  // samples that the target looks back on
	pull         = 0.1  // pace per tick of error
	paceMin      = 0.9
	paceMax      = 1.1
	jumpBeyond   = 10.0 // ticks of error
	deadBand     = 0.5  // ticks of error that are left alone
	smoothing    = 0.1  // weight of a new sample in a mean
	settleAfter  = 8    // samples before anything may be decided
)

// Sent notes that the input of tick f is sent now, with what the pacer has gained so far.
func (l *Lead) Sent(f uint64, gained float64, now systems.Time) {
	l.sent[f%leadWindow] = sentMark{f, gained, now, true}
}

// Measured takes the server's margin for the input of tick f, in ticks, which is heard of now. It is ignored if f is
// not remembered or was measured already: a message may arrive twice.
func (l *Lead) Measured(f uint64, margin float64, now systems.Time) {
	mark := &l.sent[f%leadWindow]
	if !mark.set || mark.tick != f {
		return
	}
	mark.set = false
	// A clock that was set back tells nothing of the trip; that it takes no time is mended by the samples that follow.
	base, trip := margin-mark.gained, float64(max(now-mark.at, 0))
	if l.count == 0 {
		l.mean, l.roundTrip = base, trip
	}
	l.samples[l.count%jitterWindow] = l.mean - base
	l.count++
	l.mean += smoothing * (base - l.mean)
	l.roundTrip += smoothing * (trip - l.roundTrip)
}

// RTT returns the smoothed time between sending an input and hearing of it, which includes the server's wait for its
// next tick; 0 before the first measure.
func (l *Lead) RTT() systems.Time { return systems.Time(l.roundTrip) }

// Settled reports whether enough was measured to decide by.
func (l *Lead) Settled() bool { return l.count >= settleAfter }

// Margin returns the margin that an input sent now can expect, in ticks.
func (l *Lead) Margin(gained float64) float64 { return l.mean + gained }

// Target returns the margin to aim at, in ticks: 1, or the jitter seen if that is more.
func (l *Lead) Target() float64 {
	n := min(l.count, jitterWindow)
	if n < settleAfter {
		return 1
	}
	// With up to 128 samples the 99th percentile is the second largest: one outlier is let through.
	largest, second := 0.0, 0.0
	for _, s := range l.samples[:n] {
		if s > largest {
			largest, second = s, largest
		} else if s > second {
			second = s
		}
	}
	return max(1, second)
}

// Control says how to go on: at which pace, and by how many ticks to jump first. The jump is 0 unless the error is
// beyond what dilation mends in reasonable time.
func (l *Lead) Control(gained float64) (pace, jump float64) {
	if !l.Settled() {
		return 1, 0
	}
	wrong := l.Target() - l.Margin(gained)
	switch {
	case math.Abs(wrong) > jumpBeyond:
		l.count = 0 // after a jump, only what is heard since tells anything
		return 1, math.Trunc(wrong)
	case math.Abs(wrong) <= deadBand:
		return 1, 0
	}
	return min(max(1+pull*wrong, paceMin), paceMax), 0
}

// Forget drops everything, for a new connection.
func (l *Lead) Forget() { *l = Lead{} }
