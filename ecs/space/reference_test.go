package space

import (
	"math"
	"math/bits"

	"tendon/ecs/fixed"
)

// The reference computes with float64, from the definition of a shape: all points within a radius of its core.

type point struct{ x, y float64 }

func real2(v fixed.Vec2) point { return point{v.X.Float(), v.Y.Float()} }

func (a point) sub(b point) point     { return point{a.x - b.x, a.y - b.y} }
func (a point) dot(b point) float64   { return a.x*b.x + a.y*b.y }
func (a point) len() float64          { return math.Hypot(a.x, a.y) }
func (a point) plus(b point) point    { return point{a.x + b.x, a.y + b.y} }
func (a point) scale(k float64) point { return point{a.x * k, a.y * k} }
func (a point) cross(b point) float64 { return a.x*b.y - a.y*b.x }
func toSegment(p, a, b point) float64 { return p.sub(onSegment(p, a, b)).len() }
func onSegment(p, a, b point) point {
	d := b.sub(a)
	if d.dot(d) == 0 {
		return a
	}
	return a.plus(d.scale(min(max(p.sub(a).dot(d)/d.dot(d), 0), 1)))
}

type refShape struct {
	core   []point
	radius float64
}

func ref(s *Shape) refShape {
	points, _ := s.core()
	r := refShape{radius: s.radius.Float()}
	for _, p := range points {
		r.core = append(r.core, real2(p))
	}
	return r
}

func (s refShape) moved(by point) refShape {
	out := refShape{radius: s.radius}
	for _, p := range s.core {
		out.core = append(out.core, p.plus(by))
	}
	return out
}

// refGap is the distance between two shapes, or if they overlap, less the length of the shortest move that ends it.
func refGap(a, b refShape) float64 {
	core := math.Inf(1)
	each := func(a, b refShape) {
		for _, p := range a.core {
			for i, q := range b.core {
				core = min(core, toSegment(p, q, b.core[(i+1)%len(b.core)]))
			}
		}
	}
	each(a, b)
	each(b, a)
	if apart := separation(a, b); apart <= 0 {
		core = apart
	}
	return core - a.radius - b.radius
}

// separation is the largest distance between the cores along the normal of an edge: negative where the cores overlap, and
// positive infinite if neither has an edge.
func separation(a, b refShape) float64 {
	best := math.Inf(-1)
	edges := 0
	along := func(n point) {
		edges++
		loA, hiA, loB, hiB := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
		for _, p := range a.core {
			loA, hiA = min(loA, n.dot(p)), max(hiA, n.dot(p))
		}
		for _, p := range b.core {
			loB, hiB = min(loB, n.dot(p)), max(hiB, n.dot(p))
		}
		best = max(best, loA-hiB, loB-hiA)
	}
	for _, s := range []refShape{a, b} {
		for i, p := range s.core {
			if len(s.core) > 1 {
				e := s.core[(i+1)%len(s.core)].sub(p)
				along(point{e.y / e.len(), -e.x / e.len()})
				if len(s.core) == 2 {
					along(e.scale(1 / e.len())) // the ends of a segment
				}
			}
		}
	}
	if edges == 0 {
		return a.core[0].sub(b.core[0]).len()
	}
	return best
}

// dice is a seeded stream of numbers (splitmix64).
type dice struct{ state uint64 }

func (d *dice) bits() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *dice) below(n int) int { hi, _ := bits.Mul64(d.bits(), uint64(n)); return int(hi) }

// num returns a number in [-bound, bound), of which one in four is a multiple of a half, so that shapes touch exactly and edges
// are parallel.
func (d *dice) num(bound int) fixed.Num {
	n := fixed.Num(d.bits()%uint64(2*bound*int(fixed.One>>8)))<<8 + fixed.Num(d.bits()&255) - fixed.FromInt(bound)
	if d.below(4) == 0 {
		return n.Round() / 2
	}
	return n
}

func (d *dice) vec(bound int) fixed.Vec2 { return fixed.Vec2{X: d.num(bound), Y: d.num(bound)} }

func (d *dice) dir() fixed.Vec2 {
	if d.below(3) == 0 {
		return [4]fixed.Vec2{{X: fixed.One}, {Y: fixed.One}, {X: -fixed.One}, {Y: -fixed.One}}[d.below(4)]
	}
	return fixed.FromAngle(fixed.Num(d.bits()%uint64(fixed.Tau)), fixed.One).Normalize()
}

// shape returns a shape of any kind with points in [-bound, bound).
func (d *dice) shape(bound int) Shape {
	radius := fixed.Num(d.bits() % uint64(fixed.FromInt(bound)/2))
	switch d.below(6) {
	case 0:
		return Circle(d.vec(bound), radius)
	case 1:
		return Capsule(d.vec(bound), d.vec(bound), radius)
	case 2:
		return Capsule(d.vec(bound), d.vec(bound), 0)
	case 3:
		a, b := d.vec(bound), d.vec(bound)
		return Box(fixed.Vec2{X: min(a.X, b.X), Y: min(a.Y, b.Y)}, fixed.Vec2{X: max(a.X, b.X) + fixed.Half, Y: max(a.Y, b.Y) + fixed.Half})
	case 4:
		half := fixed.Vec2{X: d.num(bound).Abs() + fixed.Half, Y: d.num(bound).Abs() + fixed.Half}
		box := Box(half.Neg(), half)
		return box.At(d.vec(bound), fixed.Num(d.bits()%uint64(fixed.Tau)))
	}
	for {
		corners := make([]fixed.Vec2, 3+d.below(8))
		for i := range corners {
			corners[i] = d.vec(bound)
		}
		if s, err := Polygon(corners...); err == nil {
			return s
		}
	}
}
