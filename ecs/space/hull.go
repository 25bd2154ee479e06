package space

import (
	"slices"

	"tendon/ecs/fixed"
)

// A convex polygon is given by its corners, counter-clockwise, and by the outward normal of the edge from each corner to the
// next. A segment is a polygon with two edges, and a point has no edge.

// gap is the place of a point relative to a convex polygon.
type gap struct {
	dist   fixed.Num  // from the boundary, negative inside
	normal fixed.Vec2 // from the boundary to the point outside, or the shortest way out; of length 1
	at     fixed.Vec2 // the point of the boundary that is nearest
}

// nearest returns the place of p relative to a polygon.
//
// The edge whose line is farthest outside of p contains the nearest point of the boundary, at an end if it is a corner. See Dirk
// Gregorius, "The Separating Axis Test between Convex Polyhedra", GDC 2013. Edges that are nearly parallel have nearly the
// same distance, so nearest walks on along the boundary from an end beyond which a neighbour is nearer.
func nearest(points, normals []fixed.Vec2, p fixed.Vec2) gap {
	n := len(normals)
	if n == 0 {
		return fromPoint(p, points[0])
	}
	best, i := fixed.Min, 0
	for k, normal := range normals {
		if dist := normal.Dot(p.Sub(points[k])); dist > best {
			best, i = dist, k
		}
	}
	var corner fixed.Vec2
	for range n {
		next := i + 1
		if next == n {
			next = 0
		}
		if along(normals[i], p.Sub(points[i])) < 0 {
			corner = points[i]
			i = (i + n - 1) % n
			if along(normals[i], p.Sub(corner)) >= 0 {
				break
			}
		} else if along(normals[i], p.Sub(points[next])) > 0 {
			corner = points[next]
			if along(normals[next], p.Sub(corner)) <= 0 {
				break
			}
			i = next
		} else {
			dist := normals[i].Dot(p.Sub(points[i]))
			return gap{dist, normals[i], p.Sub(normals[i].Scale(dist))}
		}
	}
	g := fromPoint(p, corner)
	if best < 0 && best <= -g.dist/2 { // inside, and beside the end of the edge only by a rounding
		return gap{best, normals[i], p.Sub(normals[i].Scale(best))}
	}
	return g
}

// along returns the component of v in the direction of an edge.
func along(normal, v fixed.Vec2) fixed.Num { return fixed.Vec2{X: -normal.Y, Y: normal.X}.Dot(v) }

func fromPoint(p, at fixed.Vec2) gap {
	to := p.Sub(at)
	normal := to.Normalize()
	if normal == (fixed.Vec2{}) {
		normal.X = fixed.One
	}
	return gap{to.Len(), normal, at}
}

// meet returns the distance that a point moves from a place in direction dir until it is within radius of a polygon, and the
// outward normal there. The distance is 0, without a normal, if it begins there. ok is false if the way ends before.
//
// The lines of the edges, moved outwards by radius, form a polygon with corners that are not rounded. The point enters it where
// it crosses the last of the edges that it approaches (M. Cyrus and J. Beck, 1978). If it is beside a corner there, the circle
// around that corner decides.
func meet(points, normals []fixed.Vec2, radius fixed.Num, from, dir fixed.Vec2, length fixed.Num) (hit Hit, ok bool) {
	enter, edge := fixed.Num(0), -1
	for i, n := range normals {
		dist, speed := n.Dot(from.Sub(points[i]))-radius, n.Dot(dir)
		switch {
		case speed < 0 && dist >= 0:
			if t := dist.Div(-speed); t > enter || edge < 0 {
				enter, edge = t, i
			}
		case dist > 0, dist == 0 && (speed == 0 || radius > 0) && speed >= 0:
			return Hit{}, false
		}
	}
	if enter >= length {
		return Hit{}, false
	}
	q := from.Add(dir.Scale(enter))
	g := nearest(points, normals, q)
	slack := slackOf(enter, g.at.Sub(from))
	switch {
	case edge < 0 && g.dist < radius:
		return Hit{}, length > 0
	case edge >= 0 && g.dist <= slack:
		return Hit{enter, normals[edge]}, true
	case edge >= 0 && g.dist <= radius+slack:
		return Hit{enter, g.normal}, true
	case !slices.Contains(points, g.at):
		return Hit{}, false
	}
	dist, ok := toCircle(from, dir, g.at, radius)
	if !ok || dist >= length {
		return Hit{}, false
	}
	return Hit{dist, from.Add(dir.Scale(dist)).Sub(g.at).Normalize()}, true
}

// slackOf returns a bound of the rounding error of a distance from a polygon, at the end of a way.
func slackOf(way fixed.Num, to fixed.Vec2) fixed.Num {
	return 16 + (way+max(to.X.Abs(), to.Y.Abs()))>>30
}

// toCircle returns the distance that a point moves until it is in a circle, 0 if it begins there.
func toCircle(from, dir, middle fixed.Vec2, radius fixed.Num) (dist fixed.Num, ok bool) {
	to := middle.Sub(from)
	ahead, beside := to.Dot(dir), to.Cross(dir).Abs()
	if beside >= radius || ahead <= -radius {
		return 0, false
	}
	half := (radius.Mul(radius) - beside.Mul(beside)).Sqrt()
	if ahead+half < 0 {
		return 0, false
	}
	return max(ahead-half, 0), true
}

// hull is the difference of two polygons: a polygon again, with the edges of both.
type hull struct {
	count   int
	points  [2 * MaxCorners]fixed.Vec2
	normals [2 * MaxCorners]fixed.Vec2
}

// subtract makes h the Minkowski difference of the cores of b and a, which have edges: the vectors from each point of a to each
// point of b. The two overlap where it contains the origin. Its edges are those of b and of a reflected, by angle; see Mark de
// Berg et al., "Computational Geometry", section 13.3.
func (h *hull) subtract(b, a *Shape) {
	bp, bn := b.core()
	ap, an := a.core()
	// Begin before the edge with the direction u, at the corner of a that is farthest against it.
	u, j := bn[0], 0
	for k := range ap {
		if u.Dot(ap[k].Sub(ap[j])) < 0 {
			j = k
		}
	}
	h.count = 0
	i, fromB, fromA := 0, 0, 0
	for fromB < len(bp) || fromA < len(ap) {
		nb, na := bn[i], an[j].Neg()
		takeB, takeA := fromB < len(bp), fromA < len(ap)
		if takeB && takeA {
			switch turn := nb.Cross(na); {
			case turn > 0:
				takeA = false
			case turn < 0:
				takeB = false
			case nb.Dot(na) < 0: // opposite: of equal edges, that of b was first
				takeA = false
			}
		}
		h.points[h.count] = bp[i].Sub(ap[j])
		h.normals[h.count] = na
		if takeB {
			h.normals[h.count] = nb
			i, fromB = (i+1)%len(bp), fromB+1
		}
		h.count++
		if takeA {
			j, fromA = (j+1)%len(ap), fromA+1
		}
	}
}
