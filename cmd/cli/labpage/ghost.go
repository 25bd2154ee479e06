package labpage

import (
	"math"

	"tendon/cmd/cli/page"
	"tendon/ecs"
)

// ghost finds what of the truth is not in the picture. The same Draw paints both; what both have at the same place, walls
// and floor and everybody who is shown where they are, is no ghost. What is left of the truth is painted pale, through the
// picture's camera and without a HUD.
//
// A frame goes picture, then truth: between begin and haunt it passes on what it notes, after haunt only what is left.
type ghost struct {
	*page.Picture // of the picture, then of the ghosts
	seen          map[shape]int
	truth         bool
	camera        [3]float64
	placed        bool
	lost          *page.Picture // takes what nobody is to see
}

// shape is what was painted, in hundredths of a world unit.
type shape struct {
	kind       uint8
	at         [5]int32
	color      ecs.Color
	points     uint64
	pointCount int
}

const (
	rectangleShape uint8 = iota
	circleShape
	lineShape
	polygonShape
)

var _ ecs.Canvas = (*ghost)(nil)

func newGhost() *ghost { return &ghost{seen: map[shape]int{}, lost: page.NewPicture()} }

// begin notes a picture, which is recorded in p.
func (g *ghost) begin(p *page.Picture) {
	clear(g.seen)
	g.Picture, g.truth, g.placed = p, false, false
}

// haunt records what of the truth is not in the picture in p.
func (g *ghost) haunt(p *page.Picture) {
	g.Picture, g.truth = p, true
	if g.placed {
		p.Camera(g.camera[0], g.camera[1], g.camera[2])
	}
}

func hundredths(x float64) int32 { return int32(math.Round(min(max(x, -1e6), 1e6) * 100)) }

// left reports whether a shape is to be painted.
func (g *ghost) left(s shape) bool {
	if !g.truth {
		g.seen[s]++
		return true
	}
	if g.seen[s] > 0 {
		g.seen[s]--
		return false
	}
	return true
}

// pale is a colour as ghosts have it.
func (g *ghost) pale(c ecs.Color) ecs.Color {
	if !g.truth {
		return c
	}
	lighter := func(x uint8) uint8 { return x + uint8((255-int(x))*ghostLight/100) }
	return ecs.Color{R: lighter(c.R), G: lighter(c.G), B: lighter(c.B), A: c.A}
}

// ghostLight is how far towards white a ghost's colours are, in percent.
const ghostLight = 55

// Camera is noted, and the picture's holds for the truth too.
func (g *ghost) Camera(x, y, height float64) {
	if !g.truth {
		g.camera, g.placed = [3]float64{x, y, height}, true
		g.Picture.Camera(x, y, height)
	}
}

// Rectangle fills a rectangle.
func (g *ghost) Rectangle(x, y, width, height float64, c ecs.Color) {
	if g.left(shape{kind: rectangleShape, at: [5]int32{hundredths(x), hundredths(y), hundredths(width), hundredths(height)}, color: c}) {
		g.Picture.Rectangle(x, y, width, height, g.pale(c))
	}
}

// Circle fills a circle.
func (g *ghost) Circle(x, y, radius float64, c ecs.Color) {
	if g.left(shape{kind: circleShape, at: [5]int32{hundredths(x), hundredths(y), hundredths(radius)}, color: c}) {
		g.Picture.Circle(x, y, radius, g.pale(c))
	}
}

// Line draws a line.
func (g *ghost) Line(x0, y0, x1, y1, width float64, c ecs.Color) {
	if g.left(shape{kind: lineShape, at: [5]int32{hundredths(x0), hundredths(y0), hundredths(x1), hundredths(y1), hundredths(width)}, color: c}) {
		g.Picture.Line(x0, y0, x1, y1, width, g.pale(c))
	}
}

// Polygon fills what the points enclose.
func (g *ghost) Polygon(points []ecs.Point, c ecs.Color) {
	s := shape{kind: polygonShape, color: c, pointCount: len(points)}
	for _, p := range points {
		s.points = s.points*0x100000001b3 ^ uint64(uint32(hundredths(p.X)))<<32 ^ uint64(uint32(hundredths(p.Y)))
	}
	if g.left(s) {
		g.Picture.Polygon(points, g.pale(c))
	}
}

// Text is no ghost: words that lie over each other cannot be read.
func (g *ghost) Text(x, y, size float64, align int, text string, c ecs.Color) {
	if !g.truth {
		g.Picture.Text(x, y, size, align, text, c)
	}
}

// Image paints an asset; one of the truth is left out, since it cannot be made pale.
func (g *ghost) Image(name string, x, y, width, height float64) {
	if !g.truth {
		g.Picture.Image(name, x, y, width, height)
	}
}

// Hud returns the picture's own, and nothing for the truth.
func (g *ghost) Hud() ecs.Canvas {
	if g.truth {
		g.lost.Reset(g.Aspect())
		return g.lost.Hud()
	}
	return g.Picture.Hud()
}
