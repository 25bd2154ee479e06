package state

import "math"

// quaternion is a rotation: w, x, y and z in 1/2^fineBits of the numbers of a field.
type quaternion [4]int64

const fineBits = 6

// unpack returns the rotation in four scalars: the index of the part that is left out, and the other parts. scale stands for √½.
// ok is false for numbers that are no rotation.
func unpack(values []uint64, scale int64) (q quaternion, ok bool) {
	left, rest := values[0], lengthOf(scale)
	if left >= 4 {
		return q, false
	}
	for k, value := range values[1:4] {
		v := int64(value)
		if v > 2*scale || v < -2*scale {
			return q, false
		}
		v <<= fineBits
		q[partOf(k, int(left))] = v
		rest -= v * v
	}
	q[left] = root(max(rest, 0))
	return q, true
}

// lengthOf returns the square of the length of a quaternion.
func lengthOf(scale int64) int64 { return 2 * scale * scale << (2 * fineBits) }

// root returns the square root of a number below 2^52, rounded down. It is the same on every target, since math.Sqrt is
// exact to the last bit.
func root(v int64) int64 { return int64(math.Sqrt(float64(v))) }

// partOf returns the index of the part in scalar 1 + k of a rotation without part left, k in [0, 3). It has no branch, since it
// would be hard to predict.
func partOf(k, left int) int { return (k + int(uint64(left-k-1)>>63)) & 3 }

// pack sets the three scalars of the parts other than left, in the sign that makes left positive.
func (q *quaternion) pack(values []uint64, left int) {
	minus := q[left] >> 63
	for k := range 3 {
		v := q[partOf(k, left)]
		values[k] = uint64((v ^ minus - minus + 1<<(fineBits-1)) >> fineBits)
	}
}

// rebase changes the last three of four scalars so that the part with index left is left out. It does not set the index.
func rebase(values []uint64, scale int64, left uint64) {
	if q, ok := unpack(values, scale); ok && left < 4 {
		q.pack(values[1:4], int(left))
	}
}

func (q *quaternion) dot(p *quaternion) int64 {
	return q[0]*p[0] + q[1]*p[1] + q[2]*p[2] + q[3]*p[3]
}

// largest returns the index of the part of the greatest magnitude.
func (q *quaternion) largest() (at int) {
	for i, v := range q {
		if magnitude(v) > magnitude(q[at]) {
			at = i
		}
	}
	return at
}

// ratioBits is the number of fractional bits of the ratios below.
const ratioBits = 16

// turnOn continues the turn from b to a at the same angular speed, for factor times the time between them. length is lengthOf their
// scale. ok is false if factor is negative or above 8, or if the result has no length.
func turnOn(a, b *quaternion, factor, length int64) (q quaternion, ok bool) {
	const one = 1 << ratioBits
	if factor < 0 || factor > 8*one {
		return q, false
	}
	if a.dot(b) < 0 { // b is the same rotation with the other sign
		b = &quaternion{-b[0], -b[1], -b[2], -b[3]}
	}
	chord := quaternion{a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]}
	// On a circle, q is in proportion to a·sin((1 + f)θ) − b·sin(fθ), where θ is nearly the chord.
	bend := min((one+2*factor)*(chord.dot(&chord)<<ratioBits/length)>>ratioBits/6, one/2)
	forward := (one + factor) * (one - bend) >> ratioBits
	for i := range q {
		q[i] = (a[i]*forward - b[i]*factor) >> ratioBits
	}
	n := root(q.dot(&q))
	if n == 0 {
		return q, false
	}
	unit := root(length) << ratioBits / n
	for i := range q {
		q[i] = q[i] * unit >> ratioBits
	}
	return q, true
}

// predictRotation sets values to a rotation predicted from those at the second moment (from) and at the reference (to), and
// courses to its courses. All are four scalars. It sets nothing if one of them is no rotation.
func predictRotation(values []uint64, courses []course, scale int64, from, to []uint64, factor int64) {
	a, ok := unpack(to, scale)
	b, ok2 := unpack(from, scale)
	if !ok || !ok2 {
		return
	}
	q, ok := turnOn(&a, &b, factor>>(factorBits-ratioBits), lengthOf(scale))
	if !ok {
		return
	}
	left := q.largest()
	q.pack(values[1:4], left)
	values[0] = uint64(left)
	for k := range 3 {
		i := partOf(k, left)
		courses[1+k] = courseOf((q[i] - a[i]) >> fineBits)
		courses[1+k].sign *= signOf(q[left])
	}
}
