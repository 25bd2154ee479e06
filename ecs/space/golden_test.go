package space

import (
	"encoding/binary"
	"hash/fnv"
	"runtime"
	"testing"

	"tendon/ecs/fixed"
	"tendon/ecs/race"
)

// The results are the same on every target. Only a change of the arithmetic may change the hash.
func TestGoldenHashOfSeededCalls(t *testing.T) {
	const want = 0xc426d50d897c97b8
	h, d := fnv.New64a(), dice{21}
	note := func(values ...any) {
		for _, v := range values {
			if err := binary.Write(h, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 1500 {
		a, b, m, solid := d.shape(bound), d.shape(bound), d.tiles(), d.solid()
		dir, length := d.dir(), d.num(bound).Abs()
		c, ok := Touch(&a, &b)
		note(c, ok, Distance(&a, &b), a.Closest(b.points[0]))
		hit, ok := Cast(&a, dir, length, &b)
		note(hit, ok)
		r := NewRay(d.near(m), dir, length)
		hit, ok = m.CastRay(&r, solid)
		note(hit, ok)
		hit, ok = r.Cast(&b)
		note(hit, ok)
		c, ok = m.Touch(&a, solid)
		note(c, ok, Bounce(c.Normal, dir, fixed.Half), a.At(dir, length))
	}
	if got := h.Sum64(); got != want {
		t.Errorf("the results on %s have hash %#x, want %#x", runtime.GOARCH, got, uint64(want))
	}
}

// extreme returns a number of any size.
func (d *dice) extreme() fixed.Num {
	edges := [...]fixed.Num{0, 1, -1, fixed.One, -fixed.One, fixed.Max, fixed.Min, fixed.Max - 1, fixed.Min + 1, farthest, -farthest, fixed.Max / 2}
	if d.below(3) == 0 {
		return edges[d.below(len(edges))]
	}
	return fixed.Num(d.bits()) >> d.below(64)
}

func (d *dice) wild() fixed.Vec2 { return fixed.Vec2{X: d.extreme(), Y: d.extreme()} }

// Nothing panics and every call returns, whatever the coordinates.
func extremes(d *dice) {
	shape := func() Shape {
		switch d.below(4) {
		case 0:
			return Circle(d.wild(), d.extreme())
		case 1:
			return Capsule(d.wild(), d.wild(), d.extreme())
		case 2:
			b := Box(d.wild(), d.wild())
			return b.At(d.wild(), d.extreme())
		}
		s, _ := Polygon(d.wild(), d.wild(), d.wild(), d.wild(), d.wild())
		return s
	}
	a, b := shape(), shape()
	Overlap(&a, &b)
	Touch(&a, &b)
	Distance(&a, &b)
	a.Closest(d.wild())
	dir := d.wild()
	if d.below(2) == 0 {
		dir = dir.Normalize()
	}
	length := d.extreme()
	Cast(&a, dir, length, &b)
	r := NewRay(d.wild(), dir, length)
	r.Radius = d.extreme()
	r.Cast(&b)
	m := d.tiles()
	if d.below(2) == 0 {
		m.Origin = d.wild()
	}
	m.CastRay(&r, Of(1))
	r.Radius = 0
	m.CastRay(&r, Of(1))
	m.Touch(&a, Of(1))
	m.Overlap(&a, Of(1))
	m.Cast(&a, dir, length, Of(1))
	x := &cells{}
	x.resize(minCellBits)
	for s := x.search(a.bounds.Grow(d.extreme()), max(d.extreme().Abs(), fixed.One>>16)); s.next(); {
	}
	x.listOf(a.bounds, max(d.extreme().Abs(), fixed.One>>16))
	empty := &Tiles{Size: d.extreme(), Columns: d.below(3) - 1}
	empty.CastRay(&r, Of(0))
	empty.Cast(&a, dir, length, Of(0))
	empty.Touch(&a, Of(0))
	Bounce(d.wild(), d.wild(), d.extreme())
}

func TestExtremeCoordinatesDoNotPanic(t *testing.T) {
	d := dice{22}
	n := 2000
	if race.Long {
		n = 200_000
	}
	for range n {
		extremes(&d)
	}
}

func FuzzExtremeCoordinates(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { extremes(&dice{seed}) })
}
