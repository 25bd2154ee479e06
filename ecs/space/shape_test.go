package space

import (
	"math"
	"testing"

	"tendon/ecs/fixed"
	"tendon/ecs/race"
)

// rounds is the number of random cases of a test.
var rounds = func() int {
	if race.Long {
		return 100_000
	}
	return 3000
}()

const (
	bound = 8
	// tolerance is the package's error for shapes of up to 64 units, 2^-28 + 64·2^-30, and that of the reference.
	tolerance = 1.0/(1<<28) + 64.0/(1<<30) + 1e-9
)

// checkPair compares all results for two shapes with the reference. It reports whether they overlap.
func checkPair(t *testing.T, i int, a, b Shape) bool {
	t.Helper()
	want := refGap(ref(&a), ref(&b))
	if got := Overlap(&a, &b); got != (want < 0) && math.Abs(want) > tolerance {
		t.Fatalf("%d: overlap of %+v and %+v is %t, the gap is %v", i, a, b, got, want)
	}
	if Overlap(&a, &b) != Overlap(&b, &a) && math.Abs(want) > tolerance {
		t.Fatalf("%d: overlap depends on the order", i)
	}
	if got := Distance(&a, &b).Float(); math.Abs(got-max(want, 0)) > tolerance {
		t.Fatalf("%d: distance of %+v and %+v is %v, want %v", i, a, b, got, want)
	}
	c, ok := Touch(&a, &b)
	if ok != Overlap(&a, &b) {
		t.Fatalf("%d: Touch says %t, Overlap says %t", i, ok, !ok)
	}
	if !ok {
		return false
	}
	if math.Abs(c.Depth.Float()+want) > tolerance {
		t.Fatalf("%d: %+v and %+v overlap by %v, want %v", i, a, b, c.Depth, -want)
	}
	if l := real2(c.Normal).len(); math.Abs(l-1) > 1e-9 {
		t.Fatalf("%d: the normal %v has length %v", i, c.Normal, l)
	}
	// The push ends the overlap and no more.
	after := a.At(c.Push(), 0)
	if gap := refGap(ref(&after), ref(&b)); math.Abs(gap) > tolerance {
		t.Fatalf("%d: after the push of %+v out of %+v by %+v the gap is %v", i, a, b, c, gap)
	}
	point := Circle(c.Point, 0)
	if far := refGap(ref(&point), ref(&b)); math.Abs(far) > tolerance {
		t.Fatalf("%d: the point of contact of %+v and %+v is %v off the boundary", i, a, b, far)
	}
	if far := refGap(ref(&point), ref(&after)); math.Abs(far) > tolerance {
		t.Fatalf("%d: the point of contact of %+v and %+v is %v off the shape that was pushed", i, a, b, far)
	}
	return true
}

// Shapes overlap, are apart and have contacts as their definition says.
func TestOverlapDistanceAndContactAgreeWithTheReference(t *testing.T) {
	d := dice{1}
	overlaps := 0
	for i := range rounds {
		if checkPair(t, i, d.shape(bound), d.shape(bound)) {
			overlaps++
		}
	}
	if overlaps < rounds/4 || overlaps > rounds*9/10 {
		t.Errorf("%d of %d pairs overlap: the test proves little", overlaps, rounds)
	}
}

// Edges of two shapes that are parallel but for roundings are the worst case of a polygon with the edges of both.
func TestShapesWithParallelEdgesAgreeWithTheReference(t *testing.T) {
	d := dice{6}
	for i := range rounds {
		angle := fixed.Num(d.bits() % uint64(fixed.Tau))
		if d.below(4) == 0 {
			angle = 0
		}
		flat := func() Shape {
			long, wide := d.num(bound).Abs()+fixed.Half, d.num(bound).Abs()+fixed.Half
			s := Box(fixed.Vec2{X: -long, Y: -wide}, fixed.Vec2{X: long, Y: wide})
			if d.below(2) == 0 {
				s = Capsule(fixed.Vec2{X: -long}, fixed.Vec2{X: long}, wide*fixed.Num(d.below(2)))
			}
			// A little turned, or end to end.
			place := d.vec(bound).Rotate(angle)
			if d.below(2) == 0 {
				place = fixed.Vec2{X: d.num(2 * bound)}.Rotate(angle)
			}
			return s.At(place, angle+fixed.HalfPi*fixed.Num(d.below(4))+fixed.Num(d.below(9)-4))
		}
		checkPair(t, i, flat(), flat())
	}
}

func TestClosestPoints(t *testing.T) {
	d := dice{2}
	for i := range rounds {
		s, p := d.shape(bound), d.vec(2*bound)
		got := s.Closest(p)
		probe := Circle(p, 0)
		gap := refGap(ref(&s), ref(&probe))
		if gap < -tolerance && got != p {
			t.Fatalf("%d: %v is inside %+v, and the closest point is %v", i, p, s, got)
		}
		if far := real2(got).sub(real2(p)).len(); math.Abs(far-max(gap, 0)) > tolerance {
			t.Fatalf("%d: the closest point of %+v to %v is %v, %v away, want %v", i, s, p, got, far, gap)
		}
		probe = Circle(got, 0)
		if off := refGap(ref(&s), ref(&probe)); off > tolerance {
			t.Fatalf("%d: the closest point of %+v to %v is %v outside", i, s, p, off)
		}
	}
}

// A moving shape stops where it touches, not before and not after.
func TestCastsStopAtTheFirstTouch(t *testing.T) {
	d := dice{3}
	hits := 0
	for i := range rounds {
		a, b, dir, length := d.shape(bound/2), d.shape(bound/2), d.dir(), d.num(3*bound).Abs()
		by := d.vec(bound)
		b = b.At(by, 0)
		hit, ok := Cast(&a, dir, length, &b)
		ra, rb, way := ref(&a), ref(&b), real2(dir)
		start := refGap(ra, rb)
		if start < tolerance { // tested below
			continue
		}
		end := length.Float()
		if ok {
			hits++
			end = hit.Dist.Float()
			if gap := refGap(ra.moved(way.scale(end)), rb); math.Abs(gap) > tolerance {
				t.Fatalf("%d: %+v stops at %v of %v towards %v, %v from %+v", i, a, end, length, dir, gap, b)
			}
			if hit.Normal.Dot(dir) > fixed.One>>20 || math.Abs(real2(hit.Normal).len()-1) > 1e-6 {
				t.Fatalf("%d: the normal %v of a hit in direction %v", i, hit.Normal, dir)
			}
			// The normal is that of the contact: the gap grows along it.
			off := ra.moved(way.scale(end)).moved(real2(hit.Normal).scale(0.01))
			if gap := refGap(off, rb); math.Abs(gap-0.01) > 1e-4 {
				t.Fatalf("%d: %+v hits %+v with normal %v, along which the gap grows by %v instead of 0.01", i, a, b, hit.Normal, gap)
			}
		}
		for k := range 40 {
			if gap := refGap(ra.moved(way.scale(end*float64(k)/40)), rb); gap < -tolerance {
				t.Fatalf("%d: %+v overlaps %+v by %v at %d/40 of its way of %v in direction %v; hit %t", i, a, b, -gap, k, end, dir, ok)
			}
		}
		if point := a; ok && a.extra == 0 {
			r := NewRay(point.points[0], dir, length)
			r.Radius = a.radius
			if same, hits := r.Cast(&b); !hits || same.Dist != hit.Dist {
				t.Fatalf("%d: a ray with a radius stops at %v, the circle at %v", i, same.Dist, hit.Dist)
			}
		}
	}
	if hits < rounds/8 {
		t.Errorf("%d of %d casts hit: the test proves little", hits, rounds)
	}
}

// A shape that overlaps another at the beginning can leave it, and cannot go deeper.
func TestACastFromInsideBlocksOnlyTheWayDeeper(t *testing.T) {
	d := dice{4}
	tried := 0
	for i := range rounds {
		a, b, dir := d.shape(bound), d.shape(bound), d.dir()
		c, ok := Touch(&a, &b)
		if !ok {
			continue
		}
		tried++
		hit, blocked := Cast(&a, dir, fixed.One, &b)
		toward := c.Normal.Dot(dir)
		if toward < -fixed.One>>16 && (!blocked || hit.Dist != 0 || hit.Normal != c.Normal) || toward > 0 && blocked {
			t.Fatalf("%d: %+v in %+v, contact %+v, direction %v: %+v, %t", i, a, b, c, dir, hit, blocked)
		}
	}
	if tried < rounds/4 {
		t.Error("too few overlap")
	}
}

// After any number of casts and slides along a wall a mover is neither stuck nor inside.
func TestAMoverSlidesAlongSurfacesWithoutSticking(t *testing.T) {
	d := dice{5}
	for i := range 400 {
		angle := fixed.Num(d.bits() % uint64(fixed.Tau))
		half := fixed.Vec2{X: fixed.FromInt(100), Y: fixed.One}
		wall := Box(half.Neg(), half)
		wall = wall.At(d.vec(bound), angle)
		start := fixed.FromAngle(angle+fixed.HalfPi, fixed.FromInt(3)).Add(wall.points[0].Add(wall.points[2]).Scale(fixed.Half))
		puck := Circle(start, fixed.Half)
		speed := fixed.FromAngle(angle-fixed.FromRatio(1, 2), fixed.FromRatio(1, 4))
		for range 100 {
			left := speed
			for range 3 {
				dir, length := left.Normalize(), left.Len()
				hit, ok := Cast(&puck, dir, length, &wall)
				if !ok {
					puck = puck.At(left, 0)
					break
				}
				puck = puck.At(dir.Scale(hit.Dist), 0)
				left = Bounce(dir.Scale(length-hit.Dist), hit.Normal, 0)
			}
		}
		// 25 units of way, of which those across the wall are lost
		if gone := puck.points[0].Dist(start).Float(); gone < 20 {
			t.Fatalf("%d: a puck is stuck after %v units", i, gone)
		}
		if gap := refGap(ref(&puck), ref(&wall)); gap < -tolerance {
			t.Fatalf("%d: a puck is %v inside the wall", i, -gap)
		}
	}
}

func TestBounceTurnsOnlyTheSpeedTowardsTheSurface(t *testing.T) {
	up := fixed.Vec2{Y: fixed.One}
	v := fixed.Vec2{X: fixed.FromInt(3), Y: fixed.FromInt(-4)}
	for _, c := range []struct{ keep, want fixed.Num }{{0, 0}, {fixed.Half, fixed.FromInt(2)}, {fixed.One, fixed.FromInt(4)}} {
		if got := Bounce(v, up, c.keep); got != (fixed.Vec2{X: v.X, Y: c.want}) {
			t.Errorf("Bounce with restitution %v is %v", c.keep, got)
		}
	}
	if away := v.Neg(); Bounce(away, up, fixed.One) != away {
		t.Error("a velocity away from the surface changes")
	}
}

func TestPolygonRefusesHullsThatItCannotHold(t *testing.T) {
	v := func(x, y int) fixed.Vec2 { return fixed.Vec2{X: fixed.FromInt(x), Y: fixed.FromInt(y)} }
	if _, err := Polygon(v(0, 0), v(1, 1), v(2, 2), v(5, 5)); err == nil {
		t.Error("points on a line are a polygon")
	}
	if _, err := Polygon(); err == nil {
		t.Error("no points are a polygon")
	}
	var round []fixed.Vec2
	for i := range 9 {
		round = append(round, fixed.FromAngle(fixed.Tau/9*fixed.Num(i), fixed.FromInt(5)))
	}
	if _, err := Polygon(round...); err == nil {
		t.Error("nine corners fit")
	}
	s, err := Polygon(v(1, 1), v(0, 0), v(2, 0), v(2, 2), v(0, 2), v(1, 0))
	if err != nil || s.extra != 3 || s.bounds != (Bounds{v(0, 0), v(2, 2)}) {
		t.Errorf("the hull of a square with points inside and on its edges is %+v, %v", s, err)
	}
}

// A point deep inside, below the corner between two edges that are parallel but for a rounding, is not outside.
func TestAPointBelowACornerOfParallelEdgesIsInside(t *testing.T) {
	v := func(x, y int) fixed.Vec2 { return fixed.Vec2{X: fixed.FromInt(x), Y: fixed.FromInt(y)} }
	points := []fixed.Vec2{v(2, 0), v(0, 0), v(-2, 0), v(-2, -8), v(2, -8)}
	normals := []fixed.Vec2{v(0, 1), v(0, 1), v(-1, 0), v(0, -1), v(1, 0)}
	normals[1].X = fixed.Epsilon
	deep := -3 * fixed.Half
	if g := nearest(points, normals, fixed.Vec2{X: -fixed.Epsilon, Y: deep}); g.dist != deep {
		t.Errorf("the place is %+v, want a distance of %v", g, deep)
	}
}
