package lagcomp

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

func newJudge(t *testing.T, c Config) *Judge {
	t.Helper()
	j, err := NewJudge(c)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// A view is what the client declares, to a part of a tick.
func TestAnHonestViewIsKept(t *testing.T) {
	j := newJudge(t, Config{TickRate: 60})
	for _, c := range []struct{ seen, want image.ViewStamp }{
		{image.ViewStamp{Tick: 990}, image.ViewStamp{Tick: 990}},
		{image.ViewStamp{Tick: 990, Part: 1}, image.ViewStamp{Tick: 990, Part: 1}},
		{image.ViewStamp{Tick: 991, Part: 255}, image.ViewStamp{Tick: 991, Part: 255}},
		{image.ViewStamp{Tick: 999}, image.ViewStamp{Tick: 999}},
		{image.ViewStamp{Tick: 999, Part: 1}, image.ViewStamp{}}, // State(1000) is what is being computed
		{image.ViewStamp{Tick: 1000}, image.ViewStamp{}},
		{image.ViewStamp{Tick: 985}, image.ViewStamp{Tick: 985}}, // 250 ms
	} {
		if got := j.View(c.seen, 1000, 50*millisecond, 50*millisecond); got != c.want {
			t.Errorf("%+v is judged by %v, want %v", c.seen, got, c.want)
		}
	}
	if c := j.Counters(); c != (Counters{Views: 7}) {
		t.Errorf("%+v", c)
	}
	if v := j.View(image.ViewStamp{Part: 9}, 1000, 50*millisecond, 50*millisecond); v != (image.ViewStamp{}) || j.Counters().Views != 7 {
		t.Errorf("who declares the present is judged by %v", v)
	}
}

func TestViewsAreBoundedByEstimateAndCap(t *testing.T) {
	for _, c := range []struct {
		name          string
		seen          image.ViewStamp
		oneWay, delay systems.Time
		want          image.ViewStamp
		counters      Counters
	}{
		{"200 ms off is credible", image.ViewStamp{Tick: 986}, 0, 33333334, image.ViewStamp{Tick: 986}, Counters{}},
		{"more is not", image.ViewStamp{Tick: 985}, 0, 33333334, image.ViewStamp{Tick: 998}, Counters{Replaced: 1}},
		{"too new", image.ViewStamp{Tick: 999}, 150 * millisecond, 100 * millisecond, image.ViewStamp{Tick: 985}, Counters{Replaced: 1}},
		{"older than the cap", image.ViewStamp{Tick: 980}, 100 * millisecond, 100 * millisecond, image.ViewStamp{Tick: 985}, Counters{Clamped: 1}},
		{"an estimate older than the cap", image.ViewStamp{Tick: 2000}, 300 * millisecond, 0, image.ViewStamp{Tick: 985}, Counters{Replaced: 1, Clamped: 1}},
		{"not over", image.ViewStamp{Tick: 1001}, 0, 0, image.ViewStamp{}, Counters{Clamped: 1}},
		{"a negative latency", image.ViewStamp{Tick: 994}, -systems.Second, -systems.Second, image.ViewStamp{Tick: 994}, Counters{}},
		{"a latency without end", image.ViewStamp{Tick: 994}, math.MaxInt64, math.MaxInt64, image.ViewStamp{Tick: 985}, Counters{Replaced: 1, Clamped: 1}},
		{"a delay beyond the bound", image.ViewStamp{Tick: 958}, 0, systems.Second, image.ViewStamp{Tick: 985}, Counters{Clamped: 1}},
	} {
		j := newJudge(t, Config{TickRate: 60})
		if got := j.View(c.seen, 1000, c.oneWay, c.delay); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if c.counters.Views = 1; j.Counters() != c.counters {
			t.Errorf("%s: %+v, want %+v", c.name, j.Counters(), c.counters)
		}
	}
}

// At the beginning of a match there is no state to go back to but the first.
func TestNoViewLiesBeforeTheFirstTick(t *testing.T) {
	j := newJudge(t, Config{TickRate: 60})
	for f := ecs.Tick(1); f < 40; f++ {
		for _, c := range []image.ViewStamp{{Tick: 1}, {Tick: 1, Part: 9}, {Tick: max(f, 4) - 3}} {
			v := j.View(c, f, 100*millisecond, 150*millisecond)
			if v.Tick >= f || f > 16 && v.Tick == 0 || v.Tick > 0 && v.Tick+15 < f {
				t.Errorf("tick %d, %+v: judged by %v", f, c, v)
			}
		}
	}
}

// LC-06 for every possible declaration: the view lies in [F − Cap, F]. It lies within the tolerance of the estimate, unless
// the estimate is older than the cap.
func TestLC06NoDeclarationGetsBeyondToleranceAndCap(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 20000 {
		limit, tolerance := systems.Time(1+r.Int64N(1000))*millisecond, systems.Time(1+r.Int64N(1000))*millisecond
		rate := []int{1, 20, 60, 100, 1000}[r.IntN(5)]
		j := newJudge(t, Config{TickRate: rate, Cap: limit})
		j.tolerance = j.inParts(tolerance)
		f := ecs.Tick(1 + r.Int64N(5000))
		if r.IntN(3) == 0 {
			f = 1<<62 - ecs.Tick(r.IntN(9))
		}
		c := image.ViewStamp{Tick: max(ecs.Tick(r.Uint64()), 1), Part: uint8(r.Uint32())}
		if r.IntN(2) == 0 {
			c.Tick = max(f+1000-min(f, ecs.Tick(r.IntN(4000))), 1)
		}
		oneWay, delay := systems.Time(r.Int64N(700))*millisecond, systems.Time(r.Int64N(500))*millisecond
		v := j.View(c, f, oneWay, delay)
		age := 0.0 // in ticks; the present lies less than one back
		if v.Tick > 0 {
			age = float64(f-v.Tick) - float64(v.Part)/256
		}
		per := float64(rate) / 1e9
		estimate := min(float64(oneWay+delay)*per, float64(limit)*per)
		if v.Tick >= f || age > float64(limit)*per+0.01 || math.Abs(age-estimate) > float64(tolerance)*per+1.01 {
			if v.Tick != 1 && f != 1 { // the first state there is, and the tick that has none before
				t.Fatalf("rate %d, tick %d, %+v: %v is %v ticks back; the estimate is %v, cap %v", rate, f, c, v, age, estimate, limit)
			}
		}
	}
}

// After a restart a server holds less of the past than a recording does later: both must judge by the same state.
func TestAViewIsMovedToTheOldestStateThatIsHeld(t *testing.T) {
	var s image.Snapshot
	oldest := ecs.Tick(992)
	j := newJudge(t, Config{TickRate: 60, Past: func(f ecs.Tick) (*image.Snapshot, bool) { return &s, f >= oldest && f < 1000 }})
	for _, c := range []struct{ seen, want image.ViewStamp }{
		{image.ViewStamp{Tick: 990, Part: 5}, image.ViewStamp{Tick: 992}},
		{image.ViewStamp{Tick: 991, Part: 5}, image.ViewStamp{Tick: 992}},
		{image.ViewStamp{Tick: 992, Part: 5}, image.ViewStamp{Tick: 992, Part: 5}},
	} {
		if got := j.View(c.seen, 1000, 50*millisecond, 50*millisecond); got != c.want {
			t.Errorf("%+v: %v, want %v", c.seen, got, c.want)
		}
	}
	oldest = 1000
	if got := j.View(image.ViewStamp{Tick: 992}, 1000, 50*millisecond, 50*millisecond); got.Tick != 0 {
		t.Errorf("without a past: %v", got)
	}
	if c := j.Counters(); c != (Counters{Views: 4, Missing: 3}) {
		t.Errorf("%+v", c)
	}
}

func TestDepthIsTheCapAndTwo(t *testing.T) {
	for _, c := range []struct {
		rate, depth int
		cap         systems.Time
	}{{60, 17, 0}, {60, 62, systems.Second}, {40, 6, 100 * millisecond}, {30, 10, 250 * millisecond}} {
		if got := newJudge(t, Config{TickRate: c.rate, Cap: c.cap}).Depth(); got != c.depth {
			t.Errorf("%d Hz, cap %d: depth %d, want %d", c.rate, c.cap, got, c.depth)
		}
	}
}

func TestAConfigThatMakesNoSenseIsNamed(t *testing.T) {
	for field, c := range map[string]Config{
		"TickRate": {},
		"Cap":      {TickRate: 60, Cap: systems.Second + 1},
	} {
		if _, err := NewJudge(c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
