package lagcomp

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/net/wire"
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

// A view is what the client declares, to a part of a tick, between states however far apart.
func TestAnHonestViewIsKept(t *testing.T) {
	j := newJudge(t, Config{TickRate: 60})
	for _, c := range []struct {
		claim Claim
		want  ecs.ViewStamp
	}{
		{Claim{From: 990, To: 990}, ecs.ViewStamp{Tick: 990}},
		{Claim{From: 990, To: 991, Part: 1}, ecs.ViewStamp{Tick: 990, Part: 1}},
		{Claim{From: 990, To: 993, Part: 128}, ecs.ViewStamp{Tick: 991, Part: 128}},
		{Claim{From: 987, To: 993, Part: 128}, ecs.ViewStamp{Tick: 990}},
		{Claim{From: 990, To: 990, Part: 77}, ecs.ViewStamp{Tick: 990}},
		{Claim{From: 999, To: 999}, ecs.ViewStamp{Tick: 999}},
		{Claim{From: 999, To: 1000, Part: 1}, ecs.ViewStamp{}}, // State(1000) is what is being computed
		{Claim{From: 1000, To: 1000}, ecs.ViewStamp{}},
		{Claim{From: 985, To: 985}, ecs.ViewStamp{Tick: 985}}, // 250 ms
	} {
		if got := j.View(c.claim, 1000, 50*millisecond, 50*millisecond); got != c.want {
			t.Errorf("%+v is judged by %v, want %v", c.claim, got, c.want)
		}
	}
	if c := j.Counters(); c != (Counters{Views: 9}) {
		t.Errorf("%+v", c)
	}
}

func TestViewsAreBoundedByEstimateAndCap(t *testing.T) {
	for _, c := range []struct {
		name          string
		claim         Claim
		oneWay, delay systems.Time
		want          ecs.ViewStamp
		counters      Counters
	}{
		{"200 ms off is credible", Claim{From: 986, To: 986}, 0, 33333334, ecs.ViewStamp{Tick: 986}, Counters{}},
		{"more is not", Claim{From: 985, To: 985}, 0, 33333334, ecs.ViewStamp{Tick: 998}, Counters{Replaced: 1}},
		{"too new", Claim{From: 999, To: 999}, 150 * millisecond, 100 * millisecond, ecs.ViewStamp{Tick: 985}, Counters{Replaced: 1}},
		{"older than the cap", Claim{From: 980, To: 980}, 100 * millisecond, 100 * millisecond, ecs.ViewStamp{Tick: 985}, Counters{Clamped: 1}},
		{"an estimate older than the cap", Claim{From: 2000, To: 2000}, 300 * millisecond, 0, ecs.ViewStamp{Tick: 985}, Counters{Replaced: 1, Clamped: 1}},
		{"not over", Claim{From: 1001, To: 1001}, 0, 0, ecs.ViewStamp{}, Counters{Clamped: 1}},
		{"a negative latency", Claim{From: 994, To: 994}, -systems.Second, -systems.Second, ecs.ViewStamp{Tick: 994}, Counters{}},
		{"a latency without end", Claim{From: 994, To: 994}, math.MaxInt64, math.MaxInt64, ecs.ViewStamp{Tick: 985}, Counters{Replaced: 1, Clamped: 1}},
		{"a delay beyond the bound", Claim{From: 2000, To: 2000}, 0, systems.Second, ecs.ViewStamp{Tick: 991}, Counters{Replaced: 1}},
		{"a delay below the bound", Claim{From: 2000, To: 2000}, 0, 1, ecs.ViewStamp{Tick: 997}, Counters{Replaced: 1}},
	} {
		j := newJudge(t, Config{TickRate: 60, MinDelay: 50 * millisecond, MaxDelay: 150 * millisecond})
		if strings.HasPrefix(c.name, "200") || strings.HasPrefix(c.name, "more") || strings.HasPrefix(c.name, "not over") {
			j = newJudge(t, Config{TickRate: 60})
		}
		if got := j.View(c.claim, 1000, c.oneWay, c.delay); got != c.want {
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
		for _, c := range []Claim{{}, {From: 0, To: 3, Part: 9}, {From: max(f, 3) - 3, To: max(f, 3)}} {
			v := j.View(c, f, 100*millisecond, 150*millisecond)
			if v.Tick >= f || f > 16 && v.Tick == 0 || v.Tick > 0 && v.Tick+15 < f {
				t.Errorf("tick %d, %+v: judged by %v", f, c, v)
			}
		}
	}
}

// LC-06 for everything that can be declared: the view lies in [F − Cap, F] and within the tolerance of the estimate,
// unless that is older than the cap.
func TestLC06NoClaimGetsBeyondToleranceAndCap(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 20000 {
		limit, tolerance := systems.Time(1+r.Int64N(1000))*millisecond, systems.Time(1+r.Int64N(1000))*millisecond
		rate := []int{1, 20, 60, 100, 1000}[r.IntN(5)]
		j := newJudge(t, Config{TickRate: rate, Cap: limit, Tolerance: tolerance})
		f := ecs.Tick(1 + r.Int64N(5000))
		if r.IntN(3) == 0 {
			f = 1<<62 - ecs.Tick(r.IntN(9))
		}
		c := Claim{From: ecs.Tick(r.Uint64()), To: ecs.Tick(r.Uint64()), Part: uint8(r.Uint32())}
		if r.IntN(2) == 0 {
			c.From = f - ecs.Tick(r.IntN(3000)) + ecs.Tick(r.IntN(1000))
			c.To = c.From + ecs.Tick(r.IntN(300))
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
	var s ecs.Snapshot
	oldest := ecs.Tick(992)
	j := newJudge(t, Config{TickRate: 60, Past: func(f ecs.Tick) (*ecs.Snapshot, bool) { return &s, f >= oldest && f < 1000 }})
	for _, c := range []struct {
		claim Claim
		want  ecs.ViewStamp
	}{
		{Claim{From: 990, To: 991, Part: 5}, ecs.ViewStamp{Tick: 992}},
		{Claim{From: 991, To: 992, Part: 5}, ecs.ViewStamp{Tick: 992}},
		{Claim{From: 992, To: 993, Part: 5}, ecs.ViewStamp{Tick: 992, Part: 5}},
	} {
		if got := j.View(c.claim, 1000, 50*millisecond, 50*millisecond); got != c.want {
			t.Errorf("%+v: %v, want %v", c.claim, got, c.want)
		}
	}
	oldest = 1000
	if got := j.View(Claim{From: 992, To: 992}, 1000, 50*millisecond, 50*millisecond); got.Tick != 0 {
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
		"TickRate":  {},
		"Cap":       {TickRate: 60, Cap: systems.Second + 1},
		"Tolerance": {TickRate: 60, Tolerance: -1},
		"MinDelay":  {TickRate: 60, MinDelay: 600 * millisecond},
		"MaxDelay":  {TickRate: 60, MaxDelay: 2 * systems.Second},
	} {
		if _, err := NewJudge(c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestClaimsAreMadeOfAnyFraction(t *testing.T) {
	for _, c := range []struct {
		fraction float64
		want     Claim
	}{
		{0, Claim{7, 7, 0}}, {0.5, Claim{7, 10, 128}}, {0.9999, Claim{7, 10, 255}}, {1, Claim{10, 10, 0}},
		{math.NaN(), Claim{7, 7, 0}}, {math.Inf(1), Claim{10, 10, 0}}, {math.Inf(-1), Claim{7, 7, 0}}, {-3, Claim{7, 7, 0}}, {1e300, Claim{10, 10, 0}},
	} {
		if got := NewClaim(7, 10, c.fraction); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.fraction, got, c.want)
		}
	}
}

func encoded(c Claim, tick ecs.Tick) []byte {
	w := wire.NewWriter(nil, 16)
	c.Append(&w, tick)
	if w.Err() != nil {
		panic(w.Err())
	}
	return w.Bytes()
}

func TestClaimsComeBackFromTheWire(t *testing.T) {
	for _, c := range []struct {
		claim Claim
		bytes int
	}{
		{Claim{988, 991, 77}, 3}, {Claim{1000, 1000, 0}, 2}, {Claim{1003, 1006, 255}, 3}, {Claim{0, 255, 1}, 4}, {Claim{900, 900, 0}, 3},
	} {
		b := encoded(c.claim, 1000)
		r := wire.NewReader(b)
		if got := ReadClaim(&r, 1000); got != c.claim || r.Close() != nil || len(b) != c.bytes {
			t.Errorf("%+v comes back as %+v from %d bytes, want %d: %v", c.claim, got, len(b), c.bytes, r.Close())
		}
		for n := range b {
			r := wire.NewReader(b[:n])
			if ReadClaim(&r, 1000); r.Err() == nil {
				t.Errorf("%d of %d bytes are taken", n, len(b))
			}
		}
	}
	if b := encoded(Claim{From: 1<<64 - 1, To: 0, Part: 9}, 5); len(b) > 5 {
		t.Errorf("nonsense takes %d bytes", len(b))
	}
}

// No bytes make anything but a view within the bounds.
func FuzzClaim(f *testing.F) {
	f.Add([]byte{24, 3, 128}, uint64(1000))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 255, 255}, uint64(3))
	f.Add([]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0}, uint64(1)<<62)
	j, err := NewJudge(Config{TickRate: 60})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte, tick uint64) {
		at := ecs.Tick(max(tick>>2, 1))
		r := wire.NewReader(b)
		c := ReadClaim(&r, at)
		if r.Err() == nil {
			again := wire.NewReader(encoded(c, at))
			got := ReadClaim(&again, at)
			if behind(c.From, at) < maxAway && got != c { // what is farther away may be read as anything that is
				t.Errorf("%+v is written and read as %+v", c, got)
			}
		}
		if v := j.View(c, at, 50*millisecond, 50*millisecond); v.Tick >= at || v.Tick > 0 && at-v.Tick > 15 {
			t.Errorf("%+v in tick %d is judged by %v", c, at, v)
		}
	})
}
