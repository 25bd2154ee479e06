package space

import (
	"cmp"
	"fmt"
	"slices"

	"tendon/ecs/fixed"
)

// MaxCorners is the largest number of corners of a polygon.
const MaxCorners = 8

// Shape is a convex shape at a place: all points within a radius of its core. The core is a point (circle), a segment
// (capsule) or a polygon. A Shape is plain data. The zero Shape is a circle of radius 0, which overlaps nothing.
type Shape struct {
	bounds  Bounds
	radius  fixed.Num
	extra   int32 // corners beyond the first
	aligned bool  // a box with sides along the axes
	_       [3]uint8
	points  [MaxCorners]fixed.Vec2 // the corners of the core, counter-clockwise (with y upwards)
	normals [MaxCorners]fixed.Vec2 // outwards from the edge that begins at the corner; none for a point
}

// Circle returns a circle.
func Circle(middle fixed.Vec2, radius fixed.Num) Shape {
	s := Shape{radius: radius, bounds: Around(middle, radius)}
	s.points[0] = middle
	return s
}

// Capsule returns all points within radius of the segment from a to b. With radius 0 it is a segment. It is a circle if a and b
// are equal.
func Capsule(a, b fixed.Vec2, radius fixed.Num) Shape {
	if a == b {
		return Circle(a, radius)
	}
	s := Shape{radius: radius, extra: 1}
	s.points[0], s.points[1] = a, b
	s.finish()
	return s
}

// Box returns a rectangle with sides along the axes. [Shape.At] turns it.
func Box(min, max fixed.Vec2) Shape {
	var s Shape
	s.setBox(Bounds{min, max})
	return s
}

// Polygon returns the convex polygon whose corners are given in any order: their convex hull. It fails if the hull has fewer than
// 3 corners or more than [MaxCorners].
//
// It uses the monotone chain of A. M. Andrew, "Another efficient algorithm for convex hulls in two dimensions", 1979.
func Polygon(corners ...fixed.Vec2) (Shape, error) {
	sorted := slices.Clone(corners)
	slices.SortFunc(sorted, func(a, b fixed.Vec2) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	var hull []fixed.Vec2
	for range 2 { // the lower chain, then the upper
		first := len(hull)
		for _, p := range sorted {
			for len(hull) >= first+2 && hull[len(hull)-1].Sub(hull[len(hull)-2]).Cross(p.Sub(hull[len(hull)-1])) <= 0 {
				hull = hull[:len(hull)-1]
			}
			hull = append(hull, p)
		}
		hull = hull[:max(len(hull)-1, 0)] // it begins the other chain
		slices.Reverse(sorted)
	}
	if len(hull) < 3 || len(hull) > MaxCorners {
		return Shape{}, fmt.Errorf("space: the convex hull of %d points has %d corners, want 3 to %d", len(corners), len(hull), MaxCorners)
	}
	s := Shape{extra: int32(len(hull) - 1)}
	copy(s.points[:], hull)
	s.finish()
	return s, nil
}

// At returns s, turned counter-clockwise about the origin by an angle in radians, and then moved. So a shape that was made
// around the origin is placed by the position and the angle of its entity. Angle 0 turns exactly.
func (s *Shape) At(place fixed.Vec2, angle fixed.Num) Shape {
	out := *s
	if angle != 0 && s.extra > 0 {
		sin, cos := fixed.SinCos(angle)
		out.aligned = false
		for i := range out.points[:out.extra+1] {
			p := s.points[i]
			out.points[i] = fixed.Vec2{X: p.Dot(fixed.Vec2{X: cos, Y: -sin}), Y: p.Dot(fixed.Vec2{X: sin, Y: cos})}.Add(place)
		}
		out.finish()
		return out
	}
	if angle != 0 {
		place = s.points[0].Rotate(angle).Sub(s.points[0]).Add(place)
	}
	for i := range out.points[:out.extra+1] {
		out.points[i] = s.points[i].Add(place)
	}
	out.bounds = s.bounds.moved(place)
	return out
}

// Bounds returns the smallest Bounds that contain the shape.
func (s *Shape) Bounds() Bounds { return s.bounds }

// Closest returns the point of s that is nearest to p: p itself inside s.
func (s *Shape) Closest(p fixed.Vec2) fixed.Vec2 {
	g := s.gap(p)
	if g.dist <= s.radius {
		return p
	}
	return g.at.Add(g.normal.Scale(s.radius))
}

// core returns the corners of the core and the normals of its edges.
func (s *Shape) core() (points, normals []fixed.Vec2) {
	n := int(s.extra) + 1
	if n == 1 {
		return s.points[:1], nil
	}
	return s.points[:n], s.normals[:n]
}

// gap returns the place of p relative to the core.
func (s *Shape) gap(p fixed.Vec2) gap {
	if s.aligned {
		return s.bounds.gap(p)
	}
	points, normals := s.core()
	return nearest(points, normals, p)
}

// setBox makes s a box.
func (s *Shape) setBox(b Bounds) {
	s.bounds, s.radius, s.extra, s.aligned = b, 0, 3, true
	s.points[0], s.points[1] = b.Min, fixed.Vec2{X: b.Max.X, Y: b.Min.Y}
	s.points[2], s.points[3] = b.Max, fixed.Vec2{X: b.Min.X, Y: b.Max.Y}
	s.normals[0], s.normals[1] = fixed.Vec2{Y: -fixed.One}, fixed.Vec2{X: fixed.One}
	s.normals[2], s.normals[3] = fixed.Vec2{Y: fixed.One}, fixed.Vec2{X: -fixed.One}
}

// finish computes the normals and the bounds from the corners.
func (s *Shape) finish() {
	n := int(s.extra) + 1
	s.bounds = Bounds{s.points[0], s.points[0]}
	for i, p := range s.points[:n] {
		edge := s.points[(i+1)%n].Sub(p).Normalize()
		s.normals[i] = fixed.Vec2{X: edge.Y, Y: -edge.X}
		s.bounds = s.bounds.With(Bounds{p, p})
	}
	s.bounds = s.bounds.Grow(s.radius)
}
