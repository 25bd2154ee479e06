// Package space finds which shapes overlap, where moving shapes and rays meet them, and which entities are near, in the plane and in
// fixed point.
//
// A [Shape] is a circle, a capsule, a box or a convex polygon at a place. A [Tiles] is a map of square tiles. A [Grid] finds the
// entities in an area, also as a player saw them. A system makes shapes from its components and asks:
//
//	// A puck bounces off the walls.
//	puck := space.Circle(p.Pos.Add(p.Vel), radius)
//	if c, ok := walls.Touch(&puck, space.Of(wall)); ok {
//		puck = puck.At(c.Push(), 0)
//		p.Vel = space.Bounce(p.Vel, c.Normal, fixed.FromRatio(9, 10))
//	}
//
//	// A shot hits the first player on its way, as the shooter saw them.
//	shot := space.NewRay(from, dir, reach)
//	for e, b := range players.SeenIn(w, shooter, shot.Bounds()) {
//		body := space.Circle(b.Pos, radius)
//		if hit, ok := shot.Cast(&body); ok {
//			shot.Length, target = hit.Dist, e // only a nearer player can be hit now
//		}
//	}
//
// The package finds contacts and moves nothing. There is no rigid-body solver: a system pushes a mover out with [Contact.Push],
// and turns its velocity with [Bounce].
//
// # Units, ranges and errors
//
// Lengths are in world units, as fixed.Num. A normal or direction has length 1. With y upwards, corners go counter-clockwise; with y
// downwards, everything is reflected and nothing else changes. Shapes that only touch do not overlap.
//
// Coordinates and lengths are in [-2^28, 2^28], radii in [0, 2^15]. Beyond these ranges results may be wrong. They are still the
// same on every machine, and nothing panics.
//
// Depths, distances and places are within 2^-28 + D·2^-30 of the true values: less than a millionth for up to 1000 units. D is the
// largest of the shapes' sizes and the length of the way. Whether shapes overlap, or a way hits, is decided right if it
// does not depend on less than that. At a place where a cast stops, shapes overlap by at most that.
//
// # Algorithms
//
// Everything is one question: the place of a point relative to a convex polygon with rounded corners. For two shapes, the polygon is
// their Minkowski difference and the point is the origin. For a cast, the point moves. So contacts and casts are computed
// directly, without iteration. The functions name their sources.
//
// # Tasks
//
//   - make shapes: [Circle], [Capsule], [Box], [Polygon]; place them: [Shape.At]
//   - compare two: [Overlap], [Touch], [Distance]; nearest point: [Shape.Closest]
//   - move: [Cast] for a shape, [NewRay], [Line] and [Ray.Cast] for a point or a circle
//   - push out, bounce and slide: [Contact.Push], [Bounce]
//   - levels of tiles: [Tiles.Touch], [Tiles.Overlap], [Tiles.CastRay], [Tiles.Cast]
//   - entities in an area: [NewGrid], [Grid.In]; as a player saw them (lag compensation): [Grid.SeenIn]
package space
