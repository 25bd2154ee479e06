package limit

import (
	"math/rand/v2"
	"testing"
)

func TestLimiterAllowsABurstAndThenItsRate(t *testing.T) {
	const interval, burst = 100, 5
	l := New[int64](interval, burst)
	now := int64(1 << 40)
	for i := range burst {
		if !l.Allow(now) {
			t.Fatalf("event %d of the burst was refused", i)
		}
	}
	if l.Allow(now) || l.Allow(now+interval-1) {
		t.Fatal("more than a burst was allowed")
	}
	allowed := 0
	for at := now; at < now+20*interval; at += 10 {
		if l.Allow(at) {
			allowed++
		}
	}
	if allowed != 19 {
		t.Errorf("%d events in 20 intervals after a burst, want 19", allowed)
	}
}

func TestLimiterRestoresNoMoreThanItsBurst(t *testing.T) {
	l := New[uint64](10, 3)
	l.AllowN(0, 3)
	if !l.AllowN(1_000_000, 3) || l.Allow(1_000_000) {
		t.Error("a long pause did not restore exactly one burst")
	}
}

func TestLimiterCountsAllOrNone(t *testing.T) {
	l := New[int64](10, 4)
	if l.AllowN(0, 5) {
		t.Fatal("more than the burst was allowed at once")
	}
	if !l.AllowN(0, 4) || l.AllowN(0, 1) {
		t.Error("a refused call was counted")
	}
	if l.AllowN(19, 2) || !l.AllowN(20, 2) {
		t.Error("two events were not available exactly after two intervals")
	}
}

func TestLimiterSurvivesTimeThatGoesBack(t *testing.T) {
	l := New[int64](10, 2)
	if !l.AllowN(1000, 2) || l.Allow(500) || l.Allow(1009) || !l.Allow(1010) {
		t.Error("an earlier time changed what is available")
	}
}

func TestZeroLimiterAllowsEverything(t *testing.T) {
	var l Limiter[int64]
	for range 100 {
		if !l.Allow(7) {
			t.Fatal("the zero limiter refused an event")
		}
	}
}

// A counter that is refilled once a tick allows the same events as a limiter whose time counts ticks.
func TestLimiterEqualsARefilledCounter(t *testing.T) {
	const perTick, most = 2, 256
	r := rand.New(rand.NewPCG(1, 2))
	l := New[uint64](1, most)
	tokens := most
	for tick := range uint64(5000) {
		for range r.IntN(12) {
			want := tokens > 0
			if want {
				tokens--
			}
			if got := l.Allow(perTick * tick); got != want {
				t.Fatalf("tick %d: allowed %v, the counter says %v", tick, got, want)
			}
		}
		tokens = min(tokens+perTick, most)
	}
}

// pace is the limiter by hand that Limiter replaced: the measure of BenchmarkAllow.
type pace struct{ free int64 }

func (p *pace) take(now, interval int64, burst int) bool {
	free := max(p.free, now)
	if free+interval-now > interval*int64(burst) {
		return false
	}
	p.free = free + interval
	return true
}

func BenchmarkAllow(b *testing.B) {
	b.Run("Limiter", func(b *testing.B) {
		l := New[int64](100, 40)
		b.ReportAllocs()
		for i := range b.N {
			l.Allow(int64(i) * 90)
		}
	})
	b.Run("by hand", func(b *testing.B) {
		var p pace
		b.ReportAllocs()
		for i := range b.N {
			p.take(int64(i)*90, 100, 40)
		}
	})
}
