package measure

import (
	"runtime"
	"slices"
	"time"
)

// Op is a piece of work that can be repeated. Each repetition is timed by itself; Run should take at least 2 µs, so
// that reading the clock twice, 0.1 µs, does not count.
type Op struct {
	// Prepare runs before each repetition, outside the clock; nil: nothing has to be prepared.
	Prepare func()
	// Run is what is timed.
	Run func()
	// Less is work whose time is taken away from Run's: what Run contains but is not to be counted. It runs right before
	// Run, so that both see the same load on the machine.
	Less *Op
	// Units is how many units of work one Run is, for the published time per unit; 0 counts as 1.
	Units int
}

// Ratio is what a comparison found. Low and High are the quartiles of the turns' ratios, Median their median. Subject
// and Reference are medians of the time per unit in nanoseconds.
type Ratio struct {
	Median, Low, High  float64
	Subject, Reference float64
}

const (
	turnTime    = 4 * time.Millisecond // of one turn, so that both sides see the same load on the machine
	turnRepeats = 5                    // least repetitions in a turn, for a median
	warmRepeats = 2                    // first repetitions of a turn, not counted: the other side has used the caches
	wholeTime   = 1200 * time.Millisecond
	leastRounds = 15
	mostRounds  = 101
)

// Compare lets reference and subject take turns and returns how their times compare.
func Compare(reference, subject Op) Ratio {
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
	low, median, high := quartiles(ratios)
	_, s, _ := quartiles(subjects)
	_, r, _ := quartiles(references)
	return Ratio{Median: median, Low: low, High: high, Subject: s, Reference: r}
}

// turn repeats the work for about turnTime and returns the median time of a unit in nanoseconds.
func (o Op) turn() float64 {
	var times []float64
	began := time.Now()
	for i := 0; i < warmRepeats+turnRepeats || time.Since(began) < turnTime; i++ {
		less := time.Duration(0)
		if o.Less != nil {
			less = o.Less.once()
		}
		if took := o.once() - less; i >= warmRepeats {
			times = append(times, float64(took)/float64(max(o.Units, 1)))
		}
	}
	_, median, _ := quartiles(times)
	return median
}

// once runs the work and returns how long it took.
func (o Op) once() time.Duration {
	if o.Prepare != nil {
		o.Prepare()
	}
	from := time.Now()
	o.Run()
	return time.Since(from)
}

// quartiles sorts the values, of which there is at least one, and returns the lower quartile, the median and the upper
// quartile.
func quartiles(values []float64) (low, median, high float64) {
	slices.Sort(values)
	n := len(values)
	median = values[n/2]
	if n%2 == 0 {
		median = (values[n/2-1] + values[n/2]) / 2
	}
	return values[n/4], median, values[n-1-n/4]
}

// Allocations returns how many times f allocates, on average of 100 runs after one to warm up.
func Allocations(f func()) float64 {
	const runs = 100
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / runs)
}
