package measure

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// Op is a piece of work that can be repeated. Each repetition is timed on its own; Run should take at least 2 µs, so
// that the 0.1 µs of reading the clock do not count.
type Op struct {
	// Prepare runs before each repetition, outside the timed section. Optional.
	Prepare func()
	// Run is the work to time.
	Run func()
	// Less is work that Run contains and that is not to be counted: its time is subtracted. It runs right before Run, so
	// that both are measured under the same load. Optional.
	Less *Op
	// Units is the number of units of work in one Run. Default: 1.
	Units int
}

// Ratio is the result of a comparison. Low and High are the quartiles of the ratios of all turns, Median their median.
// Subject and Reference are the medians of the time per unit, in nanoseconds.
type Ratio struct {
	Median, Low, High  float64
	Subject, Reference float64
}

// Of returns the ratio of measured values to a fixed reference. It sorts the values, at least one.
func Of(reference float64, values ...float64) Ratio {
	low, median, high := quartiles(values)
	return Ratio{Median: median / reference, Low: low / reference, High: high / reference, Subject: median, Reference: reference}
}

const (
	turnTime    = 4 * time.Millisecond // of one turn, so that both sides are measured under the same load
	turnRepeats = 5                    // least repetitions in a turn, for a median
	warmRepeats = 2                    // first repetitions of a turn, not counted: the other side has used the caches
	wholeTime   = 1200 * time.Millisecond
	leastRounds = 15
	mostRounds  = 101
)

// Compare runs turns of the reference and the subject alternately and returns the ratio of their times. Each iteration of
// the benchmark is a whole comparison; Compare returns the last.
func Compare(b *testing.B, reference, subject Op) (r Ratio) {
	for b.Loop() {
		r = compare(reference, subject)
	}
	return r
}

func compare(reference, subject Op) Ratio {
	runtime.GC()
	var ratios, subjects, references []float64
	began := time.Now()
	for round := 0; round < mostRounds && (round < leastRounds || time.Since(began) < wholeTime); round++ {
		var r, s float64
		if round%2 == 0 {
			r, s = reference.turn(), subject.turn()
		} else {
			s = subject.turn()
			r = reference.turn()
		}
		ratios, subjects, references = append(ratios, s/r), append(subjects, s), append(references, r)
	}
	ratio := Of(1, ratios...)
	_, ratio.Subject, _ = quartiles(subjects)
	_, ratio.Reference, _ = quartiles(references)
	return ratio
}

// turn repeats the work for about turnTime and returns the median time per unit in nanoseconds.
func (o Op) turn() float64 {
	var times []float64
	began := time.Now()
	for i := 0; i < warmRepeats+turnRepeats || time.Since(began) < turnTime; i++ {
		less := time.Duration(0)
		if o.Less != nil {
			less = o.Less.once()
		}
		took := o.once() - less
		if i >= warmRepeats {
			times = append(times, float64(took)/float64(max(o.Units, 1)))
		}
	}
	_, median, _ := quartiles(times)
	return median
}

// once runs the work and returns its duration.
func (o Op) once() time.Duration {
	if o.Prepare != nil {
		o.Prepare()
	}
	from := time.Now()
	o.Run()
	return time.Since(from)
}

// quartiles sorts the values, at least one, and returns the lower quartile, the median and the upper quartile.
func quartiles(values []float64) (low, median, high float64) {
	slices.Sort(values)
	n := len(values)
	return values[n/4], (values[(n-1)/2] + values[n/2]) / 2, values[n-1-n/4]
}
