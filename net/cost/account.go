package cost

import (
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tendon/ecs"
)

// account holds the costs of one row. Its histogram holds total times in nanoseconds, those above most as most.
type account struct {
	figures
	times  *hdrhistogram.Histogram
	cut    time.Duration   // self when the last slice was cut
	slices []time.Duration // self times of the slices
}

// figures are the published part of an account.
type figures struct {
	calls            uint64
	total, self, max time.Duration
	p50, p99         time.Duration // since the last call of look
	memory           memory
}

// Range of the histograms, in nanoseconds. The resolution of the clock is about 30.
const (
	least = 16
	most  = 1 << 32
)

func (a *account) add(taken, self time.Duration, digits int) {
	a.calls++
	a.total += taken
	a.self += self
	a.max = max(a.max, taken)
	if a.times == nil {
		a.times = hdrhistogram.New(least, most, digits)
	}
	_ = a.times.RecordValue(min(max(int64(taken), 0), most)) // which is in its range
}

// look brings the quantiles up to date.
func (a *account) look() {
	if a.times != nil {
		a.p50 = min(time.Duration(a.times.ValueAtQuantile(50)), a.max)
		a.p99 = min(time.Duration(a.times.ValueAtQuantile(99)), a.max)
	}
}

func (a *account) reset() {
	if a.times != nil {
		a.times.Reset()
	}
	*a = account{times: a.times, slices: a.slices[:0]}
}

func (a *account) merge(b *account, digits int) {
	a.calls += b.calls
	a.total += b.total
	a.self += b.self
	a.max = max(a.max, b.max)
	a.memory.add(b.memory)
	if b.times == nil {
		return
	}
	if a.times == nil {
		a.times = hdrhistogram.New(least, most, digits)
	}
	a.times.Merge(b.times)
}

// memory is what was allocated.
type memory struct{ objects, bytes uint64 }

func (m *memory) add(n memory) { m.objects, m.bytes = m.objects+n.objects, m.bytes+n.bytes }

func (m memory) since(before memory) memory {
	return memory{m.objects - before.objects, m.bytes - before.bytes}
}

// readMemory stops the process to have exact numbers: what runtime/metrics knows of small objects lags behind until the
// allocator's caches are flushed.
func readMemory() memory {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return memory{s.Mallocs, s.TotalAlloc}
}

// turn is what happened in one turn.
type turn struct {
	tick     ecs.Tick
	cost     time.Duration
	computed int    // ticks
	again    int    // of ticks that were computed before
	parts    []part // by row
}

type part struct {
	calls uint32
	self  time.Duration
}

func (t *turn) clear() {
	clear(t.parts)
	*t = turn{parts: t.parts}
}

// take copies another turn.
func (t *turn) take(from *turn) {
	parts := t.parts
	*t = *from
	t.parts = parts
	copy(t.parts, from.parts)
}
