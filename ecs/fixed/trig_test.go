package fixed_test

import (
	"testing"

	"tendon/ecs/fixed"
)

// maxTrigError is the bound that the package states, in units of 2^-32: half a unit
// for the rounding to a Num, and 2^-42 before it.
const maxTrigError = 0.501

const trigRounds = 2_000

// angle is one of three kinds: any Num, a small angle, or one next to a multiple of
// an eighth turn, where quadrants and intervals meet.
func (g *args) angle() fixed.Num {
	switch g.bits() % 3 {
	case 0:
		return g.num()
	case 1:
		return g.upTo(2 * fixed.Tau)
	}
	eighths := real().SetInt64(int64(g.bits() >> (34 + g.bits()%30))) // below 2^30, of any length
	n, _ := scaleBy(eighths.Mul(eighths, refPi), 30).Int64()
	return fixed.Num(n) + g.upTo(4)
}

// Range reduction is where sines go wrong: 2^31 radians hold 341 million turns, so
// an error in π would show as a wrong phase there.
func TestSinAndCosAreWithinHalfAStepOverTheWholeRange(t *testing.T) {
	worst := 0.0
	check := func(a fixed.Num) {
		t.Helper()
		sin, cos := refSinCos(realOf(a))
		es, ec := rawError(fixed.Sin(a), sin), rawError(fixed.Cos(a), cos)
		if es > maxTrigError || ec > maxTrigError {
			t.Errorf("Num(%d): sine is %v steps off, cosine %v", a, es, ec)
		}
		worst = max(worst, es, ec)
	}
	for _, a := range edges {
		check(a)
	}
	g := args{11}
	for range trigRounds {
		check(g.angle())
	}
	t.Logf("worst error %.5f·2^-32", worst)
}

func TestSinIsOddAndCosIsEvenExactly(t *testing.T) {
	g := args{12}
	for range rounds {
		a := g.angle()
		if a == fixed.Min {
			continue // has no negative
		}
		sin, cos := fixed.SinCos(a)
		if sin != fixed.Sin(a) || cos != fixed.Cos(a) {
			t.Fatalf("SinCos(%d) differs from Sin and Cos", a)
		}
		if fixed.Sin(-a) != -sin || fixed.Cos(-a) != cos {
			t.Fatalf("Num(%d): sin %d and %d, cos %d and %d", a, sin, fixed.Sin(-a), cos, fixed.Cos(-a))
		}
		// 1 = sin² + cos² up to the roundings: each of the three by half a step,
		// and twice for the squares' slopes.
		if d := (sin.Mul(sin) + cos.Mul(cos) - fixed.One).Abs(); d > 2 {
			t.Fatalf("Num(%d): sin²+cos² is %d steps from one", a, d)
		}
		if sin.Abs() > fixed.One || cos.Abs() > fixed.One {
			t.Fatalf("Num(%d): sine %d or cosine %d is beyond one", a, sin, cos)
		}
	}
}

func TestAtan2IsWithinHalfAStepInAllQuadrants(t *testing.T) {
	worst := 0.0
	check := func(y, x fixed.Num) {
		t.Helper()
		if x == 0 && y == 0 {
			return
		}
		e := rawError(fixed.Atan2(y, x), refAtan2(realOf(y), realOf(x)))
		if e > maxTrigError {
			t.Errorf("Atan2(%d, %d) is %v steps off", y, x, e)
		}
		worst = max(worst, e)
	}
	for _, y := range edges {
		for _, x := range edges {
			check(y, x)
		}
	}
	g := args{13}
	for range trigRounds {
		y, x := g.num(), g.num()
		check(y, x)
		check(y, y+g.upTo(4)) // next to the diagonals
		// where the table's intervals of slope meet
		check(x.Mul(fixed.FromRatio(int64(g.bits()%257), 256))+g.upTo(3), x)
	}
	t.Logf("worst error %.5f·2^-32", worst)
}

func TestAtan2OnTheAxesAndMirrored(t *testing.T) {
	cases := []struct{ y, x, want fixed.Num }{
		{0, 0, 0},
		{0, 1, 0}, {0, fixed.Max, 0},
		{1, 0, fixed.HalfPi}, {fixed.Max, 0, fixed.HalfPi},
		{-1, 0, -fixed.HalfPi}, {fixed.Min, 0, -fixed.HalfPi},
		{0, -1, fixed.Pi}, {0, fixed.Min, fixed.Pi},
		{-1, fixed.Min, -fixed.Pi}, // the true angle rounds to -π
		{1, 1, fixed.MustParse("0.785398163397448309615660845819")},
		{fixed.Min, fixed.Min, fixed.MustParse("-2.356194490192344928846982537459")},
	}
	for _, c := range cases {
		if got := fixed.Atan2(c.y, c.x); got != c.want {
			t.Errorf("Atan2(%d, %d) = %d, want %d", c.y, c.x, got, c.want)
		}
	}
	g := args{14}
	for range rounds {
		y, x := g.num(), g.num()
		if y != fixed.Min && y != 0 && fixed.Atan2(-y, x) != -fixed.Atan2(y, x) {
			t.Fatalf("Atan2(±%d, %d) = %d and %d", y, x, fixed.Atan2(y, x), fixed.Atan2(-y, x))
		}
		if got := fixed.Atan(y); got != fixed.Atan2(y, fixed.One) || got.Abs() > fixed.HalfPi {
			t.Fatalf("Atan(%d) = %d", y, got)
		}
	}
}

// A direction taken apart and put together again must stay the direction.
func TestAtan2UndoesSinCos(t *testing.T) {
	g := args{15}
	for range rounds {
		a := g.upTo(fixed.Pi)
		sin, cos := fixed.SinCos(a)
		if d := (fixed.Atan2(sin, cos) - a).Abs(); d > 2 {
			t.Fatalf("Num(%d): the angle of its sine and cosine is %d steps off", a, d)
		}
	}
}
