package clock

import "math"

// Lead keeps a client's inputs arriving at the server a little before they are used.
//
// The server measures the margin of each input: how many ticks before its use it arrived, negative if too late. Lead
// knows by how much the local time line was moved since that input was sent, so a margin that is on its way back is
// never corrected twice.
//
// The control law is Unity Netcode for Entities': pace 1 + 0.1 per tick of error, within [0.9, 1.1], and a jump when
// the error is beyond 10 ticks. The target follows the jitter seen: the largest shortfall but one in 100.
type Lead struct {
	sent    [leadWindow]sentMark
	samples [jitterWindow]float64 // margin less what had been gained when the input was sent
	count   int
	mean    float64
}

// sentMark remembers what had been gained when the input of a tick was sent.
type sentMark struct {
	tick   uint64
	gained float64
	set    bool
}

const (
	leadWindow   = 1024 // ticks between sending and hearing of it, at most
	jitterWindow = 128  // samples that the target looks back on
	pull         = 0.1  // pace per tick of error
	paceMin      = 0.9
	paceMax      = 1.1
	jumpBeyond   = 10.0 // ticks of error
	smoothing    = 0.1  // weight of a new margin in the mean
	settleAfter  = 8    // samples before a jump may be decided
)

// Sent notes that the input of tick f is sent now, with what the pacer has gained so far.
func (l *Lead) Sent(f uint64, gained float64) {
	l.sent[f%leadWindow] = sentMark{f, gained, true}
}

// Measured takes the server's margin for the input of tick f, in ticks. It is ignored if f is not remembered.
func (l *Lead) Measured(f uint64, margin float64) {
	mark := l.sent[f%leadWindow]
	if !mark.set || mark.tick != f {
		return
	}
	base := margin - mark.gained
	l.samples[l.count%jitterWindow] = base
	l.count++
	if l.count == 1 {
		l.mean = base
	} else {
		l.mean += smoothing * (base - l.mean)
	}
}

// Margin returns the margin that an input sent now can expect, in ticks.
func (l *Lead) Margin(gained float64) float64 { return l.mean + gained }

// Target returns the margin to aim at, in ticks: 1, or the jitter seen if that is more.
func (l *Lead) Target() float64 {
	n := min(l.count, jitterWindow)
	if n < settleAfter {
		return 1
	}
	// With up to 128 samples the 99th percentile is the second smallest: one outlier is let through.
	lowest, second := math.Inf(1), math.Inf(1)
	for _, s := range l.samples[:n] {
		if s < lowest {
			lowest, second = s, lowest
		} else if s < second {
			second = s
		}
	}
	return max(1, math.Ceil(l.mean-second))
}

// Control says how to go on: at which pace, and by how many ticks to jump first. The jump is 0 unless the error is
// beyond what dilation mends in reasonable time.
func (l *Lead) Control(gained float64) (pace, jump float64) {
	if l.count < settleAfter {
		return 1, 0
	}
	wrong := l.Target() - l.Margin(gained)
	if math.Abs(wrong) > jumpBeyond {
		l.restart()
		return 1, math.Trunc(wrong)
	}
	return min(max(1+pull*wrong, paceMin), paceMax), 0
}

// restart forgets the samples: after a jump, only what was sent since tells anything.
func (l *Lead) restart() {
	l.count, l.mean = 0, 0
}

// Forget drops everything, for a new connection.
func (l *Lead) Forget() { *l = Lead{} }
