package motion

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
)

const top = 5 // world units per second

func guard(t testing.TB, c GuardConfig) *Guard {
	t.Helper()
	if c.MaxSpeed == 0 {
		c.MaxSpeed = top * fixed.One
	}
	return NewGuard(c)
}

// most returns the largest distance that may be accepted in a time, in the plane. It is 1.05 × MaxSpeed × time and
// the burst, with a millionth of a unit for the rounding of each record's time.
func most(elapsed systems.Time) fixed.Num {
	return Seconds(elapsed).Mul(fixed.FromRatio(105, 100))*top + fixed.Half*top + fixed.One/1_000_000
}

// claims simulates a client whose clock runs at a pace. It reports 10 times a second that it moves at a speed. A
// client that obeying continues from a corrected position.
func claims(g *Guard, speed, pace fixed.Num, lasting, delay systems.Time, obeying bool) {
	x := fixed.Num(0)
	for sent := systems.Time(0); sent <= lasting; sent += 100 * ms {
		stamp := systems.Time(Seconds(sent).Mul(pace).Mul(fixed.FromInt(1000)).Round().Int()) * ms
		r := Record{Stamp: StampOf(stamp), Pos: fixed.Vec3{X: x}, Vel: fixed.Vec3{X: speed}}
		if g.Check(&r, allowance, 70*sec+sent+delay) == Clamped && obeying {
			x = r.Pos.X
		}
		x += speed / 10
	}
}

// CW-SPEED and DR-08: a client reports 1.5 × v_max for 30 s. At most 1.05 × v_max × 30 and the burst are accepted,
// whether the client obeying snaps or not.
func TestCWSPEEDDR08ASpeedHackGainsFivePercent(t *testing.T) {
	for _, obeying := range []bool{false, true} {
		g := guard(t, GuardConfig{})
		claims(g, fixed.FromRatio(15, 10)*top, fixed.One, 30*sec, 80*ms, obeying)
		if s := g.Stats; s.Distance > most(30*sec) || s.Distance < num("150") || s.Clamped == 0 || g.At().X > most(30*sec) || s.Slowed == 0 || s.Fast != 0 {
			t.Errorf("obeying %v: accepted %v of at most %v, at %v, %+v", obeying, s.Distance, most(30*sec), g.At().X, s)
		}
	}
}

// A client whose clock runs 1.5 times too fast may claim 1.5 times the distance by its own stamps. It gains the
// allowance for jitter once and 2 % from then on, and is counted.
func TestAFastClockGainsNoMoreThanItsAllowance(t *testing.T) {
	g := guard(t, GuardConfig{})
	claims(g, fixed.FromRatio(15, 10)*top, fixed.FromRatio(15, 10), 30*sec, 80*ms, false)
	s, bound := g.Stats, most(30*sec+5*sec/2+30*sec/50)
	if s.Distance > bound || s.Clamped == 0 || s.Fast == 0 {
		t.Errorf("accepted %v of at most %v, %+v", s.Distance, bound, s)
	}
	g = guard(t, GuardConfig{})
	claims(g, top*fixed.One, fixed.FromRatio(1019, 1000), 600*sec, 80*ms, false)
	if s := g.Stats; s.Fast != 0 || s.Clamped != 0 {
		t.Errorf("a clock that is 1.9 %% fast: %+v", s)
	}
}

// A stamp must be newer than the last. An overtaken record is ignored, without a correction.
func TestAStampMayNotGoBack(t *testing.T) {
	g := guard(t, GuardConfig{})
	for _, v := range []struct {
		stamp Stamp
		want  Verdict
	}{{100, Accepted}, {100, Stale}, {99, Stale}, {101, Accepted}, {-9999, Stale}, {102, Accepted}} {
		if got := g.Check(&Record{Stamp: v.stamp}, allowance, sec+systems.Time(v.stamp)*StampUnit); got != v.want {
			t.Errorf("stamp %d: %d", v.stamp, got)
		}
	}
	if g.Stats.Stale != 3 || g.Stats.Clamped != 0 {
		t.Errorf("%+v", g.Stats)
	}
}

// honest simulates a client that walks at exactly v_max for 10 minutes and turns every 3 s. It returns the records
// with their arrival times. A hundred bursts delay each record by up to 2 s; the first record is in a burst if begins
// is set.
func honest(t testing.TB, seed uint64, begins bool) (list []sending) {
	r := rand.New(rand.NewPCG(seed, 88))
	s := sender(t, SendConfig{})
	heading := fixed.Num(0)
	list = walk(s, 600*sec, func(now systems.Time, rec *Record) {
		if now%(3*sec) == 0 {
			heading = fixed.Num(r.Int64N(int64(fixed.Tau)))
		}
		level := fixed.FromAngle(heading, top*fixed.One).Limit(top * fixed.One)
		rec.Vel = fixed.Vec3{X: level.X, Y: level.Y}
	})
	for i := range list {
		burst := list[i].at/(3*sec)%2 == 1
		if begins {
			burst = !burst
		}
		if list[i].at += 100*ms + systems.Time(r.Int64N(int64(20*ms))); burst {
			list[i].at += systems.Time(r.Int64N(int64(2 * sec)))
		}
	}
	if begins {
		list[0].at = 100*ms + 2*sec
	}
	slices.SortStableFunc(list, func(a, b sending) int { return cmp.Compare(a.at, b.at) })
	return list
}

// DR-08: an honest client at top speed, with bursts of 2000 ms of jitter that reorder and bunch its records, is never
// corrected in 10 minutes.
func TestDR08JitterOfTwoSecondsMakesNoFalsePositive(t *testing.T) {
	for seed := range uint64(40) {
		g := guard(t, GuardConfig{})
		list := honest(t, seed, seed%2 == 0)
		bunched := 0
		for i, l := range list {
			if i > 0 && l.at-list[i-1].at < 200*ms {
				bunched++
			}
			r, at := l.record, l.record.Pos
			if v := g.Check(&r, allowance, l.at); v == Clamped || v == Refused || v == Accepted && r.Pos != at {
				t.Fatalf("seed %d: record %d of stamp %d at %d ms: verdict %d", seed, i, r.Stamp, l.at/ms, v)
			}
		}
		if s := g.Stats; s.Stale < 50 || bunched < 20 || s.Accepted < 300 || s.Slowed != 0 || s.Fast != 0 {
			t.Fatalf("seed %d: %d records bunched, %+v: the test proves nothing", seed, bunched, s)
		}
	}
}

// The same records at 1.5 times the allowed speed are clamped.
func TestJitterDoesNotHideASpeedHack(t *testing.T) {
	g := guard(t, GuardConfig{MaxSpeed: fixed.FromRatio(top*2, 3)})
	for _, l := range honest(t, 3, false) {
		r := l.record
		g.Check(&r, allowance, l.at)
	}
	if s := g.Stats; s.Clamped < 50 {
		t.Errorf("%+v", s)
	}
}

// A client that stands while its stamps fall behind, and then moves at once, gains no more than the allowance.
func TestALagSwitchSavesUpNoMoreThanTheAllowance(t *testing.T) {
	g := guard(t, GuardConfig{})
	for i := range systems.Time(100) { // 10 s of records whose stamps hardly move
		g.Check(&Record{Stamp: Stamp(i)}, allowance, i*100*ms)
	}
	r := Record{Stamp: 1000, Pos: vec("1000", "0", "0")}
	if v := g.Check(&r, allowance, 10*sec+10*ms); v != Clamped || r.Pos.X > most(5*sec/2+200*ms) {
		t.Errorf("verdict %d: appears at %v", v, r.Pos.X)
	}
	// Without such a lag the limit is the burst.
	g = guard(t, GuardConfig{})
	for i := range systems.Time(100) {
		g.Check(&Record{Stamp: Stamp(i * 10)}, allowance, i*100*ms)
	}
	r = Record{Stamp: 1000, Pos: vec("1000", "0", "0")}
	if v := g.Check(&r, allowance, 10*sec); v != Clamped || r.Pos.X > most(100*ms) || r.Pos.Y != 0 || r.Pos.X < 2*fixed.One {
		t.Errorf("verdict %d: appears at %v", v, r.Pos.X)
	}
}

// Credit grows while no record arrives: an entity that moves on for 3 s, with all records lost, is accepted.
func TestCreditGrowsWithoutRecords(t *testing.T) {
	g := guard(t, GuardConfig{})
	g.Check(&Record{}, allowance, 0)
	if v := g.Check(&Record{Stamp: 300, Pos: vec("0", "15", "0")}, allowance, 3*sec); v != Accepted {
		t.Errorf("verdict %d", v)
	}
}

// With Trusting every record is accepted that is not stale, and the counters are the same.
func TestATrustingGuardOnlyCounts(t *testing.T) {
	g := guard(t, GuardConfig{Trusting: true})
	g.Check(&Record{}, allowance, 0)
	far := Record{Stamp: 10, Pos: vec("500", "0", "0"), Vel: vec("99", "0", "0")}
	r := far
	if v := g.Check(&r, allowance, 100*ms); v != Accepted || r != far || g.At() != far.Pos || g.Stats.Clamped != 1 || g.Stats.Slowed != 1 {
		t.Errorf("verdict %d, %+v, %+v", v, r, g.Stats)
	}
	if v := g.Check(&r, allowance, 200*ms); v != Stale {
		t.Errorf("doubled: %d", v)
	}
}

// Place costs no credit. The first record of an entity without a place sets it.
func TestPlacingCostsNothing(t *testing.T) {
	g := guard(t, GuardConfig{})
	g.Place(vec("100", "100", "0"))
	first := Record{Pos: vec("0", "0", "0")}
	if v := g.Check(&first, allowance, 0); v != Clamped || first.Pos.X < num("98") {
		t.Errorf("verdict %d: an entity chose its place, %v", v, first.Pos)
	}
	g.Place(vec("-500", "0", "0"))
	r := Record{Stamp: 10, Pos: vec("-499.5", "0", "0")}
	if v := g.Check(&r, allowance, 100*ms); v != Accepted {
		t.Errorf("verdict %d: %v", v, r.Pos)
	}
	free := guard(t, GuardConfig{})
	r = Record{Pos: vec("77", "0", "0")}
	if v := free.Check(&r, allowance, 0); v != Accepted || free.At() != r.Pos {
		t.Errorf("verdict %d: %v", v, free.At())
	}
}

// Heights have their own credit. A velocity is limited to the top speed, since other clients extrapolate by it.
func TestHeightsAndVelocitiesAreBounded(t *testing.T) {
	g := guard(t, GuardConfig{})
	g.Check(&Record{}, allowance, 0)
	r := Record{Stamp: 100, Pos: vec("5", "0", "50"), Vel: vec("30", "40", "-100")}
	if v := g.Check(&r, allowance, sec); v != Clamped || r.Pos.X != 5*fixed.One || r.Pos.Z > num("7.8") || r.Pos.Z < 7*fixed.One {
		t.Errorf("verdict %d: %v", v, r.Pos)
	}
	if speed := (fixed.Vec2{X: r.Vel.X, Y: r.Vel.Y}).Len(); speed > num("5.2501") || speed < 5*fixed.One || r.Vel.Z < num("-5.2501") {
		t.Errorf("velocity %v", r.Vel)
	}
}

// A guard needs the place of the entity itself.
func TestARecordWithoutAPlaceOfItsOwnIsRefused(t *testing.T) {
	g := guard(t, GuardConfig{})
	for i, r := range []Record{{Mode: Attached}, {Mode: Scripted, Along: 500 * fixed.One}, {Anchor: 1}} {
		if v := g.Check(&r, allowance, 0); v != Refused || g.Stats.Refused != uint64(i+1) {
			t.Errorf("%+v: %d", r, v)
		}
	}
}

// An invalid GuardConfig panics.
func TestAGuardConfigIsChecked(t *testing.T) {
	for i, c := range []GuardConfig{{}, {MaxSpeed: -1}, {MaxSpeed: MaxVelocity + 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("config %d was accepted", i)
				}
			}()
			NewGuard(c)
		}()
	}
}
