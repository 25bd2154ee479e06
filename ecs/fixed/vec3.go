package fixed

import "math/bits"

// Vec3 is a point or a direction in space. It is plain data, comparable with ==, and its zero value is the origin.
type Vec3 struct{ X, Y, Z Num }

// Add returns v + w; it wraps.
func (v Vec3) Add(w Vec3) Vec3 { return Vec3{v.X + w.X, v.Y + w.Y, v.Z + w.Z} }

// Sub returns v - w; it wraps.
func (v Vec3) Sub(w Vec3) Vec3 { return Vec3{v.X - w.X, v.Y - w.Y, v.Z - w.Z} }

// Scale returns v·k.
func (v Vec3) Scale(k Num) Vec3 { return Vec3{v.X.Mul(k), v.Y.Mul(k), v.Z.Mul(k)} }

// Dot returns the scalar product.
func (v Vec3) Dot(w Vec3) Num {
	var s sum
	s.add(product(v.X, w.X))
	s.add(product(v.Y, w.Y))
	s.add(product(v.Z, w.Z))
	return s.num()
}

// Cross returns the vector product, by the right-hand rule.
func (v Vec3) Cross(w Vec3) Vec3 {
	return Vec3{
		Vec2{v.Y, v.Z}.Cross(Vec2{w.Y, w.Z}),
		Vec2{v.Z, v.X}.Cross(Vec2{w.Z, w.X}),
		Vec2{v.X, v.Y}.Cross(Vec2{w.X, w.Y}),
	}
}

// Len returns the length; its squares cannot overflow. Only a length of 2^31 or more saturates.
func (v Vec3) Len() Num { return length(norm3(magnitude(v.X), magnitude(v.Y), magnitude(v.Z))) }

// Normalize returns the vector of length 1 in the direction of v, each component rounded to nearest. The zero vector stays
// zero.
func (v Vec3) Normalize() Vec3 {
	x, y, z := magnitude(v.X), magnitude(v.Y), magnitude(v.Z)
	if x|y|z == 0 {
		return Vec3{}
	}
	up := headroom(x | y | z)
	x, y, z = x<<up, y<<up, z<<up
	n := norm3(x, y, z)
	return Vec3{signed(ratio(x, n), v.X), signed(ratio(y, n), v.Y), signed(ratio(z, n), v.Z)}
}

// Lerp returns v at t = 0, w at t = One, and what lies on their line between and beyond.
func (v Vec3) Lerp(w Vec3, t Num) Vec3 {
	return Vec3{v.X.Lerp(w.X, t), v.Y.Lerp(w.Y, t), v.Z.Lerp(w.Z, t)}
}

// norm3 returns √(x²+y²+z²), rounded to nearest, for x, y and z up to 2^63.
func norm3(x, y, z uint64) uint64 {
	hi, lo := bits.Mul64(x, x)
	hi, lo = addSquare(hi, lo, y)
	hi, lo = addSquare(hi, lo, z)
	if hi|lo == 0 {
		return 0
	}
	return root(hi, lo)
}
