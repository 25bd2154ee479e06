package fixed

import "math/bits"

// sum adds signed products of two Nums, exactly, and rounds once at the end. It holds the sum modulo 2^128 in units of
// 2^-64. It takes up to three terms, each in [-2^126, 2^126]. Together they may leave the signed 128 bits but cannot wrap
// into the range of a Num. So coarse, a quarter of the sum of the high words, need only decide the sign of a saturated
// result.
type sum struct {
	hi, lo uint64
	coarse int64
}

func (s *sum) add(hi, lo uint64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
	s.coarse += int64(hi) >> 2
}

func (s *sum) sub(hi, lo uint64) {
	var borrow uint64
	s.lo, borrow = bits.Sub64(s.lo, lo, 0)
	s.hi, _ = bits.Sub64(s.hi, hi, borrow)
	s.coarse -= int64(hi) >> 2
}

// num returns the sum as a Num, rounded to nearest with ties away from zero, and saturated.
func (s *sum) num() Num {
	lo, carry := bits.Add64(s.lo, uint64(halfUlp+int64(s.hi)>>63), 0)
	hi := s.hi + carry
	if n := Num(hi<<32 | lo>>32); n>>63 == Num(hi)>>31 {
		return n
	}
	return saturated(s.coarse)
}

// product returns a·b as a signed 128-bit number in units of 2^-64.
func product(a, b Num) (hi, lo uint64) {
	hi, lo = bits.Mul64(uint64(a), uint64(b))
	return hi - uint64(a>>63&b+b>>63&a), lo
}

// saturated returns Min for a negative sign and Max otherwise.
func saturated(sign int64) Num { return Max ^ Num(sign>>63) }

// magnitude returns |a|, which is 2^63 for Min.
func magnitude(a Num) uint64 {
	sign := uint64(a >> 63)
	return uint64(a) ^ sign - sign
}

// signed returns m with the sign of like. m must not exceed 2^63-1.
func signed(m uint64, like Num) Num {
	sign := like >> 63
	return Num(m) ^ sign - sign
}

// ratio returns n/d with 32 fractional bits, rounded to nearest with ties up. The caller guarantees n>>31 < d, so that
// neither the quotient nor its rounding overflows.
func ratio(n, d uint64) uint64 {
	q, r := bits.Div64(n>>32, n<<32, d)
	if r >= d-r {
		q++
	}
	return q
}

// high returns the upper half of a·b: the product of two fractions of 64 bits.
func high(a, b uint64) uint64 {
	hi, _ := bits.Mul64(a, b)
	return hi
}

// addSquare returns (hi, lo) + m².
func addSquare(hi, lo, m uint64) (uint64, uint64) {
	sqHi, sqLo := bits.Mul64(m, m)
	lo, carry := bits.Add64(lo, sqLo, 0)
	hi, _ = bits.Add64(hi, sqHi, carry)
	return hi, lo
}

// root returns the integer nearest to the square root of the 128-bit number (hi, lo), which must not be zero nor exceed
// 3·2^126. There are no ties.
//
// Heron's step u ← (u + n/u)/2 doubles the good bits of u. Starting from a table it goes from 8 to 16, 32 and 64 bits. Each
// step takes an error below one unit of its u to an error below one unit of the next. With e < 1 the step overshoots by
// e²·2^(b-1)/u ≤ 1, since u ≥ 2^(b-1). The division truncates by less than 1.
func root(hi, lo uint64) uint64 {
	shift := uint(bits.LeadingZeros64(hi))
	if hi == 0 {
		shift = 64 + uint(bits.LeadingZeros64(lo))
	}
	shift &^= 1 // an even shift by 2k is undone by k bits of the root
	switch {
	case shift >= 64:
		hi, lo = lo<<(shift-64), 0
	case shift > 0:
		hi, lo = hi<<shift|lo>>(64-shift), lo<<shift
	}

	u := uint64(rootTable[hi>>56-64])
	u = u<<7 + (hi>>41)/u
	u = u<<15 + (hi>>17)/u
	q, _ := bits.Div64(hi>>33, hi<<31|lo>>33, u)
	u = u<<31 + q
	// One too many is possible, and next to 2^64 it has wrapped to zero.
	if sqHi, sqLo := bits.Mul64(u, u); u == 0 || above(sqHi, sqLo, hi, lo) {
		u--
	}
	// u is now the root's floor; round what the shift appended, or, when it appended nothing, compare with (u + 1/2)² less
	// the quarter.
	if k := shift / 2; k > 0 {
		return u>>k + u>>(k-1)&1
	}
	if midHi, midLo := bits.Mul64(u, u+1); above(hi, lo, midHi, midLo) {
		u++
	}
	return u
}

// above reports whether (aHi, aLo) > (bHi, bLo).
func above(aHi, aLo, bHi, bLo uint64) bool {
	return aHi > bHi || aHi == bHi && aLo > bLo
}
