package fixed_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"tendon/ecs/fixed"
)

const rounds = 20_000

func drawNum(t *rapid.T, label string) fixed.Num {
	if rapid.IntRange(0, 7).Draw(t, label+" kind") == 0 {
		return rapid.SampledFrom(edges[:]).Draw(t, label)
	}
	shift := rapid.IntRange(0, 63).Draw(t, label+" shift")
	return fixed.Num(rapid.Int64().Draw(t, label)) >> shift
}

// Mul and Div are what every other thing stands on: they must be the true result,
// rounded once, or saturated, for every pair.
func TestMulAndDivAreTheExactResultRoundedOnce(t *testing.T) {
	check := func(f interface {
		Helper()
		Errorf(string, ...any)
	}, a, b fixed.Num) {
		f.Helper()
		if got, want := a.Mul(b), refSum(a, b); got != want {
			f.Errorf("Num(%d).Mul(%d) = %d, want %d", a, b, got, want)
		}
		if b == 0 {
			return
		}
		want := refNum(refRound(new(big.Int).Lsh(integer(a), 32), integer(b)))
		if got := a.Div(b); got != want {
			f.Errorf("Num(%d).Div(%d) = %d, want %d", a, b, got, want)
		}
		if got := fixed.FromRatio(int64(a), int64(b)); got != want {
			f.Errorf("FromRatio(%d, %d) = %d, want %d", a, b, got, want)
		}
	}
	for _, a := range edges {
		for _, b := range edges {
			check(t, a, b)
		}
	}
	g := args{1}
	for range rounds {
		check(t, g.num(), g.num())
	}
	rapid.Check(t, func(r *rapid.T) { check(r, drawNum(r, "a"), drawNum(r, "b")) })
}

// A tie is the one case in which two sound implementations differ, so the rule is
// spelled out: away from zero, on both sides.
func TestTiesAreRoundedAwayFromZero(t *testing.T) {
	cases := []struct {
		what      string
		got, want fixed.Num
	}{
		{"ε·½", fixed.Epsilon.Mul(fixed.Half), 1},
		{"-ε·½", (-fixed.Epsilon).Mul(fixed.Half), -1},
		{"ε·-½", fixed.Epsilon.Mul(-fixed.Half), -1},
		{"-ε·-½", (-fixed.Epsilon).Mul(-fixed.Half), 1},
		{"ε·(½-ε)", fixed.Epsilon.Mul(fixed.Half - 1), 0},
		{"-ε·(½-ε)", (-fixed.Epsilon).Mul(fixed.Half - 1), 0},
		{"3ε/2", fixed.Num(3).Div(2 * fixed.One), 2},
		{"-3ε/2", fixed.Num(-3).Div(2 * fixed.One), -2},
		{"ε/3", fixed.Epsilon.Div(3 * fixed.One), 0},
		{"round ½", fixed.Half.Round(), fixed.One},
		{"round -½", (-fixed.Half).Round(), -fixed.One},
		{"round ½-ε", (fixed.Half - 1).Round(), 0},
		{"round -½+ε", (1 - fixed.Half).Round(), 0},
		{"0.5 ε in decimal", fixed.MustParse("0.000000000116415321826934814453125"), 1},
		{"-0.5 ε in decimal", fixed.MustParse("-0.000000000116415321826934814453125"), -1},
		{"just below", fixed.MustParse("0.000000000116415321826934814453124999999999999"), 0},
		{"0.5 ε in float", fixed.FromFloat(math.Ldexp(1, -33)), 1},
		{"-0.5 ε in float", fixed.FromFloat(-math.Ldexp(1, -33)), -1},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%s = %d raw, want %d", c.what, c.got, c.want)
		}
	}
}

// A simulation must go on, and go on alike everywhere, whatever a player makes it
// compute.
func TestOverflowAndDivisionByZeroSaturate(t *testing.T) {
	cases := []struct {
		what      string
		got, want fixed.Num
	}{
		{"Min/-1", fixed.Min.Div(-fixed.One), fixed.Max},
		{"Min/1", fixed.Min.Div(fixed.One), fixed.Min},
		{"Min/-ε", fixed.Min.Div(-1), fixed.Max},
		{"Max/-ε", fixed.Max.Div(-1), fixed.Min},
		{"Max/½", fixed.Max.Div(fixed.Half), fixed.Max},
		{"Min/Min", fixed.Min.Div(fixed.Min), fixed.One},
		{"1/0", fixed.One.Div(0), fixed.Max},
		{"-1/0", (-fixed.One).Div(0), fixed.Min},
		{"Min/0", fixed.Min.Div(0), fixed.Min},
		{"0/0", fixed.Num(0).Div(0), 0},
		{"Min·Min", fixed.Min.Mul(fixed.Min), fixed.Max},
		{"Min·-1", fixed.Min.Mul(-fixed.One), fixed.Max},
		{"Min·1", fixed.Min.Mul(fixed.One), fixed.Min},
		{"Min·Max", fixed.Min.Mul(fixed.Max), fixed.Min},
		{"Max·Max", fixed.Max.Mul(fixed.Max), fixed.Max},
		{"-Min", fixed.Min.Neg(), fixed.Max},
		{"|Min|", fixed.Min.Abs(), fixed.Max},
		{"Max mod 0", fixed.Max.Mod(0), 0},
		{"Min mod -ε", fixed.Min.Mod(-1), 0},
		{"⌈Max⌉", fixed.Max.Ceil(), fixed.Max},
		{"⌈2^31-1⌉", fixed.FromInt(1<<31 - 1).Ceil(), fixed.FromInt(1<<31 - 1)},
		{"⌈2^31-1+ε⌉", (fixed.FromInt(1<<31-1) + 1).Ceil(), fixed.Max},
		{"round Max", fixed.Max.Round(), fixed.Max},
		{"round 2^31-0.5-ε", (fixed.Max - fixed.Half).Round(), fixed.FromInt(1<<31 - 1)},
		{"round Min", fixed.Min.Round(), fixed.Min},
		{"√-1", (-fixed.One).Sqrt(), 0},
		{"√Min", fixed.Min.Sqrt(), 0},
		{"FromInt(-2^31)", fixed.FromInt(-1 << 31), fixed.Min},
		{"FromFloat(NaN)", fixed.FromFloat(math.NaN()), 0},
		{"FromFloat(+Inf)", fixed.FromFloat(math.Inf(1)), fixed.Max},
		{"FromFloat(-Inf)", fixed.FromFloat(math.Inf(-1)), fixed.Min},
		{"FromFloat(2^31)", fixed.FromFloat(1 << 31), fixed.Max},
		{"FromFloat(-2^31)", fixed.FromFloat(-1 << 31), fixed.Min},
	}
	if math.MaxInt > math.MaxInt32 {
		big := math.MaxInt
		cases = append(cases, struct {
			what      string
			got, want fixed.Num
		}{"FromInt(2^63-1)", fixed.FromInt(big), fixed.Max}, struct {
			what      string
			got, want fixed.Num
		}{"FromInt(-2^63)", fixed.FromInt(-big - 1), fixed.Min})
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%s = %d raw, want %d", c.what, c.got, c.want)
		}
	}
}

// The whole-number functions agree with each other, for negative numbers too.
func TestWholeNumbersAgreeWithMathBig(t *testing.T) {
	one := integer(fixed.One)
	g := args{2}
	for range rounds {
		a := g.num()
		floor := new(big.Int).Div(integer(a), one) // Euclidean, so the floor
		if got := a.Int(); int64(got) != floor.Int64() {
			t.Fatalf("Num(%d).Int() = %d, want %d", a, got, floor)
		}
		if got := a.Floor(); got != refNum(new(big.Int).Mul(floor, one)) {
			t.Fatalf("Num(%d).Floor() = %d", a, got)
		}
		up := new(big.Int).Neg(new(big.Int).Div(new(big.Int).Neg(integer(a)), one))
		if got := a.Ceil(); got != refNum(up.Mul(up, one)) {
			t.Fatalf("Num(%d).Ceil() = %d", a, got)
		}
		near := refRound(integer(a), one)
		if got := a.Round(); got != refNum(near.Mul(near, one)) {
			t.Fatalf("Num(%d).Round() = %d", a, got)
		}
		if got, want := a.Abs(), refNum(new(big.Int).Abs(integer(a))); got != want {
			t.Fatalf("Num(%d).Abs() = %d, want %d", a, got, want)
		}
		if got, want := a.Neg(), refNum(new(big.Int).Neg(integer(a))); got != want {
			t.Fatalf("Num(%d).Neg() = %d, want %d", a, got, want)
		}
	}
}

// A torus wraps with Mod, so the result must lie in [0, b) for negative a as well.
func TestModHasTheSignOfItsDivisorAndIsExact(t *testing.T) {
	g := args{3}
	for range rounds {
		a, b := g.num(), g.num()
		if b == 0 {
			continue
		}
		got := a.Mod(b)
		want := new(big.Int).Mod(integer(a), integer(b)) // in [0, |b|)
		if b < 0 && want.Sign() != 0 {
			want.Add(want, integer(b))
		}
		if integer(got).Cmp(want) != 0 {
			t.Fatalf("Num(%d).Mod(%d) = %d, want %d", a, b, got, want)
		}
	}
}

func TestLerpIsExactAtItsEndsAndNeverOverflowsInside(t *testing.T) {
	g := args{4}
	for range rounds {
		a, b, p := g.num(), g.num(), g.num()
		// a + (b-a)·p, rounded once
		d := new(big.Int).Sub(integer(b), integer(a))
		d.Mul(d, integer(p)).Add(d, new(big.Int).Mul(integer(a), integer(fixed.One)))
		if got, want := a.Lerp(b, p), refNum(refRound(d, integer(fixed.One))); got != want {
			t.Fatalf("Num(%d).Lerp(%d, %d) = %d, want %d", a, b, p, got, want)
		}
		if a.Lerp(b, 0) != a || a.Lerp(b, fixed.One) != b {
			t.Fatalf("Num(%d).Lerp(%d, ·) misses its ends", a, b)
		}
	}
}

func TestClampStaysInItsInterval(t *testing.T) {
	g := args{5}
	for range rounds {
		a, lo, hi := g.num(), g.num(), g.num()
		got := a.Clamp(lo, hi)
		switch {
		case lo > hi:
			if got != hi {
				t.Fatalf("Num(%d).Clamp(%d, %d) = %d, want the upper bound", a, lo, hi, got)
			}
		case got < lo || got > hi || a >= lo && a <= hi && got != a || a < lo && got != lo || a > hi && got != hi:
			t.Fatalf("Num(%d).Clamp(%d, %d) = %d", a, lo, hi, got)
		}
	}
}

// Square roots feed distances, and distances feed decisions: correctly rounded, and
// thereby monotonic.
func TestSqrtIsTheNearestNumAndMonotonic(t *testing.T) {
	check := func(a fixed.Num) {
		want := refNum(refRoot(new(big.Int).Lsh(integer(a), 32)))
		if got := a.Sqrt(); got != want {
			t.Fatalf("Num(%d).Sqrt() = %d, want %d", a, got, want)
		}
	}
	g := args{6}
	for range rounds {
		a := g.num().Abs()
		check(a)
		if a < fixed.Max && a.Sqrt() > (a+1).Sqrt() {
			t.Fatalf("Sqrt falls from %d to %d", a, a+1)
		}
		// Around squares, where a root off by one would show.
		r := g.upTo(fixed.FromInt(46340)).Abs()
		for d := fixed.Num(-2); d <= 2; d++ {
			check((r.Mul(r) + d).Abs())
		}
	}
	for i := range 46341 {
		if got := fixed.FromInt(i * i).Sqrt(); got != fixed.FromInt(i) {
			t.Fatalf("√%d² = %v", i, got)
		}
	}
}

// Floats enter at setup and leave at drawing; both ways must be exact where a
// float64 can be.
func TestFloatsAreExactWhereTheyCanBe(t *testing.T) {
	g := args{7}
	for range rounds {
		a := g.num()
		want, _ := realOf(a).Float64()
		if got := a.Float(); got != want {
			t.Fatalf("Num(%d).Float() = %v, want %v", a, got, want)
		}
		if b := a >> 11; fixed.FromFloat(b.Float()) != b {
			t.Fatalf("FromFloat(Num(%d).Float()) = %d", b, fixed.FromFloat(b.Float()))
		}
	}
}

func TestConstantsAreTheNearestNums(t *testing.T) {
	for _, c := range []struct {
		name string
		got  fixed.Num
		want *big.Float
	}{
		{"Pi", fixed.Pi, refPi},
		{"Tau", fixed.Tau, refTau},
		{"HalfPi", fixed.HalfPi, scaleBy(refPi, -1)},
	} {
		if e := rawError(c.got, c.want); e > 0.5 {
			t.Errorf("%s is %v steps off", c.name, e)
		}
	}
}

// These run for every entity in every resimulated tick.
func TestNothingInASimulationAllocates(t *testing.T) {
	g := args{8}
	v, w, u, a := g.vec2(), g.vec2(), g.vec3(), g.num()
	var sink fixed.Num
	allocs := testing.AllocsPerRun(100, func() {
		sink += a.Mul(v.X).Div(w.Y).Sqrt() + fixed.Sin(a) + fixed.Cos(a) + fixed.Atan2(v.Y, v.X)
		sink += v.Rotate(a).Normalize().Limit(w.X).Lerp(w, a).Dist(v) + v.Dot(w) + v.Cross(w)
		sink += u.Cross(u.Normalize()).Len() + a.Mod(v.X) + a.Lerp(v.X, v.Y)
	})
	if allocs != 0 {
		t.Errorf("%v allocations in fixed-point arithmetic, want none", allocs)
	}
	_ = sink
}
