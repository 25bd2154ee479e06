// Package fixed is fixed-point arithmetic with square root, trigonometry and vectors that gives the same bits on every
// target.
//
// Go's floating point does not: products fuse with additions on arm64 and on amd64 at GOAMD64=v3, and Sin, Atan2 and Hypot
// differ between targets. A simulation that several machines compute must not depend on that. So its components hold a
// [Num], which is an int64 with 32 fractional bits:
//
//	type Body struct{ Pos, Vel fixed.Vec2 }
//
//	gravity := fixed.MustParse("-9.81")
//	dt := fixed.FromRatio(1, 60)
//	b.Vel.Y += gravity.Mul(dt)
//	b.Pos = b.Pos.Add(b.Vel.Scale(dt))
//
// # Rules
//
// Overflow, rounding and invalid arguments have one rule each, on every target:
//
//   - The operators +, - and unary - are Go's and wrap around like int64, and so do Add and Sub of vectors. Every other
//     operation saturates at [Min] and [Max].
//   - Results are rounded to the nearest Num, ties away from zero. A sum of products (Dot, Cross, Rotate, Lerp, Len) is
//     exact inside and rounded once.
//   - Nothing panics: a Num divided by zero saturates by its sign, 0/0 is 0, the square root of a negative Num is 0 and the
//     zero vector has direction zero. Only [MustParse] panics, since its argument is a constant of the program.
//
// Arithmetic, square roots and lengths are correctly rounded. Sin, Cos and Atan2 are within 0.501·2^-32 of the true value.
//
// # Tasks
//
//   - a number from an integer, a fraction or a decimal: [FromInt], [FromRatio], [MustParse], [Parse]
//   - product, quotient, wrapping into an interval: [Num.Mul], [Num.Div], [Num.Mod]
//   - whole numbers: [Num.Floor], [Num.Ceil], [Num.Round], [Num.Int]
//   - bounds and blends: [Num.Clamp], [Num.Lerp]
//   - roots and angles in radians: [Num.Sqrt], [Hypot], [Sin], [Cos], [SinCos], [Atan], [Atan2]
//   - vectors: [Vec2], [FromAngle], [Vec3]
//   - drawing and setup with floats: [Num.Float], [FromFloat]
//
// # What it is not
//
// It is not decimal, has no infinity and no NaN, and is no replacement for float64 outside a simulation. The operators *
// and / between two Nums compile, since a Num is an int64, and are almost never what was meant: use Mul and Div.
package fixed

//go:generate go test -run ^TestTablesAreWhatMathBigComputes$ -update .
