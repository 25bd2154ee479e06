package cost

import (
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// account holds the costs of one row. Of Row, Share and Slices are computed for reports, and the quantiles by look.
type account struct {
	Row
	times *hdrhistogram.Histogram // of calls, in nanoseconds; times above most count as most
}

// Range of the histograms, in nanoseconds. The resolution of the clock is about 30.
const (
	least = 16
	most  = 1 << 32
)

func (a *account) add(taken, self time.Duration, digits int) {
	a.Calls++
	a.Total += taken
	a.Self += self
	a.Max = max(a.Max, taken)
	if a.times == nil {
		a.times = hdrhistogram.New(least, most, digits)
	}
	_ = a.times.RecordValue(min(max(int64(taken), 0), most)) // which is in its range
}

func (a *account) look() {
	if a.times != nil {
		a.P50 = min(time.Duration(a.times.ValueAtQuantile(50)), a.Max)
		a.P99 = min(time.Duration(a.times.ValueAtQuantile(99)), a.Max)
	}
}

func (a *account) reset() {
	if a.times != nil {
		a.times.Reset()
	}
	*a = account{Row: Row{RowName: a.RowName}, times: a.times}
}

func (a *account) merge(b *account, digits int) {
	a.Calls += b.Calls
	a.Total += b.Total
	a.Self += b.Self
	a.Max = max(a.Max, b.Max)
	a.Allocs += b.Allocs
	a.AllocBytes += b.AllocBytes
	if b.times == nil {
		return
	}
	if a.times == nil {
		a.times = hdrhistogram.New(least, most, digits)
	}
	a.times.Merge(b.times)
}

// usage is a reading of the clock and of the allocation counters, or a difference of two.
type usage struct {
	time           time.Duration
	objects, bytes uint64
}

func (s *usage) add(o usage) {
	s.time, s.objects, s.bytes = s.time+o.time, s.objects+o.objects, s.bytes+o.bytes
}

func (s usage) since(before usage) usage {
	return usage{s.time - before.time, s.objects - before.objects, s.bytes - before.bytes}
}

// readMemory stops the process for exact numbers: runtime/metrics counts small objects late.
func (s *usage) readMemory() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.objects, s.bytes = m.Mallocs, m.TotalAlloc
}
