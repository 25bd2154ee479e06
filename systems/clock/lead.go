package clock

import (
	"math"

	"tendon/ecs"
	"tendon/rollback"
	"tendon/systems"
)

// Lead controls the pace of a client so that its inputs arrive at the server a little before they are used.
//
// The server measures the margin of each input: the number of ticks before its use at which it arrived, negative if late.
// Lead stores how far the local time had been moved when that input was sent, so that no error is corrected twice.
//
// The control law is that of Unity Netcode for Entities. The pace is 1 + 0.1 per tick of error, within [0.9, 1.1]. An error
// of more than 10 ticks causes a jump. The target is the jitter: the 99th percentile of the shortfalls. An error of less than half a
// tick is ignored, since inputs are sampled once per frame and margins move in whole steps. A single margin that is more than 30
// ticks from the mean is ignored: it is that of an input from before an outage.
//
// The zero value is ready for use.
type Lead struct {
	sent      rollback.Ring[sentInput]
	samples   [jitterWindow]float64 // shortfalls of margins from the mean at that time
	count     int
	jitter    float64 // the second largest of samples; at least 1, or 0 before the first above 0
	mean      float64 // of margins, minus the gain when their inputs were sent
	roundTrip float64 // nanoseconds
	outlier   bool    // the last margin differed from mean by more than outage
}

type sentInput struct {
	gained float64 // Pacer.Gained when it was sent
	at     systems.Time
}

const (
	leadWindow   = 1024 // most ticks from sending an input to receiving its margin
	jitterWindow = 128  // samples for the target
	pull         = 0.1  // pace per tick of error
	paceMin      = 0.9
	paceMax      = 1.1
	jumpBeyond   = 10.0 // ticks of error
	outage       = 30.0 // ticks from the mean, from which on a single margin is ignored
	deadBand     = 0.5  // ticks of error that are ignored
	smoothing    = 0.1  // weight of a new sample in a mean
	settleAfter  = 8    // samples before the first control
)

// Sent records that the input of tick f is sent now. gained is the present Pacer.Gained.
func (l *Lead) Sent(f ecs.Tick, gained float64, now systems.Time) {
	if l.sent.Depth() == 0 {
		l.sent = rollback.NewRing[sentInput](leadWindow)
	}
	l.sent.Put(f, sentInput{gained, now})
}

// Measured processes the server's margin for the input of tick f, in ticks, received at now. It is ignored if f is not
// stored or was measured already, since messages may be duplicated.
func (l *Lead) Measured(f ecs.Tick, margin float64, now systems.Time) {
	input, ok := l.sent.At(f)
	if !ok {
		return
	}
	l.sent.Drop(f)
	// If the clock was set back, the trip is unknown. It counts as 0, which later samples correct.
	base, trip := margin-input.gained, float64(max(now-input.at, 0))
	if l.count == 0 {
		l.mean, l.roundTrip = base, trip
	}
	single := !l.outlier
	if l.outlier = math.Abs(base-l.mean) > outage; l.outlier && single {
		return
	}
	shortfall, oldest := l.mean-base, &l.samples[l.count%jitterWindow]
	left := *oldest
	*oldest = shortfall
	l.count++
	if shortfall > l.jitter || l.count > jitterWindow && left > 1 && left >= l.jitter {
		l.jitter = secondLargest(l.samples[:min(l.count, jitterWindow)])
	}
	l.mean += smoothing * (base - l.mean)
	l.roundTrip += smoothing * (trip - l.roundTrip)
}

// RTT returns the smoothed time from sending an input to receiving its margin, with the server's wait for its next tick. It
// is 0 before the first margin.
func (l *Lead) RTT() systems.Time { return systems.Time(l.roundTrip) }

// Settled reports whether enough margins were measured for control.
func (l *Lead) Settled() bool { return l.count >= settleAfter }

// Margin returns the expected margin of an input sent now, in ticks.
func (l *Lead) Margin(gained float64) float64 { return l.mean + gained }

// Target returns the desired margin in ticks: the jitter, at least 1.
func (l *Lead) Target() float64 {
	if !l.Settled() {
		return 1
	}
	return max(1, l.jitter) // with up to 128 samples the 99th percentile is the second largest
}

// secondLargest returns the second largest of the samples, at least 1.
func secondLargest(samples []float64) float64 {
	largest, second := 1.0, 1.0
	for _, s := range samples {
		if s > largest {
			largest, second = s, largest
		} else if s > second {
			second = s
		}
	}
	return second
}

// Control returns the pace to continue with, and the number of ticks to jump before. The jump is 0 unless the error exceeds
// 10 ticks.
func (l *Lead) Control(gained float64) (pace, jump float64) {
	if !l.Settled() {
		return 1, 0
	}
	wrong := l.Target() - l.Margin(gained)
	switch {
	case math.Abs(wrong) > jumpBeyond:
		l.count, l.jitter = 0, 0 // margins from before the jump do not count
		return 1, math.Trunc(wrong)
	case math.Abs(wrong) <= deadBand:
		return 1, 0
	}
	return min(max(1+pull*wrong, paceMin), paceMax), 0
}

// Forget resets the lead for a new connection.
func (l *Lead) Forget() {
	sent := l.sent
	sent.Clear()
	*l = Lead{sent: sent}
}
