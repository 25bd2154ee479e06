package interest

import (
	"math/bits"

	"tendon/ecs/fixed"
)

// reach is a bound that distances are compared with exactly: squares have 128 bits, so none overflows or is rounded. dist
// is at most 2^62 Epsilons, so that the sum of three squares fits.
type reach struct {
	dist   uint64 // in Epsilons, rounded down
	hi, lo uint64 // the greatest square within, in squares of an Epsilon
}

// within returns the reach of all distances up to d.
func within(d fixed.Num) reach {
	hi, lo := bits.Mul64(uint64(d), uint64(d))
	return reach{uint64(d), hi, lo}
}

// belowHalf returns the reach of all distances less than d/2: those whose square is at most (d²−1)/4.
func belowHalf(d fixed.Num) reach {
	hi, lo := bits.Mul64(uint64(d), uint64(d))
	lo, borrow := bits.Sub64(lo, 1, 0)
	hi -= borrow
	return reach{uint64(d) / 2, hi >> 2, hi<<62 | lo>>2}
}

func (r *reach) covers(a, b *fixed.Vec3) bool {
	x, y, z := difference(a.X, b.X), difference(a.Y, b.Y), difference(a.Z, b.Z)
	if x > r.dist || y > r.dist || z > r.dist {
		return false
	}
	hi, lo := bits.Mul64(x, x)
	hy, ly := bits.Mul64(y, y)
	hz, lz := bits.Mul64(z, z)
	lo, carry := bits.Add64(lo, ly, 0)
	hi, _ = bits.Add64(hi, hy, carry)
	lo, carry = bits.Add64(lo, lz, 0)
	hi, _ = bits.Add64(hi, hz, carry)
	return hi < r.hi || hi == r.hi && lo <= r.lo
}

// difference returns |a−b|, which needs 64 bits without a sign.
func difference(a, b fixed.Num) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// distance returns the length of a−b, or fixed.Max if a Num cannot hold it.
func distance(a, b *fixed.Vec3) fixed.Num {
	x, y, z := difference(a.X, b.X), difference(a.Y, b.Y), difference(a.Z, b.Z)
	if (x|y|z)>>63 != 0 {
		return fixed.Max
	}
	return fixed.Vec3{X: fixed.Num(x), Y: fixed.Num(y), Z: fixed.Num(z)}.Len()
}
