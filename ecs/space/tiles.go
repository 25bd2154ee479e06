package space

import "tendon/ecs/fixed"

// Tiles is a map of square tiles, such as a level. It is static data: many worlds can read it at the same time. Outside the map
// everything is free.
type Tiles struct {
	Origin  fixed.Vec2 // the corner of the first tile with the smallest coordinates
	Size    fixed.Num  // side of a tile, above 0
	Columns int
	Kinds   []uint8 // row by row, along x and then along y; each in [0, 63]
}

// Solid is a set of kinds of tiles, as a bit for each. A query takes the tiles whose kind is in the set. So low walls can be
// obstacles for some shapes and not for others.
type Solid uint64

// Of returns the set of these kinds.
func Of(kinds ...uint8) (s Solid) {
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

// Has reports whether the tile in a column and row is of the set.
func (t *Tiles) Has(solid Solid, column, row int) bool {
	i := row*t.Columns + column
	return column >= 0 && column < t.Columns && row >= 0 && i < len(t.Kinds) && solid>>t.Kinds[i]&1 != 0
}

// Tile returns the bounds of the tile in a column and row.
func (t *Tiles) Tile(column, row int) Bounds {
	low := fixed.Vec2{X: t.Origin.X + fixed.Num(column)*t.Size, Y: t.Origin.Y + fixed.Num(row)*t.Size}
	return Bounds{low, fixed.Vec2{X: low.X + t.Size, Y: low.Y + t.Size}}
}

// Bounds returns the bounds of the map.
func (t *Tiles) Bounds() Bounds {
	return t.Tile(0, 0).With(t.Tile(t.Columns-1, t.rows()-1))
}

func (t *Tiles) rows() int {
	if t.Columns <= 0 {
		return 0
	}
	return len(t.Kinds) / t.Columns
}

// span is a range of columns and rows of the map, with its ends.
type span struct{ x0, x1, y0, y1 int }

// under returns the tiles that b touches. ok is false if there are none.
func (t *Tiles) under(b *Bounds) (s span, ok bool) {
	if t.Size <= 0 {
		return s, false
	}
	s.x0, s.x1 = max(t.index(b.Min.X-t.Origin.X), 0), min(t.index(b.Max.X-t.Origin.X), t.Columns-1)
	s.y0, s.y1 = max(t.index(b.Min.Y-t.Origin.Y), 0), min(t.index(b.Max.Y-t.Origin.Y), t.rows()-1)
	return s, s.x0 <= s.x1 && s.y0 <= s.y1
}

// index returns the number of the tile at a coordinate relative to the origin. It fits an int32.
func (t *Tiles) index(x fixed.Num) int {
	const far = 1 << 30
	q := x / t.Size
	if x%t.Size < 0 {
		q--
	}
	return int(q.Clamp(-far, far))
}

// Overlap reports whether s overlaps a tile of the set.
func (t *Tiles) Overlap(s *Shape, solid Solid) bool {
	area, ok := t.under(&s.bounds)
	if !ok {
		return false
	}
	var box Shape
	for y := area.y0; y <= area.y1; y++ {
		for x := area.x0; x <= area.x1; x++ {
			if t.Has(solid, x, y) {
				if box.setBox(t.Tile(x, y)); Overlap(s, &box) {
					return true
				}
			}
		}
	}
	return false
}

// Touch returns the deepest contact of s with the tiles of the set. ok is false if it overlaps none. Of equally deep ones, it is
// that of the first tile. A shape that is pushed out of the deepest contact first slides over the joints of tiles.
func (t *Tiles) Touch(s *Shape, solid Solid) (deepest Contact, ok bool) {
	area, ok := t.under(&s.bounds)
	if !ok {
		return Contact{}, false
	}
	ok = false
	var box Shape
	for y := area.y0; y <= area.y1; y++ {
		for x := area.x0; x <= area.x1; x++ {
			if !t.Has(solid, x, y) {
				continue
			}
			box.setBox(t.Tile(x, y))
			if c, hit := Touch(s, &box); hit && c.Depth > deepest.Depth {
				deepest, ok = c, true
			}
		}
	}
	return deepest, ok
}

// CastRay returns where a ray meets a tile of the set. ok is false if it ends before. A ray that begins inside hits at 0. A ray
// exactly along the sides of tiles, or through a corner, is stopped where it has tiles of the set on both sides.
//
// It walks from tile to tile: John Amanatides and Andrew Woo, "A Fast Voxel Traversal Algorithm for Ray Tracing", 1987. Each
// distance is computed from the side that is crossed, so that rounding errors do not add up.
func (t *Tiles) CastRay(r *Ray, solid Solid) (hit Hit, ok bool) {
	if r.Radius != 0 {
		circle := Circle(r.From, r.Radius)
		return t.Cast(&circle, r.Dir, r.Length, solid)
	}
	if t.Size <= 0 || t.rows() == 0 || r.Length <= 0 {
		return Hit{}, false
	}
	all := t.Bounds()
	if all.Nearest(r.From) != r.From {
		if hit, ok = r.meetBox(&all); !ok {
			return Hit{}, false
		}
	}
	start := all.Nearest(r.At(hit.Dist)).Sub(t.Origin)
	x, stepX, crossX := t.begin(start.X, r.Dir.X)
	y, stepY, crossY := t.begin(start.Y, r.Dir.Y)
	// A ray between two columns or rows is blocked where both are.
	besideX, besideY := 0, 0
	if stepX == 0 && start.X%t.Size == 0 {
		besideX = 1
	}
	if stepY == 0 && start.Y%t.Size == 0 {
		besideY = 1
	}
	for x >= 0 && x < t.Columns && y >= 0 && y < t.rows() {
		if t.Has(solid, x, y) && (besideX|besideY == 0 || t.Has(solid, x-besideX, y-besideY)) {
			return hit, true
		}
		toX, toY := fixed.Max, fixed.Max
		if stepX != 0 {
			toX = (t.Origin.X + fixed.Num(x+crossX)*t.Size - r.From.X).Mul(r.inverse.X)
		}
		if stepY != 0 {
			toY = (t.Origin.Y + fixed.Num(y+crossY)*t.Size - r.From.Y).Mul(r.inverse.Y)
		}
		dist := max(min(toX, toY), hit.Dist)
		if dist >= r.Length {
			break
		}
		hit.Dist = dist
		if toX <= toY {
			hit.Normal = fixed.Vec2{X: facing(r.Dir.X)}
		} else {
			hit.Normal = fixed.Vec2{Y: facing(r.Dir.Y)}
		}
		switch {
		case toX < toY:
			x += stepX
		case toX > toY:
			y += stepY
		case t.Has(solid, x+stepX, y) && t.Has(solid, x, y+stepY):
			return hit, true
		default:
			x, y = x+stepX, y+stepY
		}
	}
	return Hit{}, false
}

// begin returns the tile in which a ray begins on one axis, the direction in which it goes on, and which side of a tile it crosses. A
// ray that begins between two tiles is in the one that it enters.
func (t *Tiles) begin(at, dir fixed.Num) (tile, step, cross int) {
	switch {
	case dir > 0:
		return t.index(at), 1, 1
	case dir < 0:
		return t.index(at - 1), -1, 0
	}
	return t.index(at), 0, 0
}

// Cast returns where a shape that moves in a direction of length 1 meets a tile of the set; see the function [Cast]. It looks at
// the tiles along the way, part by part.
func (t *Tiles) Cast(s *Shape, dir fixed.Vec2, length fixed.Num, solid Solid) (hit Hit, ok bool) {
	length = min(length, farthest)
	all, speed := t.Bounds(), max(dir.X.Abs(), dir.Y.Abs())
	if t.Size <= 0 || t.rows() == 0 || length <= 0 || speed < fixed.Half || speed > fixed.One || !s.bounds.near() || !all.near() {
		return Hit{}, false // out of range: the walk could be long
	}
	size := max(s.bounds.Max.X-s.bounds.Min.X, s.bounds.Max.Y-s.bounds.Min.Y)
	// The way begins at the first place from where the shape can touch the map. There its low corner is over the map or less than
	// its size below.
	low := s.bounds.Min
	reach := Bounds{fixed.Vec2{X: all.Min.X - size - 1, Y: all.Min.Y - size - 1}, fixed.Vec2{X: all.Max.X + 1, Y: all.Max.Y + 1}}
	from := fixed.Num(0)
	if reach.Nearest(low) != low {
		r := NewRay(low, dir, length)
		entry, meets := r.meetBox(&reach)
		if !meets {
			return Hit{}, false
		}
		from = entry.Dist
	}
	var box Shape
	for part := max(t.Size, size); from < length && !ok; from += part {
		to := min(from+part, length)
		swept := s.bounds.moved(dir.Scale(from)).With(s.bounds.moved(dir.Scale(to)))
		if !swept.Touches(reach) {
			break
		}
		area, _ := t.under(&swept)
		for y := area.y0; y <= area.y1; y++ {
			for x := area.x0; x <= area.x1; x++ {
				if !t.Has(solid, x, y) {
					continue
				}
				box.setBox(t.Tile(x, y))
				if h, meets := Cast(s, dir, to, &box); meets && (!ok || h.Dist < hit.Dist) {
					hit, ok = h, true
				}
			}
		}
	}
	return hit, ok
}
