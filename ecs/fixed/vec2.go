package fixed

import "math/bits"

// Vec2 is a point or a direction in the plane. It is plain data, comparable with ==, and its zero value is the origin.
type Vec2 struct{ X, Y Num }

// FromAngle returns the vector of that angle, in radians, and length.
func FromAngle(angle, length Num) Vec2 {
	sin, cos := SinCos(angle)
	return Vec2{cos.Mul(length), sin.Mul(length)}
}

// Add returns v + w; it wraps.
func (v Vec2) Add(w Vec2) Vec2 { return Vec2{v.X + w.X, v.Y + w.Y} }

// Sub returns v - w; it wraps.
func (v Vec2) Sub(w Vec2) Vec2 { return Vec2{v.X - w.X, v.Y - w.Y} }

// Neg returns -v.
func (v Vec2) Neg() Vec2 { return Vec2{v.X.Neg(), v.Y.Neg()} }

// Scale returns v·k.
func (v Vec2) Scale(k Num) Vec2 { return Vec2{v.X.Mul(k), v.Y.Mul(k)} }

// Dot returns the scalar product.
func (v Vec2) Dot(w Vec2) Num {
	var s sum
	s.add(product(v.X, w.X))
	s.add(product(v.Y, w.Y))
	return s.num()
}

// Cross returns the third component of the vector product: positive when w lies counter-clockwise of v.
func (v Vec2) Cross(w Vec2) Num {
	var s sum
	s.add(product(v.X, w.Y))
	s.sub(product(v.Y, w.X))
	return s.num()
}

// Len returns the length; its squares cannot overflow. Only a length of 2^31 or more saturates.
func (v Vec2) Len() Num { return length(v.norm()) }

// LenSq returns the length's square. It saturates from a length of about 46341 on: compare lengths where vectors may be
// longer than that.
func (v Vec2) LenSq() Num { return v.Dot(v) }

// Dist returns the distance between two points, wherever they are: their difference cannot overflow.
func (v Vec2) Dist(w Vec2) Num {
	dx, dy := apart(v.X, w.X), apart(v.Y, w.Y)
	if (dx|dy)>>63 != 0 {
		return Max
	}
	return length(norm3(dx, dy, 0))
}

// Normalize returns the vector of length 1 in the direction of v, each component rounded to nearest. It is as exact for the
// shortest vectors as for the longest. The zero vector stays zero.
func (v Vec2) Normalize() Vec2 {
	x, y := magnitude(v.X), magnitude(v.Y)
	if x|y == 0 {
		return Vec2{}
	}
	up := headroom(x | y)
	x, y = x<<up, y<<up
	n := norm3(x, y, 0)
	return Vec2{signed(ratio(x, n), v.X), signed(ratio(y, n), v.Y)}
}

// Limit returns v, shortened to length max when it is longer. Components are cut towards zero, so the result's Len never
// exceeds max. A max of zero or less gives the zero vector.
func (v Vec2) Limit(max Num) Vec2 {
	if max <= 0 {
		return Vec2{}
	}
	n := v.norm()
	if n <= uint64(max) {
		return v
	}
	return Vec2{shortened(v.X, max, n), shortened(v.Y, max, n)}
}

// Lerp returns v at t = 0, w at t = One, and what lies on their line between and beyond.
func (v Vec2) Lerp(w Vec2, t Num) Vec2 { return Vec2{v.X.Lerp(w.X, t), v.Y.Lerp(w.Y, t)} }

// Rotate returns v turned counter-clockwise by an angle in radians. A direction that is kept over many ticks should be kept
// as an angle: rotating the rotated vector gathers rounding errors.
func (v Vec2) Rotate(angle Num) Vec2 {
	sin, cos := SinCos(angle)
	return Vec2{v.Dot(Vec2{cos, -sin}), v.Dot(Vec2{sin, cos})}
}

// Angle returns the direction of v in radians, in [-Pi, Pi]; that of the zero vector is 0.
func (v Vec2) Angle() Num { return Atan2(v.Y, v.X) }

func (v Vec2) norm() uint64 { return norm3(magnitude(v.X), magnitude(v.Y), 0) }

// length saturates a norm.
func length(n uint64) Num { return Num(min(n, uint64(Max))) }

// apart returns |a-b|, which needs 64 bits without a sign.
func apart(a, b Num) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// headroom returns how far magnitudes, of which m is the union, can be shifted up for norm3.
func headroom(m uint64) uint { return uint(max(bits.LeadingZeros64(m), 1) - 1) }

// shortened returns a·max/n cut towards zero. The caller guarantees |a| ≤ n and 0 < max < n.
func shortened(a, max Num, n uint64) Num {
	hi, lo := bits.Mul64(magnitude(a), uint64(max))
	q, _ := bits.Div64(hi, lo, n)
	return signed(q, a)
}
