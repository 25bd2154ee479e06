package space

import "tendon/ecs/fixed"

// Ray is a straight path of a point, or of a circle if Radius is not 0. Make it with [NewRay] or [Line]. Length may be shortened
// afterwards: a loop over shapes that sets Length to the distance of each hit finds the first one.
type Ray struct {
	From, Dir fixed.Vec2 // Dir has length 1
	Length    fixed.Num
	Radius    fixed.Num

	inverse fixed.Vec2 // 1/Dir; that of 0 is not used
}

// NewRay returns the ray from a point in a direction of length 1, as Normalize and FromAngle return it.
func NewRay(from, dir fixed.Vec2, length fixed.Num) Ray {
	return Ray{From: from, Dir: dir, Length: length, inverse: fixed.Vec2{X: fixed.One.Div(dir.X), Y: fixed.One.Div(dir.Y)}}
}

// Line returns the ray from one point to another.
func Line(from, to fixed.Vec2) Ray {
	way := to.Sub(from)
	return NewRay(from, way.Normalize(), way.Len())
}

// At returns the point at a distance from the beginning.
func (r *Ray) At(dist fixed.Num) fixed.Vec2 { return r.From.Add(r.Dir.Scale(dist)) }

// Bounds returns the smallest Bounds that contain the path.
func (r *Ray) Bounds() Bounds {
	return Bounds{r.From, r.From}.With(Around(r.At(r.Length), 0)).Grow(r.Radius)
}

// Hit is the place where a path first meets a shape.
type Hit struct {
	Dist   fixed.Num  // along the path, in [0, its length)
	Normal fixed.Vec2 // of length 1, out of the shape; zero for a ray that begins inside
}

// Cast returns where the ray meets a shape. ok is false if it ends before. A ray that begins inside hits at 0. A ray along an edge
// does not hit.
func (r *Ray) Cast(s *Shape) (hit Hit, ok bool) {
	if s.aligned {
		return r.meetBox(&s.bounds)
	}
	radius := r.Radius + s.radius
	if s.extra == 0 {
		dist, ok := toCircle(r.From, r.Dir, s.points[0], radius)
		if !ok || dist >= r.Length {
			return Hit{}, false
		}
		if dist == 0 {
			return Hit{}, true
		}
		return Hit{dist, r.At(dist).Sub(s.points[0]).Normalize()}, true
	}
	points, normals := s.core()
	return meet(points, normals, radius, r.From, r.Dir, r.Length)
}

// meetBox returns where the ray enters a box. On each axis the ray is between two sides from one distance to another, and inside
// where both intervals overlap. See Timothy Kay and James Kajiya, "Ray Tracing Complex Scenes", 1986.
func (r *Ray) meetBox(b *Bounds) (hit Hit, ok bool) {
	x0, x1 := b.Min.X-r.Radius-r.From.X, b.Max.X+r.Radius-r.From.X
	y0, y1 := b.Min.Y-r.Radius-r.From.Y, b.Max.Y+r.Radius-r.From.Y
	if r.Dir.X == 0 && (x0 >= 0 || x1 <= 0) || r.Dir.Y == 0 && (y0 >= 0 || y1 <= 0) {
		return Hit{}, false
	}
	enter, leave := fixed.Min, fixed.Max
	if r.Dir.X != 0 {
		a, b := x0.Mul(r.inverse.X), x1.Mul(r.inverse.X)
		enter, leave = min(a, b), max(a, b)
		hit.Normal.X = facing(r.Dir.X)
	}
	if r.Dir.Y != 0 {
		a, b := y0.Mul(r.inverse.Y), y1.Mul(r.inverse.Y)
		if least := min(a, b); least > enter {
			enter, hit.Normal = least, fixed.Vec2{Y: facing(r.Dir.Y)}
		}
		leave = min(leave, max(a, b))
	}
	if enter >= leave || leave <= 0 || enter >= r.Length {
		return Hit{}, false
	}
	if enter < 0 {
		enter, hit.Normal = 0, fixed.Vec2{}
	}
	hit.Dist = enter
	if r.Radius == 0 {
		return hit, true
	}
	q := r.At(enter)
	corner := b.Nearest(q)
	if corner.X == q.X || corner.Y == q.Y {
		return hit, true
	}
	dist, ok := toCircle(r.From, r.Dir, corner, r.Radius)
	if !ok || dist >= r.Length {
		return Hit{}, false
	}
	if dist == 0 {
		return Hit{}, true
	}
	return Hit{dist, r.At(dist).Sub(corner).Normalize()}, true
}

// facing returns the coordinate of the normal of the side that a ray meets.
func facing(dir fixed.Num) fixed.Num {
	if dir > 0 {
		return -fixed.One
	}
	return fixed.One
}

// Cast returns where a shape that moves in a direction of length 1 meets b. ok is false if the way ends before. If the two
// overlap at the beginning, a hits at 0 if the way leads deeper into b, and else it does not hit.
//
// A moving shape meets b where a point meets the Minkowski difference of the two, so no iteration is needed. See Christer
// Ericson, "Real-Time Collision Detection", section 5.5.
func Cast(a *Shape, dir fixed.Vec2, length fixed.Num, b *Shape) (hit Hit, ok bool) {
	if way := a.bounds.With(a.bounds.moved(dir.Scale(length))); !way.Touches(b.bounds) {
		return Hit{}, false
	}
	switch {
	case a.extra == 0:
		r := NewRay(a.points[0], dir, length)
		r.Radius = a.radius
		hit, ok = r.Cast(b)
	case b.extra == 0:
		points, normals := a.core()
		hit, ok = meet(points, normals, a.radius+b.radius, b.points[0], dir.Neg(), length)
		hit.Normal = hit.Normal.Neg()
	default:
		var h hull
		h.subtract(b, a)
		hit, ok = meet(h.points[:h.count], h.normals[:h.count], a.radius+b.radius, fixed.Vec2{}, dir, length)
	}
	if ok && hit.Dist == 0 {
		// Rounding leaves a shape that was pushed out, or stopped by a cast, a little inside. It can move along the surface.
		hit.Normal = between(a, b).normal
		ok = hit.Normal.Dot(dir) < -fixed.One>>22
	}
	return hit, ok
}
