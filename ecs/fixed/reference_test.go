package fixed_test

import (
	"math/big"

	"tendon/ecs/fixed"
)

// The reference is math/big: integers and rationals for arithmetic, and for the
// trigonometry our own series at 256 bits, far beyond the 32 that are compared.

const refPrec = 256

var (
	refPi  = machinPi()
	refTau = real().Mul(real().SetInt64(2), refPi)
)

func real() *big.Float { return new(big.Float).SetPrec(refPrec) }

func realOf(a fixed.Num) *big.Float {
	return scaleBy(real().SetInt64(int64(a)), -32)
}

func scaleBy(x *big.Float, exp int) *big.Float { return real().SetMantExp(x, exp) }

// rawError returns |got - want| in units of 2^-32.
func rawError(got fixed.Num, want *big.Float) float64 {
	d := real().Sub(realOf(got), want)
	f, _ := scaleBy(d.Abs(d), 32).Float64()
	return f
}

// tiny reports whether a series term no longer matters.
func tiny(term *big.Float) bool { return term.Sign() == 0 || term.MantExp(nil) < -refPrec }

// machinPi is 16·atan(1/5) - 4·atan(1/239).
func machinPi() *big.Float {
	inverse := func(n int64) *big.Float { return real().Quo(real().SetInt64(1), real().SetInt64(n)) }
	a := real().Mul(real().SetInt64(16), atanSeries(inverse(5)))
	b := real().Mul(real().SetInt64(4), atanSeries(inverse(239)))
	return a.Sub(a, b)
}

// atanSeries is x - x³/3 + x⁵/5 - …
func atanSeries(x *big.Float) *big.Float {
	total, power := real(), real().Set(x)
	minusSquare := real().Mul(x, x)
	minusSquare.Neg(minusSquare)
	for n := int64(1); !tiny(power); n += 2 {
		total.Add(total, real().Quo(power, real().SetInt64(n)))
		power.Mul(power, minusSquare)
	}
	return total
}

// refAtan halves the angle thrice, atan x = 2·atan(x/(1+√(1+x²))), for x in [0, 1].
func refAtan(x *big.Float) *big.Float {
	one, r := real().SetInt64(1), real().Set(x)
	for range 3 {
		d := real().Mul(r, r)
		d.Sqrt(d.Add(d, one))
		r.Quo(r, d.Add(d, one))
	}
	return scaleBy(atanSeries(r), 3)
}

// refAtan2 is the angle of (x, y), which must not be the origin.
func refAtan2(y, x *big.Float) *big.Float {
	ay, ax := real().Abs(y), real().Abs(x)
	var angle *big.Float
	if ay.Cmp(ax) <= 0 {
		angle = refAtan(real().Quo(ay, ax))
	} else {
		angle = refAtan(real().Quo(ax, ay))
		angle.Sub(scaleBy(refPi, -1), angle)
	}
	if x.Sign() < 0 {
		angle.Sub(refPi, angle)
	}
	if y.Sign() < 0 {
		angle.Neg(angle)
	}
	return angle
}

// refSin reduces x to [-π, π], takes a sixteenth and undoes that by
// sin 2x = 2·sin x·cos x.
func refSin(x *big.Float) *big.Float {
	s, _ := refSinCos(x)
	return s
}

func refSinCos(x *big.Float) (sin, cos *big.Float) {
	turns := real().Quo(x, refTau)
	half := real().SetFloat64(0.5)
	if x.Sign() < 0 {
		half.Neg(half)
	}
	whole, _ := turns.Add(turns, half).Int(nil)
	r := real().Sub(x, real().Mul(real().SetInt(whole), refTau))
	r = scaleBy(r, -4)

	one := real().SetInt64(1)
	sin, cos = real(), real()
	term := real().Set(one)
	for n := int64(1); !tiny(term); n++ {
		switch n % 4 {
		case 1:
			cos.Add(cos, term)
		case 2:
			sin.Add(sin, term)
		case 3:
			cos.Sub(cos, term)
		case 0:
			sin.Sub(sin, term)
		}
		term.Mul(term, r)
		term.Quo(term, real().SetInt64(n))
	}
	for range 4 {
		s := real().Mul(sin, cos)
		c := real().Mul(cos, cos)
		sin, cos = scaleBy(s, 1), c.Sub(scaleBy(c, 1), one)
	}
	return sin, cos
}

// refRound is the integer nearest to n/d, ties away from zero, for d ≠ 0.
func refRound(n, d *big.Int) *big.Int {
	negative := n.Sign()*d.Sign() < 0
	n, d = new(big.Int).Abs(n), new(big.Int).Abs(d)
	q := new(big.Int).Lsh(n, 1)
	q.Add(q, d)
	q.Div(q, d.Lsh(d, 1))
	if negative {
		q.Neg(q)
	}
	return q
}

// refNum saturates an integer of units 2^-32.
func refNum(n *big.Int) fixed.Num {
	switch {
	case n.IsInt64():
		return fixed.Num(n.Int64())
	case n.Sign() < 0:
		return fixed.Min
	}
	return fixed.Max
}

func integer(a fixed.Num) *big.Int { return big.NewInt(int64(a)) }

// refSum is the rounded, saturated sum of products a0·b0 + a1·b1 + ….
func refSum(factors ...fixed.Num) fixed.Num {
	total := new(big.Int)
	for i := 0; i < len(factors); i += 2 {
		total.Add(total, new(big.Int).Mul(integer(factors[i]), integer(factors[i+1])))
	}
	return refNum(refRound(total, new(big.Int).Lsh(big.NewInt(1), 32)))
}

// refRoot is the integer nearest to √n.
func refRoot(n *big.Int) *big.Int {
	r := new(big.Int).Sqrt(new(big.Int).Lsh(n, 2)) // ⌊2√n⌋
	r.Add(r, big.NewInt(1))
	return r.Rsh(r, 1)
}
