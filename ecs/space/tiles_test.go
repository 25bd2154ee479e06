package space

import (
	"math"
	"testing"

	"tendon/ecs/fixed"
)

// tiles returns a random map of free tiles and of two kinds of walls.
func (d *dice) tiles() *Tiles {
	t := &Tiles{Origin: d.vec(bound), Size: d.num(2).Abs() + fixed.Half, Columns: 1 + d.below(12)}
	t.Kinds = make([]uint8, t.Columns*(1+d.below(12)))
	for i := range t.Kinds {
		if d.below(3) == 0 {
			t.Kinds[i] = uint8(1 + d.below(2))
		}
	}
	return t
}

// boxes returns the tiles of a set as shapes.
func (t *Tiles) boxes(solid Solid) (list []Shape) {
	for y := range t.rows() {
		for x := range t.Columns {
			if t.Has(solid, x, y) {
				b := t.Tile(x, y)
				list = append(list, Box(b.Min, b.Max))
			}
		}
	}
	return list
}

// near returns a point in the map or beside it.
func (d *dice) near(t *Tiles) fixed.Vec2 {
	b := t.Bounds()
	wide, high := b.Max.X-b.Min.X, b.Max.Y-b.Min.Y
	share := func() fixed.Num { return fixed.FromRatio(int64(d.below(1300))-150, 1000) }
	p := fixed.Vec2{X: b.Min.X + wide.Mul(share()), Y: b.Min.Y + high.Mul(share())}
	if d.below(4) == 0 { // on the side of a tile
		p.X = b.Min.X + t.Size*fixed.Num(d.below(t.Columns+1))
	}
	return p
}

func (d *dice) solid() Solid { return [4]Solid{Of(1), Of(2), Of(1, 2), Of()}[d.below(4)] }

func TestTilesAgreeWithBoxesOneByOne(t *testing.T) {
	d := dice{11}
	touches, casts := 0, 0
	for i := range rounds / 2 {
		m, solid, s := d.tiles(), d.solid(), d.shape(2)
		s = s.At(d.near(m), 0)
		dir, length := d.dir(), d.num(4*bound).Abs()
		var deepest Contact
		first := Hit{Dist: length}
		overlaps, hits := false, false
		for _, box := range m.boxes(solid) {
			overlaps = overlaps || Overlap(&s, &box)
			if c, ok := Touch(&s, &box); ok && c.Depth > deepest.Depth {
				deepest = c
			}
			if h, ok := Cast(&s, dir, length, &box); ok && h.Dist < first.Dist {
				first, hits = h, true
			}
		}
		c, ok := m.Touch(&s, solid)
		if c != deepest || ok != overlaps || m.Overlap(&s, solid) != overlaps {
			t.Fatalf("%d: contact %+v, %t, want %+v, %t", i, c, ok, deepest, overlaps)
		}
		h, ok := m.Cast(&s, dir, length, solid)
		if ok != hits || ok && h != first {
			t.Fatalf("%d: cast of %+v towards %v by %v through %+v: %+v, %t, want %+v, %t", i, s, dir, length, m, h, ok, first, hits)
		}
		if overlaps {
			touches++
		}
		if hits {
			casts++
		}
	}
	if touches < rounds/20 || casts < rounds/20 {
		t.Errorf("%d contacts and %d hits: the test proves little", touches, casts)
	}
}

func TestRaysThroughTilesAgreeWithBoxesOneByOne(t *testing.T) {
	d := dice{12}
	hits, inside := 0, 0
	for i := range rounds {
		m, solid := d.tiles(), d.solid()
		r := NewRay(d.near(m), d.dir(), d.num(4*bound).Abs())
		want := r.Length
		for _, box := range m.boxes(solid) {
			if h, ok := r.Cast(&box); ok {
				want = min(want, h.Dist)
			}
		}
		h, ok := m.CastRay(&r, solid)
		got := r.Length
		if ok {
			got = h.Dist
			hits++
		}
		if got == 0 && ok {
			inside++
			if h.Normal != (fixed.Vec2{}) && want != 0 {
				t.Fatalf("%d: %+v", i, h)
			}
			continue
		}
		if math.Abs((got - want).Float()) < tolerance {
			if ok && got > 0 && h.Normal.Dot(r.Dir) >= 0 {
				t.Fatalf("%d: the normal %v of a hit in direction %v", i, h.Normal, r.Dir)
			}
			continue
		}
		if r.Dir.X == 0 && (r.From.X-m.Origin.X)%m.Size == 0 {
			continue // along the sides of tiles: see below
		}
		// The two may differ for a ray that grazes a corner.
		nudged := func(by fixed.Num) fixed.Num {
			n := r
			n.From = n.From.Add(fixed.Vec2{X: -r.Dir.Y, Y: r.Dir.X}.Scale(by))
			if h, ok := m.CastRay(&n, solid); ok {
				return h.Dist
			}
			return r.Length
		}
		left, right := nudged(fixed.One>>20), nudged(-fixed.One>>20)
		if lo, hi := min(left, right), max(left, right); got < lo-fixed.One>>16 || got > hi+fixed.One>>16 {
			t.Fatalf("%d: %+v through %+v meets a tile at %v, want %v; beside it %v and %v", i, r, m, got, want, left, right)
		}
	}
	if hits < rounds/8 || inside < 100 {
		t.Errorf("%d hits, %d from inside: the test proves little", hits, inside)
	}
}

// A ray exactly along the joint of two walls, or through the corner where two walls touch, does not pass. Along the side of one wall
// it does.
func TestARayDoesNotPassBetweenTiles(t *testing.T) {
	m := &Tiles{Size: fixed.One, Columns: 4, Kinds: []uint8{
		0, 0, 0, 0,
		0, 1, 1, 0,
		0, 0, 0, 0,
		1, 0, 0, 0,
		0, 1, 0, 0,
	}}
	v := func(x, y string) fixed.Vec2 { return fixed.Vec2{X: fixed.MustParse(x), Y: fixed.MustParse(y)} }
	for _, c := range []struct {
		name     string
		from, to fixed.Vec2
		want     string // "" for no hit
	}{
		{"joint", v("2", "0"), v("2", "3"), "1"},
		{"joint from below", v("2", "3"), v("2", "0"), "1"},
		{"left side", v("1", "0"), v("1", "2.5"), ""},
		{"right side", v("3", "0"), v("3", "2.5"), ""},
		{"top", v("0", "1"), v("4", "1"), ""},
		{"bottom", v("4", "2"), v("0", "2"), ""},
		{"corner of two", v("0", "5"), v("2", "3"), "1.4142135624"},
		{"corner of one", v("2", "0"), v("4", "2"), ""},
		{"away from the surface", v("1.5", "1"), v("1.5", "0"), ""},
		{"away from the other surface", v("1.5", "2"), v("1.5", "2.5"), ""},
		{"into the surface", v("1.5", "1"), v("1.5", "2"), "0"},
		{"into the other surface", v("1.5", "2"), v("1.5", "1"), "0"},
		{"from outside", v("-5", "1.5"), v("3", "1.5"), "6"},
		{"past the map", v("-5", "1.5"), v("-5", "9"), ""},
		{"short", v("0", "1.5"), v("1", "1.5"), ""},
	} {
		r := Line(c.from, c.to)
		got := ""
		if h, ok := m.CastRay(&r, Of(1)); ok {
			got = h.Dist.String()
		}
		if got != c.want {
			t.Errorf("%s: distance %q, want %q", c.name, got, c.want)
		}
	}
}

// A shape that lies on a floor of tiles slides over the joints, whatever the contact that it has with the single tiles.
func TestAShapeSlidesOverTheJointsOfTiles(t *testing.T) {
	m := &Tiles{Size: fixed.One, Columns: 64, Kinds: make([]uint8, 64)}
	for i := range m.Kinds {
		m.Kinds[i] = 1
	}
	deep := fixed.FromRatio(1, 20)
	for _, s := range []Shape{
		Circle(fixed.Vec2{Y: -fixed.Half}, fixed.Half),
		Box(fixed.Vec2{X: -fixed.Half, Y: -fixed.One}, fixed.Vec2{X: fixed.Half}),
		Capsule(fixed.Vec2{Y: -fixed.One}, fixed.Vec2{Y: -fixed.Half}, fixed.Half),
	} {
		for x := fixed.One; x < fixed.FromInt(60); x += fixed.FromRatio(37, 1000) {
			placed := s.At(fixed.Vec2{X: x, Y: deep}, 0)
			c, ok := m.Touch(&placed, Of(1))
			if !ok || c.Normal.Y > -fixed.One+1<<8 || (c.Depth-deep).Abs() > 1<<8 {
				t.Fatalf("at %v the contact is %+v, %t", x, c, ok)
			}
			if placed = placed.At(c.Push(), 0); m.Overlap(&placed, Of(1)) {
				if c, _ := m.Touch(&placed, Of(1)); c.Depth > 1<<8 {
					t.Fatalf("at %v the pushed shape has contact %+v", x, c)
				}
			}
		}
	}
}
