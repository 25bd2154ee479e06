package fixed

import (
	"math"
	"math/bits"
)

// Num is a number with 32 fractional bits: the Num n stands for n / 2^32. It ranges over [-2^31, 2^31) in steps of 2^-32
// (about 0.23 billionths), and its zero value is zero. It is plain data and may stand in any component or input.
type Num int64

// Constants of type Num. Pi, Tau and HalfPi are each the nearest Num to the true value, so Tau and 2*Pi differ by one
// Epsilon.
const (
	Epsilon Num = 1 // the smallest step, 2^-32
	One     Num = 1 << fracBits
	Half    Num = One / 2
	Min     Num = math.MinInt64 // -2^31
	Max     Num = math.MaxInt64 // 2^31 - 2^-32
	Pi      Num = 13493037705
	Tau     Num = 26986075409
	HalfPi  Num = 6746518852
)

const (
	fracBits = 32
	fracMask = One - 1
	// halfUlp is half an Epsilon in a product of two Nums, which has 64 fractional bits.
	halfUlp = 1 << (fracBits - 1)
)

// FromInt returns i as a Num. It saturates outside [-2^31, 2^31), which a 32-bit int cannot leave.
func FromInt(i int) Num {
	n := Num(i)
	if n<<fracBits>>fracBits != n {
		return saturated(int64(n))
	}
	return n << fracBits
}

// FromRatio returns num/den, rounded to nearest. It follows the rules of [Num.Div]: it saturates, and 0/0 is 0.
func FromRatio(num, den int64) Num { return Num(num).Div(Num(den)) }

// FromFloat returns the Num nearest to f; it is exact when f is a Num. It saturates, and NaN becomes 0.
//
// It is meant for setup constants and for values that come back from a view. A float that was itself computed may differ
// between targets; in a simulation write [MustParse] or [FromRatio] instead.
func FromFloat(f float64) Num {
	r := math.Round(f * (1 << fracBits)) // scaling by a power of two is exact
	switch {
	case r != r:
		return 0
	case r >= 1<<63:
		return Max
	case r < -1<<63:
		return Min
	}
	return Num(r)
}

// Float returns the float64 nearest to a, for drawing. It is exact for numbers of up to 53 significant bits, which includes
// all of [-2^20, 2^20].
func (a Num) Float() float64 { return float64(a) / (1 << fracBits) }

// Mul returns a·b, rounded and saturated.
func (a Num) Mul(b Num) Num {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	hi -= uint64(a>>63&b + b>>63&a) // from the unsigned product to the signed one
	lo, carry := bits.Add64(lo, uint64(halfUlp+int64(hi)>>63), 0)
	hi += carry
	if n := Num(hi<<32 | lo>>32); n>>63 == Num(hi)>>31 {
		return n
	}
	return Max ^ Num(hi)>>63
}

// Div returns a/b, rounded and saturated. A division by zero saturates by the sign of a; 0/0 is 0.
func (a Num) Div(b Num) Num {
	n, d := magnitude(a), magnitude(b)
	sign := (a ^ b) >> 63
	if n>>31 >= d { // |a/b| ≥ 2^31, or b is zero
		if a == 0 {
			return 0
		}
		return Max ^ sign
	}
	// Below 2^31 the quotient of two 64-bit integers is too far below to be rounded up to it.
	return Num(ratio(n, d)) ^ sign - sign
}

// Mod returns a - b·⌊a/b⌋, exactly. The result has the sign of b and lies in [0, b) for a positive b. So x.Mod(width) wraps
// a position into a torus, and a.Mod(Tau) an angle into a turn. Mod by zero is 0. (The operator % truncates: its result has
// the sign of a, and by zero it panics.)
func (a Num) Mod(b Num) Num {
	if b == 0 {
		return 0
	}
	r := a % b
	if r != 0 && r^b < 0 {
		r += b
	}
	return r
}

// Neg returns -a; the negative of Min is Max.
func (a Num) Neg() Num {
	if a == Min {
		return Max
	}
	return -a
}

// Abs returns |a|; that of Min is Max.
func (a Num) Abs() Num {
	if a < 0 {
		return a.Neg()
	}
	return a
}

// Floor returns the greatest whole number not above a.
func (a Num) Floor() Num { return a &^ fracMask }

// Ceil returns the least whole number not below a. Above 2^31-1 there is none and the result is Max.
func (a Num) Ceil() Num {
	if a > Max-fracMask {
		return Max
	}
	return (a + fracMask).Floor()
}

// Round returns the nearest whole number, ties away from zero. From 2^31-0.5 upwards there is none and the result is Max.
func (a Num) Round() Num {
	if a >= Max-Half+1 {
		return Max
	}
	return (a + Half + a>>63).Floor()
}

// Int returns ⌊a⌋ as an int. It fits on every target.
func (a Num) Int() int { return int(a >> fracBits) }

// Clamp returns the number nearest to a in [lo, hi]. When lo > hi it returns hi.
func (a Num) Clamp(lo, hi Num) Num { return min(max(a, lo), hi) }

// Lerp returns a + (b-a)·t: a at t = 0, b at t = One, and beyond them for t outside [0, One]. It is rounded once and
// saturated; b-a cannot overflow.
func (a Num) Lerp(b, t Num) Num {
	var s sum
	s.add(product(b, t))
	s.sub(product(a, t))
	s.add(product(a, One))
	return s.num()
}

// Sqrt returns the square root of a, rounded to nearest. That of a negative number is 0.
func (a Num) Sqrt() Num {
	if a <= 0 {
		return 0
	}
	return Num(root(uint64(a)>>32, uint64(a)<<32))
}
