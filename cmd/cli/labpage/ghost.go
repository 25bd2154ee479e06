package labpage

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"

	"tendon/cmd/cli/page"
	"tendon/ecs"
)

// ghost finds the shapes of the server's state that are not in the client's picture. Both are painted by the same Draw. Equal
// shapes at equal places, such as walls, are no ghosts. Ghosts are painted pale, with the camera of the picture and without
// a HUD. All pictures have one camera.
//
// A frame is the picture, then the server's state: after begin it records shapes, after beginGhosts it filters them.
type ghost struct {
	*page.Picture                // the picture, then the ghosts
	seen          map[uint64]int // shapes of the picture, by their hash
	shape         []byte         // scratch: a key of seen
	server        bool           // the server's state is painted
	camera        camera         // camera that the game set in this picture; height 0 if none
	common        camera         // camera of all pictures, which replaces it; height 0 before the first frame
	dropped       *page.Picture  // receives the server's HUD, which is not shown
}

var _ ecs.Canvas = (*ghost)(nil)

func newGhost() *ghost {
	g := &ghost{Picture: page.NewPicture(), seen: map[uint64]int{}, dropped: page.NewPicture()}
	g.Clicks = map[string]ecs.Point{}
	return g
}

const aspect = 1.6 // width of a picture by its height

// begin begins the picture.
func (g *ghost) begin() {
	clear(g.seen)
	g.Reset(aspect)
	g.server, g.camera = false, camera{}
}

// beginGhosts begins the ghosts.
func (g *ghost) beginGhosts() {
	g.Reset(aspect)
	g.server = true
	g.place()
}

// place sets the camera of all pictures.
func (g *ghost) place() {
	c := g.common
	if c.height == 0 {
		c = g.camera
	}
	if g.camera.height != 0 {
		g.Picture.Camera(c.x, c.y, c.height)
	}
}

// camera is the visible part of the world: its center and its height.
type camera struct{ x, y, height float64 }

// common returns one camera for all pictures, so that they show the same place. It is at the center of the games' cameras. If
// they are more than half a height apart, its height is larger.
func common(list []camera) (c camera, apart bool) {
	if len(list) == 0 {
		return c, false
	}
	low, high := list[0], list[0]
	for _, o := range list {
		low = camera{min(low.x, o.x), min(low.y, o.y), 0}
		high = camera{max(high.x, o.x), max(high.y, o.y), max(high.height, o.height)}
	}
	half, way := high.height/2, max((high.x-low.x)/aspect, high.y-low.y)
	return camera{(low.x + high.x) / 2, (low.y + high.y) / 2, half + max(half, way)}, way > half
}

// paints reports whether a shape is painted. Shapes are equal if their numbers are, in hundredths of a world unit.
func (g *ghost) paints(kind byte, c ecs.Color, numbers ...float64) bool {
	g.shape = append(g.shape[:0], kind, c.R, c.G, c.B, c.A)
	for _, x := range numbers {
		g.shape = binary.LittleEndian.AppendUint32(g.shape, uint32(int32(math.Round(min(max(x, -1e6), 1e6)*100))))
	}
	shape := xxhash.Sum64(g.shape)
	switch {
	case !g.server:
		g.seen[shape]++
	case g.seen[shape] > 0:
		g.seen[shape]--
		return false
	}
	return true
}

// pale returns the color of a ghost.
func (g *ghost) pale(c ecs.Color) ecs.Color {
	if !g.server {
		return c
	}
	lighter := func(x uint8) uint8 { return x + uint8((255-int(x))*ghostLight/100) }
	return ecs.Color{R: lighter(c.R), G: lighter(c.G), B: lighter(c.B), A: c.A}
}

const ghostLight = 55 // how far a ghost's colors are blended towards white, in percent

// Camera stores the camera that the game sets. The picture and its ghosts use the common camera instead.
func (g *ghost) Camera(x, y, height float64) {
	if !g.server {
		g.camera = camera{x, y, height}
		g.place()
	}
}

func (g *ghost) Rectangle(x, y, width, height float64, c ecs.Color) {
	if g.paints('r', c, x, y, width, height) {
		g.Picture.Rectangle(x, y, width, height, g.pale(c))
	}
}

func (g *ghost) Circle(x, y, radius float64, c ecs.Color) {
	if g.paints('c', c, x, y, radius) {
		g.Picture.Circle(x, y, radius, g.pale(c))
	}
}

func (g *ghost) Line(x0, y0, x1, y1, width float64, c ecs.Color) {
	if g.paints('l', c, x0, y0, x1, y1, width) {
		g.Picture.Line(x0, y0, x1, y1, width, g.pale(c))
	}
}

func (g *ghost) Polygon(points []ecs.Point, c ecs.Color) {
	var numbers []float64
	for _, p := range points {
		numbers = append(numbers, p.X, p.Y)
	}
	if g.paints('p', c, numbers...) {
		g.Picture.Polygon(points, g.pale(c))
	}
}

// Text paints text, which has no ghost: overlaid text is unreadable.
func (g *ghost) Text(x, y, size float64, align int, text string, c ecs.Color) {
	if !g.server {
		g.Picture.Text(x, y, size, align, text, c)
	}
}

// Image paints an asset, which has no ghost: it cannot be made pale.
func (g *ghost) Image(name string, x, y, width, height float64, o ecs.ImageOptions) {
	if !g.server {
		g.Picture.Image(name, x, y, width, height, o)
	}
}

// Clicked reports no press to the server's state, which takes no orders.
func (g *ghost) Clicked(button string) (x, y float64, ok bool) {
	if g.server {
		return 0, 0, false
	}
	return g.Picture.Clicked(button)
}

// Hud returns the picture's HUD. Ghosts have none.
func (g *ghost) Hud() ecs.Canvas {
	if g.server {
		g.dropped.Reset(g.Aspect())
		return g.dropped.Hud()
	}
	return g.Picture.Hud()
}
