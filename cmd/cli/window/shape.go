//go:build !headless

package window

import (
	stdimage "image"
	"image/color"
	"math"

	"github.com/hajimehoshi/ebiten/v2"

	"tendon/ecs"
)

// shapes collects copies of a disc and a square with smooth edges, and flush paints them with one command. Both forms are in one image for
// this. With paths, a browser without a graphics card paints a third as many pictures.
type shapes struct {
	atlas    *ebiten.Image
	vertices []ebiten.Vertex // of the shapes that are not painted yet
	indices  []uint32
}

// A form is a shape of the atlas, in sizes of powers of two.
type form int

const (
	disc form = iota
	square
)

const (
	shapeSizes = 9 // 1 to 256 pixels
	margin     = 1 // transparent pixels around a shape
	atlasRow   = 1<<(shapeSizes-1) + 2*margin
)

// place returns where a size of a form lies on the atlas, with its margin.
func (f form) place(size int) stdimage.Rectangle {
	x, y, width := 1<<size-1+2*margin*size, int(f)*atlasRow, 1<<size+2*margin
	return stdimage.Rect(x, y, x+width, y+width)
}

// find returns the place of the size of a form that is enlarged least for a size in pixels.
func (f form) find(pixels float64) (place stdimage.Rectangle) {
	i := 0
	for i < shapeSizes-1 && float64(int(1)<<i) < pixels {
		i++
	}
	return f.place(i)
}

// newAtlas returns the image of all forms in all sizes.
func newAtlas() *ebiten.Image {
	atlas := stdimage.NewRGBA(stdimage.Rect(0, 0, square.place(shapeSizes-1).Max.X, 2*atlasRow))
	for f := disc; f <= square; f++ {
		for i := range shapeSizes {
			place := f.place(i)
			middle := float64(place.Dx()) / 2
			for y := range place.Dy() {
				for x := range place.Dx() {
					dx, dy := float64(x)+0.5-middle, float64(y)+0.5-middle
					distance := max(math.Abs(dx), math.Abs(dy)) // from the middle to the edge of the square
					if f == disc {
						distance = math.Hypot(dx, dy)
					}
					alpha := uint8(255*min(max(middle-margin-distance+0.5, 0), 1) + 0.5)
					atlas.SetRGBA(place.Min.X+x, place.Min.Y+y, color.RGBA{alpha, alpha, alpha, alpha})
				}
			}
		}
	}
	return ebiten.NewImageFromImage(atlas)
}

// flush paints the shapes that are not painted yet. Call it before painting anything else, and after the last shape.
func (c *canvas) flush() {
	s := c.shapes
	if len(s.indices) == 0 {
		return
	}
	if s.atlas == nil {
		s.atlas = newAtlas()
	}
	c.dst.DrawTriangles32(s.vertices, s.indices, s.atlas, &ebiten.DrawTrianglesOptions{Filter: ebiten.FilterLinear, DisableMipmaps: true})
	s.vertices, s.indices = s.vertices[:0], s.indices[:0]
}

// stroke paints a line of this width in pixels. Its ends are the halves of a form, with as much of its middle between them as the line
// is long.
func (c *canvas) stroke(f form, ax, ay, bx, by, width float32, col ecs.Color) {
	opacity := float32(col.A) / 255 * min(width, 1) // a line of less than a pixel is paler
	width = max(width, 1)
	place := f.find(float64(width))
	size := float32(place.Dx() - 2*margin)
	length := float32(math.Hypot(float64(bx-ax), float64(by-ay)))
	if !(opacity > 0) || !(length > 0) {
		return
	}
	ux, uy := (bx-ax)/length, (by-ay)/length
	texel := width / size
	half := min(width, length) / 2
	in, out := margin+half/texel, size+2*margin
	across := width/2 + margin*texel
	left, top := float32(place.Min.X), float32(place.Min.Y)
	c.triangles(strokeIndices[:])
	for _, p := range [4][2]float32{{-margin * texel, 0}, {half, in}, {length - half, out - in}, {length + margin*texel, out}} {
		for _, side := range [2]float32{-1, 1} {
			c.vertex(ax+p[0]*ux-side*across*uy, ay+p[0]*uy+side*across*ux, left+p[1], top+(side+1)/2*out, col, opacity)
		}
	}
}

// triangles appends triangles of the next vertices.
func (c *canvas) triangles(indices []uint32) {
	first := uint32(len(c.shapes.vertices))
	for _, i := range indices {
		c.shapes.indices = append(c.shapes.indices, first+i)
	}
}

// vertex appends a vertex: a pixel of the picture and one of the atlas, with a color and its opacity.
func (c *canvas) vertex(x, y, atlasX, atlasY float32, col ecs.Color, opacity float32) {
	c.shapes.vertices = append(c.shapes.vertices, ebiten.Vertex{DstX: x, DstY: y, SrcX: atlasX, SrcY: atlasY,
		ColorR: float32(col.R) / 255, ColorG: float32(col.G) / 255, ColorB: float32(col.B) / 255, ColorA: opacity})
}

// strokeIndices are the triangles of a stroke: three rectangles.
var strokeIndices = [...]uint32{0, 1, 2, 1, 3, 2, 2, 3, 4, 3, 5, 4, 4, 5, 6, 5, 7, 6}

// Rectangle fills a rectangle. Its edges are not smooth, so that neighbours leave no gap.
func (c *canvas) Rectangle(x, y, width, height float64, col ecs.Color) {
	px, py := c.pixel(x, y)
	place := square.place(2) // 4 pixels, whose middle is opaque
	middleX, middleY := float32(place.Min.X+place.Max.X)/2, float32(place.Min.Y+place.Max.Y)/2
	c.triangles(strokeIndices[:6])
	for i := range 4 {
		c.vertex(px+float32(i%2)*float32(width*c.scale), py+float32(i/2)*float32(height*c.scale), middleX, middleY, col, float32(col.A)/255)
	}
}

// Circle fills a circle.
func (c *canvas) Circle(x, y, radius float64, col ecs.Color) {
	px, py := c.pixel(x, y)
	r := float32(radius * c.scale)
	c.stroke(disc, px-r, py, px+r, py, 2*r, col)
}

// Line draws a line of this width in world units.
func (c *canvas) Line(x0, y0, x1, y1, width float64, col ecs.Color) {
	ax, ay := c.pixel(x0, y0)
	bx, by := c.pixel(x1, y1)
	c.stroke(square, ax, ay, bx, by, float32(width*c.scale), col)
}
