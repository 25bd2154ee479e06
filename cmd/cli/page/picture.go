package page

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	"tendon/ecs"
)

// Picture records the drawing commands of a game for painter.js in a page. It is an ecs.Canvas between Reset and Append. It
// reuses its memory. One goroutine uses it.
//
// A picture is one flat JSON array. Each command is its number and its arguments:
//
//	0 camera x y height            4 polygon n x y … colour
//	1 rectangle x y w h colour     5 text x y size align "text" colour
//	2 circle x y radius colour     6 image "name" x y w h px py pw ph frames frame rotation mirrored colour
//	3 line x0 y0 x1 y1 w colour    7 layer: 0 through the camera, 1 the HUD
//
// The arguments of an image after its rectangle are those of ecs.ImageOptions. Lengths are in world units rounded to 1/1000; a colour is R<<24 | G<<16 | B<<8 | A.
type Picture struct {
	// Clicks are the presses of mouse buttons that Clicked reports, by the name of the button. x and y count from the
	// top left corner, in heights of the picture.
	Clicks map[string]ecs.Point

	layer
	aspect  float64
	record  []byte
	current uint32 // layer
	hud     layer
}

type layer struct {
	picture *Picture
	number  uint32     // 0: through the camera, 1: the HUD
	camera  [3]float64 // x, y, height; height is 0 before Camera was called
}

var _ ecs.Canvas = (*Picture)(nil)

const (
	cameraCommand = iota
	rectangleCommand
	circleCommand
	lineCommand
	polygonCommand
	textCommand
	imageCommand
	layerCommand
)

// NewPicture returns an empty square picture.
func NewPicture() *Picture {
	p := &Picture{}
	p.layer.picture, p.hud = p, layer{picture: p, number: 1}
	p.Reset(1)
	return p
}

// Reset begins a new picture. aspect is its width divided by its height.
func (p *Picture) Reset(aspect float64) {
	p.aspect, p.record, p.current, p.camera = aspect, append(p.record[:0], '['), 0, [3]float64{}
}

// Append appends the picture to b, as JSON.
func (p *Picture) Append(b []byte) []byte {
	return append(append(b, p.record...), ']')
}

// command records the number and the lengths of a command, after a change of the layer if needed.
func (l *layer) command(number uint32, lengths ...float64) *Picture {
	p := l.picture
	if p.current != l.number {
		p.current = l.number
		p.integer(layerCommand)
		p.integer(l.number)
	}
	p.integer(number)
	p.lengths(lengths...)
	return p
}

func (p *Picture) comma() {
	if len(p.record) > 1 {
		p.record = append(p.record, ',')
	}
}

func (p *Picture) integer(n uint32) {
	p.comma()
	p.record = strconv.AppendUint(p.record, uint64(n), 10)
}

const farthest = 1e12 // bounds coordinates, in world units

// lengths records numbers rounded to 1/1000. NaN is 0.
func (p *Picture) lengths(list ...float64) {
	for _, x := range list {
		p.comma()
		if x != x {
			x = 0
		}
		p.thousandths(int64(math.Round(min(max(x, -farthest), farthest) * 1000)))
	}
}

// thousandths records n/1000 without zeros at its end.
func (p *Picture) thousandths(n int64) {
	if n < 0 {
		n, p.record = -n, append(p.record, '-')
	}
	p.record = strconv.AppendInt(p.record, n/1000, 10)
	if rest := n % 1000; rest > 0 {
		p.record = append(p.record, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
		p.record = bytes.TrimRight(p.record, "0")
	}
}

func (p *Picture) color(c ecs.Color) {
	p.integer(uint32(c.R)<<24 | uint32(c.G)<<16 | uint32(c.B)<<8 | uint32(c.A))
}

// text records a string. Invalid UTF-8 becomes U+FFFD.
func (p *Picture) text(s string) {
	const hex = "0123456789abcdef"
	p.comma()
	p.record = append(p.record, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			p.record = append(p.record, '\\', byte(r))
		case r < ' ':
			p.record = append(p.record, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			p.record = utf8.AppendRune(p.record, r)
		}
	}
	p.record = append(p.record, '"')
}

// Camera centers the world point (x, y) and shows height world units from top to bottom. The HUD's camera is fixed.
func (l *layer) Camera(x, y, height float64) {
	if l.number == 0 {
		l.camera = [3]float64{x, y, height}
		l.command(cameraCommand, x, y, height)
	}
}

// Rectangle fills a rectangle.
func (l *layer) Rectangle(x, y, width, height float64, c ecs.Color) {
	l.command(rectangleCommand, x, y, width, height).color(c)
}

// Circle fills a circle.
func (l *layer) Circle(x, y, radius float64, c ecs.Color) {
	l.command(circleCommand, x, y, radius).color(c)
}

// Line draws a line of this width in world units.
func (l *layer) Line(x0, y0, x1, y1, width float64, c ecs.Color) {
	l.command(lineCommand, x0, y0, x1, y1, width).color(c)
}

// Polygon fills the area that the points enclose. Fewer than three points draw nothing.
func (l *layer) Polygon(points []ecs.Point, c ecs.Color) {
	if len(points) < 3 {
		return
	}
	p := l.command(polygonCommand)
	p.integer(uint32(len(points)))
	for _, at := range points {
		p.lengths(at.X, at.Y)
	}
	p.color(c)
}

// Text draws a line of text whose top is y.
func (l *layer) Text(x, y, size float64, align int, text string, c ecs.Color) {
	if text != "" {
		p := l.command(textCommand, x, y, size, float64(min(max(align, -1), 1)))
		p.text(text)
		p.color(c)
	}
}

// Image draws the asset of that name, which Server.Images must provide.
func (l *layer) Image(name string, x, y, width, height float64, o ecs.ImageOptions) {
	p := l.command(imageCommand)
	p.text(name)
	mirrored := 0.0
	if o.Mirrored {
		mirrored = 1
	}
	part := [4]float64{float64(o.Part.X), float64(o.Part.Y), float64(o.Part.Width), float64(o.Part.Height)}
	p.lengths(x, y, width, height, part[0], part[1], part[2], part[3], float64(o.Frames), float64(o.Frame), o.Rotation, mirrored)
	p.color(o.Tint)
}

// hudHeight is the height of the HUD in its units.
const hudHeight = 16

// Clicked returns where a mouse button was pressed, in Picture.Clicks.
func (l *layer) Clicked(button string) (x, y float64, ok bool) {
	at, ok := l.picture.Clicks[button]
	if !ok {
		return 0, 0, false
	}
	if height := l.camera[2]; height != 0 {
		return l.camera[0] + (at.X-l.picture.aspect/2)*height, l.camera[1] + (at.Y-0.5)*height, true
	}
	return at.X * hudHeight, at.Y * hudHeight, true
}

// Aspect returns the picture's width divided by its height.
func (l *layer) Aspect() float64 { return l.picture.aspect }

// Hud returns the canvas with a fixed camera.
func (l *layer) Hud() ecs.Canvas { return &l.picture.hud }
