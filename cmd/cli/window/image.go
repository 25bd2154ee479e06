//go:build !headless

package window

import (
	"bytes"
	"errors"
	"fmt"
	stdimage "image"
	_ "image/jpeg" // a format of assets
	_ "image/png"  // a format of assets

	"github.com/hajimehoshi/ebiten/v2"

	"tendon/ecs"
)

// images are the decoded assets of a game by name. An asset that is missing or broken is nil, and reported once.
type images struct {
	game   *ecs.Game
	report func(error)
	list   map[string]*ebiten.Image
}

// get returns an image, or nil.
func (i *images) get(name string) *ebiten.Image {
	img, known := i.list[name]
	if known {
		return img
	}
	decoded, err := decodeImage(i.game, name)
	if err != nil {
		i.report(err)
	} else {
		img = ebiten.NewImageFromImage(decoded)
	}
	i.list[name] = img
	return img
}

// decodeImage returns the image of an asset. The error has its name.
func decodeImage(g *ecs.Game, name string) (stdimage.Image, error) {
	data, err := asset(g, name)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	decoded, _, err := stdimage.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("image: the asset %q is not a PNG or JPEG file: %w", name, err)
	}
	return decoded, nil
}

// asset returns the data of an asset. The error has its name.
func asset(g *ecs.Game, name string) ([]byte, error) {
	if data := g.Asset(name); data != nil {
		return data, nil
	}
	names := make([]string, len(g.Assets))
	for i, a := range g.Assets {
		names[i] = a.Name
	}
	return nil, fmt.Errorf("%w %q: Game.Assets has %q", errNoAsset, name, names)
}

var errNoAsset = errors.New("there is no asset")

// geometry returns where the pixels of a part of an image lie on a picture, for a rectangle in its pixels.
func geometry(part ecs.Part, x, y, width, height float64, o *ecs.ImageOptions) (g ebiten.GeoM) {
	g.Translate(-float64(part.Width)/2, -float64(part.Height)/2)
	g.Scale(width/float64(part.Width), height/float64(part.Height))
	if o.Mirrored {
		g.Scale(-1, 1)
	}
	g.Rotate(o.Rotation)
	g.Translate(x+width/2, y+height/2)
	return g
}

// Image paints the asset of that name.
func (c *canvas) Image(name string, x, y, width, height float64, o ecs.ImageOptions) {
	img := c.images.get(name)
	if img == nil {
		c.paintMissing(name, x, y, width, height)
		return
	}
	bounds := img.Bounds()
	part := o.Source(bounds.Dx(), bounds.Dy())
	if part.Width == 0 || part.Height == 0 {
		return
	}
	draw := &ebiten.DrawImageOptions{Filter: ebiten.FilterLinear}
	draw.GeoM = geometry(part, (x-c.originX)*c.scale, (y-c.originY)*c.scale, width*c.scale, height*c.scale, &o)
	if o.Tint != (ecs.Color{}) {
		draw.ColorScale.ScaleWithColor(paint(o.Tint))
	}
	source := img.SubImage(stdimage.Rect(part.X, part.Y, part.X+part.Width, part.Y+part.Height)).(*ebiten.Image)
	c.flush()
	c.dst.DrawImage(source, draw)
}

// paintMissing paints the marker of an image that cannot be shown, with its name.
func (c *canvas) paintMissing(name string, x, y, width, height float64) {
	pink, black := ecs.Color{R: 255, B: 220, A: 255}, ecs.Color{A: 255}
	c.Rectangle(x, y, width, height, pink)
	c.Rectangle(x+width/2, y, width/2, height/2, black)
	c.Rectangle(x, y+height/2, width/2, height/2, black)
	c.Text(x+width/2, y+height*0.4, min(height*0.2, width/5), 0, name, ecs.Color{R: 255, G: 255, B: 255, A: 255})
}
