//go:build !headless

package window

import (
	"image/color"
	"math"
	"slices"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/text/v2"
	"github.com/hajimehoshi/ebiten/v2/vector"

	"tendon/cmd/cli/internal/keys"
	"tendon/ecs"
)

// canvas paints on the window's picture. A world point p lies at pixel (p − origin) · scale.
type canvas struct {
	dst              *ebiten.Image
	width, height    int // of dst
	originX, originY float64
	scale            float64 // pixels per world unit
	fonts            *fonts
	images           *images
	shapes           *shapes
	path             vector.Path // scratch of the polygon that is drawn
	hud              *canvas     // the canvas of Hud; nil on that itself
	clicks           *clicks     // since the last picture; shared with the HUD
}

// clicks are the presses of the mouse buttons, in the order of keys.Mouse.
type clicks [len(keys.Mouse)]click

// click is a press of a mouse button at a pixel.
type click struct {
	pressed bool
	x, y    int
}

var _ ecs.Canvas = (*canvas)(nil)

// begin starts a picture. The camera is that of the HUD until the game moves it.
func (c *canvas) begin(dst *ebiten.Image) {
	dst.Fill(color.RGBA{R: 18, G: 20, B: 26, A: 255})
	c.dst, c.hud.dst = dst, dst
	c.width, c.height = dst.Bounds().Dx(), dst.Bounds().Dy()
	c.hud.width, c.hud.height = c.width, c.height
	c.hud.originX, c.hud.originY, c.hud.scale = 0, 0, float64(dst.Bounds().Dy())/16
	c.originX, c.originY, c.scale = 0, 0, c.hud.scale
}

// Aspect returns the picture's width divided by its height.
func (c *canvas) Aspect() float64 {
	return float64(max(c.width, 1)) / float64(max(c.height, 1))
}

// Camera centers (x, y) and shows height world units from top to bottom.
func (c *canvas) Camera(x, y, height float64) {
	c.scale = float64(c.dst.Bounds().Dy()) / height
	c.originX, c.originY = x-c.Aspect()*height/2, y-height/2
}

// Clicked returns where a mouse button was pressed since the last picture.
func (c *canvas) Clicked(button string) (x, y float64, ok bool) {
	i := slices.Index(keys.Mouse[:], button)
	if i < 0 || !c.clicks[i].pressed {
		return 0, 0, false
	}
	x, y = c.world(c.clicks[i].x, c.clicks[i].y)
	return x, y, true
}

// Hud returns the canvas with a fixed camera.
func (c *canvas) Hud() ecs.Canvas {
	if c.hud == nil {
		return c
	}
	return c.hud
}

// pixel returns where a world point lies on the picture.
func (c *canvas) pixel(x, y float64) (float32, float32) {
	return float32((x - c.originX) * c.scale), float32((y - c.originY) * c.scale)
}

// world returns the world point at a pixel.
func (c *canvas) world(x, y int) (float64, float64) {
	if c.scale == 0 { // before the first picture
		return 0, 0
	}
	return float64(x)/c.scale + c.originX, float64(y)/c.scale + c.originY
}

func paint(c ecs.Color) color.Color { return color.NRGBA{c.R, c.G, c.B, c.A} }

// Polygon fills the area that the points enclose. Fewer than three points draw nothing.
func (c *canvas) Polygon(points []ecs.Point, col ecs.Color) {
	if len(points) < 3 {
		return
	}
	c.flush()
	c.path.Reset()
	for _, p := range points {
		c.path.LineTo(c.pixel(p.X, p.Y)) // the first one starts the path
	}
	c.path.Close()
	o := &vector.DrawPathOptions{AntiAlias: true}
	o.ColorScale.ScaleWithColor(paint(col))
	vector.FillPath(c.dst, &c.path, nil, o)
}

// Text draws a line of text whose top is y.
func (c *canvas) Text(x, y, size float64, align int, words string, col ecs.Color) {
	if words == "" {
		return
	}
	c.flush()
	o := &text.DrawOptions{}
	// The filter is that of shapes, so that ebiten paints both with one command. At whole pixels it does not blur the text.
	o.Filter = ebiten.FilterLinear
	o.GeoM.Translate(math.Round((x-c.originX)*c.scale), math.Round((y-c.originY)*c.scale))
	o.ColorScale.ScaleWithColor(paint(col))
	o.PrimaryAlign = text.Align(min(max(align, -1), 1) + 1)
	if face, err := c.fonts.of(size * c.scale); err == nil {
		text.Draw(c.dst, words, face, o)
	}
}
