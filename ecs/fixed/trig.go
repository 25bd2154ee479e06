package fixed

import "math/bits"

// Angles are Nums in radians, counter-clockwise from the positive x axis. Sines and arc tangents come from tables
// (tables.go) with a short series between the entries, in 62 to 64 fractional bits. They are rounded to a Num once, at the
// end. Before that rounding the error stays below 2^-42.

// quarter is a quarter turn of phase.
const quarter = 1 << 62

// Sin returns the sine of an angle. Sin(-a) is exactly -Sin(a).
func Sin(a Num) Num {
	sign := a >> 63
	return phaseSin(phase(a)) ^ sign - sign
}

// Cos returns the cosine of an angle. Cos(-a) is exactly Cos(a).
func Cos(a Num) Num { return phaseSin(phase(a) + quarter) }

// SinCos returns Sin(a) and Cos(a).
func SinCos(a Num) (sin, cos Num) {
	p, sign := phase(a), a>>63
	return phaseSin(p) ^ sign - sign, phaseSin(p + quarter)
}

// Atan returns the angle of slope a, in [-π/2, π/2].
func Atan(a Num) Num { return Atan2(a, One) }

// Atan2 returns the angle of the point (x, y), in [-Pi, Pi]: Pi on the negative x axis, 0 at the origin. Atan2(-y, x) is
// exactly -Atan2(y, x) where y is not 0.
func Atan2(y, x Num) Num {
	ux, uy := magnitude(x), magnitude(y)
	var angle uint64 // in units of 2^-62
	switch {
	case ux|uy == 0:
		return 0
	case uy < ux:
		angle = arctan(uy, ux)
	case uy > ux:
		angle = quarterTurn - arctan(ux, uy)
	default:
		angle = quarterTurn / 2
	}
	if x < 0 {
		angle = halfTurn - angle
	}
	return signed((angle+1<<29)>>30, y)
}

// Hypot returns √(x²+y²), rounded to nearest and saturated; the squares cannot overflow.
func Hypot(x, y Num) Num { return Vec2{x, y}.Len() }

// phase returns |a| as a fraction of a turn, modulo one turn, in units of 2^-64: even of 2^31 radians only its last bit is
// in doubt.
func phase(a Num) uint64 {
	m := magnitude(a)
	return m*phaseHi + high(m, phaseLo)
}

// phaseSin returns the sine of a phase, s·cos h + c·sin h. Here s and c are the sine and cosine at the start of the phase's
// interval, and h is the rest in radians. cos h = 1 - h²/2 + h⁴/24 and sin h = h - h³/6. As h < π/512, the series' next
// terms are below 2^-53 and 2^-43.
func phaseSin(p uint64) Num {
	z := p & (2*quarter - 1)
	if z > quarter {
		z = 2*quarter - z
	}
	i := z >> 54
	h := high(z<<10, stepRadians)
	h2 := high(h, h)
	versine := h2>>1 - high(h2, h2)/24 // 1 - cos h
	sine := h - high(h, h2)/6
	s, c := sinTable[i], sinTable[sinSteps-i]
	n := Num((s - high(s, versine) + high(c, sine) + 1<<30) >> 31)
	if p >= 2*quarter {
		return -n
	}
	return n
}

// arctan returns the angle of slope n/d for n < d, in units of 2^-62. Let t0 be the start of the slope's interval and δ =
// (t-t0)/(1+t·t0). Then atan t = atan t0 + atan δ, and atan δ = δ - δ³/3. As δ < 2^-8, the series' next term is below
// 2^-42.
func arctan(n, d uint64) uint64 {
	t, _ := bits.Div64(n, 0, d)
	i := t >> 56
	rest := t & (1<<56 - 1)
	delta, _ := bits.Div64(rest>>1, rest<<63, 1<<63+t>>9*i)
	cube := high(delta, high(delta, delta))
	return atanTable[i] + (delta-cube/3)>>2
}
