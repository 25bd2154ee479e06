package space

import "tendon/ecs/fixed"

// Contact describes how a shape a overlaps a shape b. Moving a by Normal·Depth ends the overlap by the shortest way.
type Contact struct {
	Normal fixed.Vec2 // of length 1, out of b
	Depth  fixed.Num  // above 0
	Point  fixed.Vec2 // on the boundary of b, where the two touch after the move
}

// Push returns the move that ends the overlap: Normal·Depth.
func (c *Contact) Push() fixed.Vec2 { return c.Normal.Scale(c.Depth) }

// Overlap reports whether the shapes overlap. Shapes that only touch do not.
func Overlap(a, b *Shape) bool {
	return a.bounds.overlaps(&b.bounds) && between(a, b).dist < a.radius+b.radius
}

// Distance returns the distance between the shapes, 0 if they overlap or touch.
func Distance(a, b *Shape) fixed.Num {
	g := between(a, b)
	return max(g.dist-a.radius-b.radius, 0)
}

// Touch returns the contact of two shapes. ok is false if they do not overlap. Circles with the same middle leave each other
// along the x axis.
func Touch(a, b *Shape) (c Contact, ok bool) {
	if !a.bounds.overlaps(&b.bounds) {
		return Contact{}, false
	}
	g := between(a, b)
	depth := a.radius + b.radius - g.dist
	if depth <= 0 {
		return Contact{}, false
	}
	c = Contact{Normal: g.normal, Depth: depth}
	if a.extra == 0 {
		c.Point = g.at
		if b.radius != 0 {
			c.Point = g.at.Add(g.normal.Scale(b.radius))
		}
		return c, true
	}
	// The two touch in the middle of the common part of their farthest sides. A corner is a side of length 0.
	origin, side := b.points[0], fixed.Vec2{X: -g.normal.Y, Y: g.normal.X}
	top, low, high := b.farthest(g.normal, side, origin)
	_, l, h := a.farthest(g.normal.Neg(), side, origin)
	low, high = max(low, l), min(high, h)
	c.Point = origin.Add(g.normal.Scale(top + b.radius)).Add(side.Scale(low + (high-low)/2))
	return c, true
}

// Bounce returns a velocity after an impact on a surface with this normal. restitution is the share of the speed towards the
// surface that is reflected: 0 slides along it, fixed.One reflects. A velocity away from the surface stays.
func Bounce(velocity, normal fixed.Vec2, restitution fixed.Num) fixed.Vec2 {
	in := velocity.Dot(normal)
	if in >= 0 {
		return velocity
	}
	return velocity.Sub(normal.Scale(in.Mul(fixed.One + restitution)))
}

// between returns the place of a's core relative to b's. at is on b's core if a is a circle.
func between(a, b *Shape) gap {
	if a.extra == 0 {
		return b.gap(a.points[0])
	}
	if b.extra == 0 {
		g := a.gap(b.points[0])
		g.normal = g.normal.Neg()
		return g
	}
	var h hull
	h.subtract(b, a)
	return nearest(h.points[:h.count], h.normals[:h.count], fixed.Vec2{})
}

// farthest returns how far the core reaches in direction up, and from where to where along side its points do so. Both directions have
// length 1, and both distances are from origin.
func (s *Shape) farthest(up, side, origin fixed.Vec2) (top, low, high fixed.Num) {
	points, _ := s.core()
	// A side that is inclined by no more than a rounding error is level.
	level := 16 + (s.bounds.Max.X-s.bounds.Min.X+s.bounds.Max.Y-s.bounds.Min.Y)>>30
	top = fixed.Min
	for _, p := range points {
		top = max(top, up.Dot(p.Sub(origin)))
	}
	low, high = fixed.Max, fixed.Min
	for _, p := range points {
		if p = p.Sub(origin); up.Dot(p) >= top-level {
			x := side.Dot(p)
			low, high = min(low, x), max(high, x)
		}
	}
	return top, low, high
}
