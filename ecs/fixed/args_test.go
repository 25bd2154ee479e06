package fixed_test

import (
	"math/bits"

	"tendon/ecs/fixed"
)

// args is a seeded stream of arguments (splitmix64), the same on every target and
// in every Go release. Its numbers are of all lengths, with a fair share of edges,
// since uniform int64s would nearly all be huge.
type args struct{ state uint64 }

func (g *args) bits() uint64 {
	g.state += 0x9e3779b97f4a7c15
	z := g.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

var edges = [...]fixed.Num{
	0, 1, -1, 2, -2, 3, fixed.Half, -fixed.Half, fixed.Half - 1, fixed.Half + 1,
	fixed.One, -fixed.One, fixed.One - 1, fixed.One + 1, -fixed.One - 1, 2 * fixed.One,
	fixed.Pi, -fixed.Pi, fixed.HalfPi, -fixed.HalfPi, fixed.Tau, -fixed.Tau,
	fixed.Max, fixed.Max - 1, fixed.Min, fixed.Min + 1, fixed.Max / 2, fixed.Min / 2,
	fixed.Max - fixed.Half, fixed.Max - fixed.One + 2, fixed.Max - fixed.Half + 1, fixed.Max - fixed.One + 1,
}

// num returns an edge in one of eight cases, else a number of random length.
func (g *args) num() fixed.Num {
	choice := g.bits()
	if choice&7 == 0 {
		return edges[choice>>8%uint64(len(edges))]
	}
	n := fixed.Num(g.bits()>>(choice>>8&63)) >> 1
	if choice&8 != 0 {
		return -n
	}
	return n
}

// upTo returns a number uniform in [-bound, bound).
func (g *args) upTo(bound fixed.Num) fixed.Num {
	hi, _ := bits.Mul64(g.bits(), 2*uint64(bound))
	return fixed.Num(hi) - bound
}

func (g *args) vec2() fixed.Vec2 { return fixed.Vec2{X: g.num(), Y: g.num()} }
func (g *args) vec3() fixed.Vec3 { return fixed.Vec3{X: g.num(), Y: g.num(), Z: g.num()} }
