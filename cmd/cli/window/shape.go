//go:build !headless

package window

import (
	"math"

	"github.com/hajimehoshi/ebiten/v2"

	"tendon/ecs"
)

// shapes are images of a disc and a square with smooth edges, in sizes of powers of two. Lines and circles are copies of them, which are
// painted together: with paths, a browser without a graphics card paints a third as many pictures.
type shapes struct {
	discs, squares [shapeSizes]*ebiten.Image
}

const (
	shapeSizes = 9 // 1 to 256 pixels
	margin     = 1 // transparent pixels around a shape
)

// get returns the image of a list that is enlarged least for a size in pixels, and its size without the margin.
func (s *shapes) get(list *[shapeSizes]*ebiten.Image, pixels float64) (img *ebiten.Image, size float64) {
	i := 0
	for i < shapeSizes-1 && float64(int(1)<<i) < pixels {
		i++
	}
	size = float64(int(1) << i)
	if list[i] == nil {
		width := 1<<i + 2*margin
		data := make([]byte, 4*width*width)
		for y := range width {
			for x := range width {
				dx, dy := float64(x)+0.5-float64(width)/2, float64(y)+0.5-float64(width)/2
				distance := max(math.Abs(dx), math.Abs(dy)) // from the middle to the edge of the square
				if list == &s.discs {
					distance = math.Hypot(dx, dy)
				}
				alpha := uint8(255*min(max(size/2-distance+0.5, 0), 1) + 0.5)
				for k := range 4 {
					data[4*(y*width+x)+k] = alpha
				}
			}
		}
		list[i] = ebiten.NewImage(width, width)
		list[i].WritePixels(data)
	}
	return list[i], size
}

// stroke paints a line of this width in pixels. Its ends have the form of those of a shape of list: the image's halves, with as much of its
// middle between them as the line is long.
func (c *canvas) stroke(list *[shapeSizes]*ebiten.Image, ax, ay, bx, by, width float32, col ecs.Color) {
	opacity := float32(col.A) / 255 * min(width, 1) // a line of less than a pixel is paler
	width = max(width, 1)
	img, size := c.shapes.get(list, float64(width))
	length := float32(math.Hypot(float64(bx-ax), float64(by-ay)))
	if !(opacity > 0) || !(length > 0) {
		return
	}
	ux, uy := (bx-ax)/length, (by-ay)/length
	texel := width / float32(size)
	half := min(width, length) / 2
	in, out := margin+half/texel, float32(size)+2*margin
	across := width/2 + margin*texel
	left, top := float32(img.Bounds().Min.X), float32(img.Bounds().Min.Y)
	for _, p := range [4][2]float32{{-margin * texel, 0}, {half, in}, {length - half, out - in}, {length + margin*texel, out}} {
		for _, side := range [2]float32{-1, 1} {
			c.vertex(ax+p[0]*ux-side*across*uy, ay+p[0]*uy+side*across*ux, left+p[1], top+(side+1)/2*out, col, opacity)
		}
	}
	c.triangles(strokeIndices[:], img)
}

// vertex appends a vertex of the next triangles: a pixel of the picture and one of the image, with a color and its opacity.
func (c *canvas) vertex(x, y, imageX, imageY float32, col ecs.Color, opacity float32) {
	c.vertices = append(c.vertices, ebiten.Vertex{DstX: x, DstY: y, SrcX: imageX, SrcY: imageY,
		ColorR: float32(col.R) / 255, ColorG: float32(col.G) / 255, ColorB: float32(col.B) / 255, ColorA: opacity})
}

// triangles paints triangles of the vertices.
func (c *canvas) triangles(indices []uint32, img *ebiten.Image) {
	c.dst.DrawTriangles32(c.vertices, indices, img, &ebiten.DrawTrianglesOptions{Filter: ebiten.FilterLinear, DisableMipmaps: true})
	c.vertices = c.vertices[:0]
}

// strokeIndices are the triangles of a stroke: three rectangles.
var strokeIndices = [...]uint32{0, 1, 2, 1, 3, 2, 2, 3, 4, 3, 5, 4, 4, 5, 6, 5, 7, 6}

// Rectangle fills a rectangle. Its edges are not smooth, so that neighbours leave no gap.
func (c *canvas) Rectangle(x, y, width, height float64, col ecs.Color) {
	px, py := c.pixel(x, y)
	img, _ := c.shapes.get(&c.shapes.squares, 4)
	middle := float32(img.Bounds().Dx()) / 2
	for i := range 4 {
		c.vertex(px+float32(i%2)*float32(width*c.scale), py+float32(i/2)*float32(height*c.scale), middle, middle, col, float32(col.A)/255)
	}
	c.triangles(strokeIndices[:6], img)
}

// Circle fills a circle.
func (c *canvas) Circle(x, y, radius float64, col ecs.Color) {
	px, py := c.pixel(x, y)
	r := float32(radius * c.scale)
	c.stroke(&c.shapes.discs, px-r, py, px+r, py, 2*r, col)
}

// Line draws a line of this width in world units.
func (c *canvas) Line(x0, y0, x1, y1, width float64, col ecs.Color) {
	ax, ay := c.pixel(x0, y0)
	bx, by := c.pixel(x1, y1)
	c.stroke(&c.shapes.squares, ax, ay, bx, by, float32(width*c.scale), col)
}
