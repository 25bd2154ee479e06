package fixed_test

import (
	"math/big"
	"testing"

	"tendon/ecs/fixed"
)

// norm is √(Σ c²) in units of 2^-32, rounded to nearest, not saturated.
func norm(components ...*big.Int) *big.Int {
	total := new(big.Int)
	for _, c := range components {
		total.Add(total, new(big.Int).Mul(c, c))
	}
	return refRoot(total)
}

// The sums of products must hold for vectors as long as the type allows, where the
// 128-bit sum itself overflows.
func TestProductsOfVectorsAreExactSumsRoundedOnce(t *testing.T) {
	check := func(v, w fixed.Vec2, a, b fixed.Vec3) {
		t.Helper()
		if got, want := v.Dot(w), refSum(v.X, w.X, v.Y, w.Y); got != want {
			t.Errorf("%d.Dot(%d) = %d, want %d", v, w, got, want)
		}
		if got, want := v.LenSq(), refSum(v.X, v.X, v.Y, v.Y); got != want {
			t.Errorf("%d.LenSq() = %d, want %d", v, got, want)
		}
		cross := func(x, y, z, w fixed.Num) fixed.Num { // x·w - y·z
			d := new(big.Int).Mul(integer(x), integer(w))
			d.Sub(d, new(big.Int).Mul(integer(y), integer(z)))
			return refNum(refRound(d, integer(fixed.One)))
		}
		if got, want := v.Cross(w), cross(v.X, v.Y, w.X, w.Y); got != want {
			t.Errorf("%d.Cross(%d) = %d, want %d", v, w, got, want)
		}
		if got, want := a.Dot(b), refSum(a.X, b.X, a.Y, b.Y, a.Z, b.Z); got != want {
			t.Errorf("%d.Dot(%d) = %d, want %d", a, b, got, want)
		}
		want := fixed.Vec3{
			X: cross(a.Y, a.Z, b.Y, b.Z),
			Y: cross(a.Z, a.X, b.Z, b.X),
			Z: cross(a.X, a.Y, b.X, b.Y),
		}
		if got := a.Cross(b); got != want {
			t.Errorf("%d.Cross(%d) = %d, want %d", a, b, got, want)
		}
		sin, cos := fixed.SinCos(w.X)
		turned := fixed.Vec2{X: cross(v.X, v.Y, sin, cos), Y: refSum(v.X, sin, v.Y, cos)}
		if got := v.Rotate(w.X); got != turned {
			t.Errorf("%d.Rotate(%d) = %d, want %d", v, w.X, got, turned)
		}
	}
	extremes := []fixed.Num{fixed.Min, fixed.Max, 0, fixed.One, -1}
	for _, x := range extremes {
		for _, y := range extremes {
			for _, z := range extremes {
				check(fixed.Vec2{X: x, Y: y}, fixed.Vec2{X: z, Y: y}, fixed.Vec3{X: x, Y: y, Z: z}, fixed.Vec3{X: x, Y: z, Z: y})
			}
		}
	}
	g := args{21}
	for range rounds {
		check(g.vec2(), g.vec2(), g.vec3(), g.vec3())
	}
}

func TestLengthsAreTheNearestNumAndNeverOverflow(t *testing.T) {
	g := args{22}
	for range rounds {
		v, w, u := g.vec2(), g.vec2(), g.vec3()
		if got, want := v.Len(), refNum(norm(integer(v.X), integer(v.Y))); got != want || got != fixed.Hypot(v.X, v.Y) {
			t.Fatalf("%d.Len() = %d, want %d", v, got, want)
		}
		if got, want := u.Len(), refNum(norm(integer(u.X), integer(u.Y), integer(u.Z))); got != want {
			t.Fatalf("%d.Len() = %d, want %d", u, got, want)
		}
		dx := new(big.Int).Sub(integer(v.X), integer(w.X))
		dy := new(big.Int).Sub(integer(v.Y), integer(w.Y))
		if got, want := v.Dist(w), refNum(norm(dx, dy)); got != want || got != w.Dist(v) {
			t.Fatalf("%d.Dist(%d) = %d, want %d", v, w, got, want)
		}
	}
}

// A direction of one step's length is as good as any other: the shift before the
// root must keep all its bits.
func TestNormalizeIsWithinAStepForVectorsOfAnyLength(t *testing.T) {
	const bound = 0.501
	check := func(v, n []fixed.Num) {
		t.Helper()
		total := real()
		for _, c := range v {
			total.Add(total, real().Mul(realOf(c), realOf(c)))
		}
		length := real().Sqrt(total)
		for i := range v {
			if e := rawError(n[i], real().Quo(realOf(v[i]), length)); e > bound {
				t.Errorf("normalizing %d gives %d, %v steps off", v, n, e)
			}
		}
	}
	g := args{23}
	for range rounds / 4 {
		v, u := g.vec2(), g.vec3()
		if v != (fixed.Vec2{}) {
			n := v.Normalize()
			check([]fixed.Num{v.X, v.Y}, []fixed.Num{n.X, n.Y})
		}
		if u != (fixed.Vec3{}) {
			n := u.Normalize()
			check([]fixed.Num{u.X, u.Y, u.Z}, []fixed.Num{n.X, n.Y, n.Z})
		}
	}
	for _, x := range edges {
		for _, y := range edges {
			if v := (fixed.Vec2{X: x, Y: y}); x|y != 0 {
				n := v.Normalize()
				check([]fixed.Num{x, y}, []fixed.Num{n.X, n.Y})
			}
		}
	}
	if (fixed.Vec2{}).Normalize() != (fixed.Vec2{}) || (fixed.Vec3{}).Normalize() != (fixed.Vec3{}) {
		t.Error("the zero vector must stay zero")
	}
}

// A speed limit that rounds up is a speed hack of one step a tick.
func TestLimitNeverExceedsItsLengthAndKeepsShorterVectors(t *testing.T) {
	shortened := 0
	g := args{24}
	for range rounds {
		v, limit := g.vec2(), g.num()
		got := v.Limit(limit)
		switch {
		case limit <= 0:
			if got != (fixed.Vec2{}) {
				t.Fatalf("%d.Limit(%d) = %d, want zero", v, limit, got)
			}
		case v.Len() <= limit && v.Len() < fixed.Max:
			if got != v {
				t.Fatalf("%d.Limit(%d) = %d, want it unchanged", v, limit, got)
			}
		default:
			shortened++
			if l := got.Len(); l > limit || l < limit-2 {
				t.Fatalf("%d.Limit(%d) has length %d", v, limit, l)
			}
			if got.Limit(limit) != got {
				t.Fatalf("%d.Limit(%d) is shortened further by a second call", v, limit)
			}
		}
	}
	if shortened < rounds/10 {
		t.Errorf("only %d of %d vectors were longer than their limit", shortened, rounds)
	}
}

func TestTurningAndMeasuringAnglesAgree(t *testing.T) {
	g := args{25}
	for range rounds {
		a, length := g.upTo(fixed.Pi), g.upTo(fixed.FromInt(1000)).Abs()+fixed.One
		v := fixed.FromAngle(a, length)
		if d := (v.Angle() - a).Abs(); d > 3 {
			t.Fatalf("FromAngle(%d, %d).Angle() is %d steps off", a, length, d)
		}
		// Its components are off by half a step and by the length times half a step.
		if d, bound := (v.Len() - length).Abs(), 2+fixed.Num(length.Int()); d > bound {
			t.Fatalf("FromAngle(%d, %d).Len() is %d steps off", a, length, d)
		}
		back := v.Rotate(a).Rotate(-a)
		if d, bound := back.Dist(v), 4+4*fixed.Num(length.Int()); d > bound {
			t.Fatalf("%d turned by %d and back is %d steps off", v, a, d)
		}
	}
	if got := (fixed.Vec2{X: fixed.One}).Rotate(fixed.HalfPi); got.Y != fixed.One || got.X.Abs() > 1 {
		t.Errorf("the x axis turned counter-clockwise by a quarter is %v, want the y axis", got)
	}
}

func TestVectorsAddScaleAndBlendByComponent(t *testing.T) {
	g := args{26}
	for range rounds / 4 {
		v, w, a, b, k := g.vec2(), g.vec2(), g.vec3(), g.vec3(), g.num()
		for _, c := range []struct {
			what string
			ok   bool
		}{
			{"Add", v.Add(w) == fixed.Vec2{X: v.X + w.X, Y: v.Y + w.Y} && v.Add(w).Sub(w) == v},
			{"Neg", v.Neg() == fixed.Vec2{X: v.X.Neg(), Y: v.Y.Neg()}},
			{"Scale", v.Scale(k) == fixed.Vec2{X: v.X.Mul(k), Y: v.Y.Mul(k)}},
			{"Lerp", v.Lerp(w, k) == fixed.Vec2{X: v.X.Lerp(w.X, k), Y: v.Y.Lerp(w.Y, k)}},
			{"Add3", a.Add(b) == fixed.Vec3{X: a.X + b.X, Y: a.Y + b.Y, Z: a.Z + b.Z} && a.Add(b).Sub(b) == a},
			{"Scale3", a.Scale(k) == fixed.Vec3{X: a.X.Mul(k), Y: a.Y.Mul(k), Z: a.Z.Mul(k)}},
			{"Lerp3", a.Lerp(b, k) == fixed.Vec3{X: a.X.Lerp(b.X, k), Y: a.Y.Lerp(b.Y, k), Z: a.Z.Lerp(b.Z, k)}},
		} {
			if !c.ok {
				t.Fatalf("%s fails for %d, %d, %d, %d, %d", c.what, v, w, a, b, k)
			}
		}
	}
}
