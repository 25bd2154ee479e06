package state

import "math"

// quaternion is a rotation: the first part, and the other three in the order w, x, y, z. Its unit is 1/2^fineBits of the unit of a
// field. Only moved depends on the index of the first part.
type quaternion struct{ first, a, b, c int64 }

const fineBits = 6

// unpack returns the rotation in four scalars: the index of the part that is left out, and the other parts. The part that is left out
// is the first. scale stands for √½. ok is false for numbers that are no rotation.
func unpack(values []uint64, scale int64) (q quaternion, ok bool) {
	values = values[:4]
	q.a, q.b, q.c = int64(values[1]), int64(values[2]), int64(values[3])
	if values[0] >= 4 || max(q.a, q.b, q.c) > 2*scale || min(q.a, q.b, q.c) < -2*scale {
		return q, false
	}
	q.a, q.b, q.c = q.a<<fineBits, q.b<<fineBits, q.c<<fineBits
	q.first = root(max(lengthOf(scale)-q.dot(q), 0))
	return q, true
}

// lengthOf returns the square of the length of a quaternion.
func lengthOf(scale int64) int64 { return 2 * scale * scale << (2 * fineBits) }

// root returns the square root of a number below 2^52, rounded down. It is the same on every target, since math.Sqrt is
// exact to the last bit.
func root(v int64) int64 { return int64(math.Sqrt(float64(v))) }

// moved returns a rotation whose first part has index from with the one of index to as the first.
func (q quaternion) moved(from, to int) quaternion {
	if from == to {
		return q
	}
	var parts [4]int64
	parts[from], parts[partOf(0, from)], parts[partOf(1, from)], parts[partOf(2, from)] = q.first, q.a, q.b, q.c
	return quaternion{parts[to], parts[partOf(0, to)], parts[partOf(1, to)], parts[partOf(2, to)]}
}

// partOf returns the index of part k of the parts other than first, k in [0, 3).
func partOf(k, first int) int {
	if k >= first {
		k++
	}
	return k & 3
}

// pack sets the three scalars of the parts other than the first, in the sign that makes the first positive.
func (q quaternion) pack(values []uint64) {
	q = q.times(signOf(q.first))
	const half = 1 << (fineBits - 1)
	values[0], values[1], values[2] = uint64((q.a+half)>>fineBits), uint64((q.b+half)>>fineBits), uint64((q.c+half)>>fineBits)
}

// rebase changes the last three of four scalars so that the part with index left is left out. It does not set the index.
func rebase(values []uint64, scale int64, left uint64) {
	if q, ok := unpack(values, scale); ok && left < 4 {
		q.moved(int(values[0]), int(left)).pack(values[1:4])
	}
}

func (q quaternion) dot(p quaternion) int64 {
	return q.first*p.first + q.a*p.a + q.b*p.b + q.c*p.c
}

func (q quaternion) times(n int64) quaternion {
	return quaternion{q.first * n, q.a * n, q.b * n, q.c * n}
}

func (q quaternion) minus(p quaternion) quaternion {
	return quaternion{q.first - p.first, q.a - p.a, q.b - p.b, q.c - p.c}
}

func (q quaternion) shifted(n int) quaternion {
	return quaternion{q.first >> n, q.a >> n, q.b >> n, q.c >> n}
}

// largest returns the index of the part of the greatest magnitude. first is that of the first part.
func (q quaternion) largest(first int) (at int) {
	if magnitude(q.first) > max(magnitude(q.a), magnitude(q.b), magnitude(q.c)) {
		return first
	}
	q = q.moved(first, 0)
	for i, v := range [...]int64{q.first, q.a, q.b, q.c} {
		if most := [...]int64{q.first, q.a, q.b, q.c}[at]; magnitude(v) > magnitude(most) {
			at = i
		}
	}
	return at
}

// ratioBits is the number of fractional bits of the ratios below.
const ratioBits = 16

// turnOn continues the turn from b to a at the same angular speed, for factor times the time between them. length is lengthOf their
// scale. ok is false if factor is negative or above 8, or if the result has no length.
func turnOn(a, b quaternion, factor, length int64) (q quaternion, ok bool) {
	const one = 1 << ratioBits
	if factor < 0 || factor > 8*one {
		return q, false
	}
	b = b.times(signOf(a.dot(b))) // it may be the same rotation with the other sign
	chord := a.minus(b)
	// On a circle, q is in proportion to a·sin((1 + f)θ) − b·sin(fθ), where θ is nearly the chord.
	bend := min((one+2*factor)*(chord.dot(chord)<<ratioBits/length)>>ratioBits/6, one/2)
	forward := (one + factor) * (one - bend) >> ratioBits
	q = a.times(forward).minus(b.times(factor)).shifted(ratioBits)
	n := root(q.dot(q))
	if n == 0 {
		return q, false
	}
	return q.times(root(length) << ratioBits / n).shifted(ratioBits), true
}

// predictRotation sets values to a rotation predicted from those at the second moment (from) and at the reference (to), and
// courses to its courses. All are four scalars. It returns false and sets nothing if one of them is no rotation.
func predictRotation(values []uint64, courses []course, scale int64, from, to []uint64, factor int64) (ok bool) {
	a, ok := unpack(to, scale)
	b, ok2 := unpack(from, scale)
	if !ok || !ok2 {
		return false
	}
	left := int(to[0])
	q, ok := turnOn(a, b.moved(int(from[0]), left), factor>>(factorBits-ratioBits), lengthOf(scale))
	if !ok {
		return false
	}
	largest := q.largest(left)
	a, q = a.moved(left, largest), q.moved(left, largest)
	values[0] = uint64(largest)
	q.pack(values[1:4])
	turn, sign := q.minus(a).shifted(fineBits), int32(signOf(q.first))
	for k, by := range [...]int64{turn.a, turn.b, turn.c} {
		courses[1+k] = courseOf(by)
		courses[1+k].sign *= sign
	}
	return true
}
