//go:build !js

package labpage

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/jpeg" // of assets
	_ "image/png"
	"slices"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"

	"tendon/cmd/cli/page"
	"tendon/ecs"
)

// raster draws the pictures of matches side by side, without HUDs. It is the canvas of one picture at a time.
type raster struct {
	game    *ecs.Game
	frame   *gg.Context // all of it
	canvas  *gg.Context // one picture
	camera  camera      // of all pictures; the game's cameras are ignored
	images  map[string]image.Image
	faces   map[float64]font.Face // of the font, by size
	dropped *page.Picture         // receives the HUD
}

var _ ecs.Canvas = (*raster)(nil)

const filmWidth = filmPanel * 8 / 5 // by aspect

func newRaster(g *ecs.Game, panels int) *raster {
	width := filmMargin + panels*(filmWidth+filmMargin)
	return &raster{game: g, frame: gg.NewContext(width, filmCaption+filmPanel+filmKeys), canvas: gg.NewContext(filmWidth, filmPanel),
		images: map[string]image.Image{}, faces: map[float64]font.Face{}, dropped: page.NewPicture()}
}

// begin begins a picture of a match.
func (r *raster) begin() {
	r.canvas.Identity()
	r.canvas.SetColor(filmStage)
	r.canvas.Clear()
	scale := filmPanel / r.camera.height
	r.canvas.Scale(scale, scale)
	r.canvas.Translate(filmWidth/2/scale-r.camera.x, r.camera.height/2-r.camera.y)
}

// end puts the picture into the frame, with a caption: a title, and a remark in a colour.
func (r *raster) end(panel int, title, remark string, c color.Color) {
	left := filmMargin + panel*(filmWidth+filmMargin)
	area := image.Rect(left, filmCaption, left+filmWidth, filmCaption+filmPanel)
	draw.Draw(r.frame.Image().(*image.RGBA), area, r.canvas.Image(), image.Point{}, draw.Src)
	r.text(r.frame, float64(left), filmCaption-11, 0, 18, title, filmInk)
	r.text(r.frame, float64(left+filmWidth), filmCaption-11, 1, 18, remark, c)
}

// clear begins a frame.
func (r *raster) clear() {
	r.frame.SetColor(filmGround)
	r.frame.Clear()
}

// arrows draws the arrow keys below the pictures, with the one that is held.
func (r *raster) arrows(held string) {
	const size, gap = 30, 8
	x := float64(r.frame.Width())/2 - (size + gap)
	for _, k := range []struct {
		name string
		turn float64 // of an arrow to the right, in degrees
	}{{"arrowleft", 180}, {"arrowright", 0}} {
		y := float64(filmCaption + filmPanel + (filmKeys-size)/2)
		r.frame.DrawRoundedRectangle(x, y, size, size, 5)
		r.frame.SetColor(filmRaised)
		if k.name == held {
			r.frame.SetColor(filmKey)
		}
		r.frame.Fill()
		r.frame.Push()
		r.frame.RotateAbout(gg.Radians(k.turn), x+size/2, y+size/2)
		r.frame.DrawRegularPolygon(3, x+size/2, y+size/2, 7, gg.Radians(90))
		r.frame.Pop()
		r.frame.SetColor(filmInk)
		if k.name == held {
			r.frame.SetColor(filmGround)
		}
		r.frame.Fill()
		x += size + gap
	}
}

// text writes a line of text that starts at x if align is 0, and ends at x if align is 1.
func (r *raster) text(c *gg.Context, x, y, align, size float64, text string, color color.Color) {
	face := r.faces[size]
	if face == nil {
		var err error
		if face, err = gg.LoadFontFaceFromBytes(liberationsansbold.TTF, size); err != nil {
			panic(fmt.Sprintf("labpage: the font of the engine: %v", err))
		}
		r.faces[size] = face
	}
	c.SetFontFace(face)
	c.SetColor(color)
	c.DrawStringAnchored(text, x, y, align, 0)
}

// Camera does nothing: all pictures have one camera.
func (r *raster) Camera(x, y, height float64) {}

func (r *raster) fill(c ecs.Color) {
	r.canvas.SetColor(color.NRGBA(c))
	r.canvas.Fill()
}

// Rectangle fills a rectangle.
func (r *raster) Rectangle(x, y, width, height float64, c ecs.Color) {
	r.canvas.DrawRectangle(x, y, width, height)
	r.fill(c)
}

// Circle fills a circle.
func (r *raster) Circle(x, y, radius float64, c ecs.Color) {
	r.canvas.DrawCircle(x, y, max(radius, 0))
	r.fill(c)
}

// Line draws a line.
func (r *raster) Line(x0, y0, x1, y1, width float64, c ecs.Color) {
	r.canvas.SetLineCapButt()
	r.canvas.SetLineWidth(width * filmPanel / r.camera.height)
	r.canvas.SetColor(color.NRGBA(c))
	r.canvas.DrawLine(x0, y0, x1, y1)
	r.canvas.Stroke()
}

// Polygon fills the area that the points enclose.
func (r *raster) Polygon(points []ecs.Point, c ecs.Color) {
	if len(points) < 3 {
		return
	}
	for _, p := range points {
		r.canvas.LineTo(p.X, p.Y)
	}
	r.canvas.ClosePath()
	r.fill(c)
}

// Text writes a line of text whose top is y.
func (r *raster) Text(x, y, size float64, align int, text string, c ecs.Color) {
	px, py := r.canvas.TransformPoint(x, y)
	size *= filmPanel / r.camera.height
	r.canvas.Push()
	r.canvas.Identity()
	r.text(r.canvas, px, py+size*0.85, float64(align+1)/2, max(size, 1), text, color.NRGBA(c))
	r.canvas.Pop()
}

// Image draws an asset, without a tint.
func (r *raster) Image(name string, x, y, width, height float64, o ecs.ImageOptions) {
	m, ok := r.images[name]
	if !ok {
		m, _, _ = image.Decode(bytes.NewReader(r.game.Asset(name))) // nil if the asset is not an image
		r.images[name] = m
	}
	sub, ok := m.(interface {
		SubImage(image.Rectangle) image.Image
	})
	if !ok {
		return
	}
	part := o.Source(m.Bounds().Dx(), m.Bounds().Dy())
	if part.Width == 0 || part.Height == 0 {
		return
	}
	at := image.Pt(part.X, part.Y).Add(m.Bounds().Min)
	r.canvas.Push()
	r.canvas.Translate(x+width/2, y+height/2)
	r.canvas.Rotate(o.Rotation)
	if o.Mirrored {
		r.canvas.Scale(-1, 1)
	}
	r.canvas.Scale(width/float64(part.Width), height/float64(part.Height))
	r.canvas.Translate(-float64(part.Width)/2-float64(at.X), -float64(part.Height)/2-float64(at.Y))
	r.canvas.DrawImage(sub.SubImage(image.Rectangle{at, at.Add(image.Pt(part.Width, part.Height))}), 0, 0)
	r.canvas.Pop()
}

// Clicked reports no press: a film has no pointer.
func (r *raster) Clicked(string) (x, y float64, ok bool) { return 0, 0, false }

// Aspect returns the picture's width divided by its height.
func (r *raster) Aspect() float64 { return aspect }

// Hud returns a canvas that is not shown.
func (r *raster) Hud() ecs.Canvas {
	r.dropped.Reset(aspect)
	return r.dropped.Hud()
}

// copy returns the frame.
func (r *raster) copy() *image.RGBA {
	m := *r.frame.Image().(*image.RGBA)
	m.Pix = slices.Clone(m.Pix)
	return &m
}
