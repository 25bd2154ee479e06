//go:build !headless

package window

import (
	"bytes"
	stdimage "image"
	"image/jpeg"
	"math"
	"strings"
	"testing"

	"github.com/hajimehoshi/ebiten/v2"

	"tendon/ecs"
)

// The error about an asset that is missing or broken has its name.
func TestAMissingImageIsNamed(t *testing.T) {
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, stdimage.NewGray(stdimage.Rect(0, 0, 3, 2)), nil); err != nil {
		t.Fatal(err)
	}
	var errs []string
	g := &ecs.Game{Assets: []ecs.Asset{{Name: "noise", Data: []byte("noise")}, {Name: "photo", Data: photo.Bytes()}}}
	i := &images{game: g, report: func(err error) { errs = append(errs, err.Error()) }, list: nil}
	i.list = map[string]*ebiten.Image{}
	for range 2 {
		i.get("ship")
		i.get("noise")
	}
	if len(errs) != 2 || !strings.Contains(errs[0], `"ship"`) || !strings.Contains(errs[1], `"noise"`) {
		t.Errorf("%q: want one error about each", errs)
	}
	if img, err := decodeImage(g, "photo"); err != nil || img.Bounds().Dx() != 3 {
		t.Error(err)
	}
}

// A part of an image covers the rectangle, turned around its middle.
func TestAnImageIsTurnedAroundTheMiddleOfItsRectangle(t *testing.T) {
	part := ecs.Part{Width: 10, Height: 20}
	for _, c := range []struct {
		o    ecs.ImageOptions
		x, y float64 // where the top left pixel lies
	}{{ecs.ImageOptions{}, 100, 200}, {ecs.ImageOptions{Mirrored: true}, 140, 200}, {ecs.ImageOptions{Rotation: math.Pi}, 140, 240}, {ecs.ImageOptions{Rotation: math.Pi / 2}, 140, 200}} {
		g := geometry(part, 100, 200, 40, 40, &c.o)
		if x, y := g.Apply(0, 0); math.Abs(x-c.x)+math.Abs(y-c.y) > 1e-9 {
			t.Errorf("%+v: the top left pixel lies at %v %v, want %v %v", c.o, x, y, c.x, c.y)
		}
	}
}
