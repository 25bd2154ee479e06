package space

import "tendon/ecs/fixed"

// Bounds is a rectangle with sides along the axes. Its edges belong to it. The zero Bounds is the origin.
type Bounds struct{ Min, Max fixed.Vec2 }

// farthest is the largest coordinate for which results are right.
const farthest = fixed.One << 28

// Around returns the square whose sides are radius away from p.
func Around(p fixed.Vec2, radius fixed.Num) Bounds { return Bounds{p, p}.Grow(radius) }

// Grow returns b with every side moved outwards by a distance.
func (b Bounds) Grow(by fixed.Num) Bounds {
	return Bounds{fixed.Vec2{X: b.Min.X - by, Y: b.Min.Y - by}, fixed.Vec2{X: b.Max.X + by, Y: b.Max.Y + by}}
}

// With returns the smallest Bounds that contain both.
func (b Bounds) With(o Bounds) Bounds {
	return Bounds{
		fixed.Vec2{X: min(b.Min.X, o.Min.X), Y: min(b.Min.Y, o.Min.Y)},
		fixed.Vec2{X: max(b.Max.X, o.Max.X), Y: max(b.Max.Y, o.Max.Y)},
	}
}

// Touches reports whether the two have a point in common.
func (b Bounds) Touches(o Bounds) bool {
	return b.Min.X <= o.Max.X && b.Max.X >= o.Min.X && b.Min.Y <= o.Max.Y && b.Max.Y >= o.Min.Y
}

// Nearest returns the point of b that is nearest to p.
func (b Bounds) Nearest(p fixed.Vec2) fixed.Vec2 {
	return fixed.Vec2{X: p.X.Clamp(b.Min.X, b.Max.X), Y: p.Y.Clamp(b.Min.Y, b.Max.Y)}
}

// overlaps is Touches without the edges.
func (b *Bounds) overlaps(o *Bounds) bool {
	return b.Min.X < o.Max.X && b.Max.X > o.Min.X && b.Min.Y < o.Max.Y && b.Max.Y > o.Min.Y
}

// near reports whether no coordinate of b is beyond farthest.
func (b *Bounds) near() bool {
	return min(b.Min.X, b.Min.Y, b.Max.X, b.Max.Y) >= -farthest && max(b.Min.X, b.Min.Y, b.Max.X, b.Max.Y) <= farthest
}

// moved returns b displaced.
func (b Bounds) moved(by fixed.Vec2) Bounds { return Bounds{b.Min.Add(by), b.Max.Add(by)} }

// gap returns the place of p relative to the rectangle. From inside, the way out leads through the nearest side.
func (b *Bounds) gap(p fixed.Vec2) gap {
	at := b.Nearest(p)
	if at != p {
		return gap{p.Dist(at), p.Sub(at).Normalize(), at}
	}
	left, right, low, high := p.X-b.Min.X, b.Max.X-p.X, p.Y-b.Min.Y, b.Max.Y-p.Y
	switch least := min(left, right, low, high); least {
	case left:
		return gap{-least, fixed.Vec2{X: -fixed.One}, fixed.Vec2{X: b.Min.X, Y: p.Y}}
	case right:
		return gap{-least, fixed.Vec2{X: fixed.One}, fixed.Vec2{X: b.Max.X, Y: p.Y}}
	case low:
		return gap{-least, fixed.Vec2{Y: -fixed.One}, fixed.Vec2{X: p.X, Y: b.Min.Y}}
	default:
		return gap{-least, fixed.Vec2{Y: fixed.One}, fixed.Vec2{X: p.X, Y: b.Max.Y}}
	}
}
