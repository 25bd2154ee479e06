//go:build !headless

package window

import (
	"bytes"
	"fmt"
	"io"

	"github.com/hajimehoshi/ebiten/v2/text/v2"
	"golang.org/x/image/font/gofont/gomedium"

	"tendon/ecs"
)

// fonts are the sources of glyphs, in the order in which they are asked for one.
type fonts struct {
	sources []*text.GoTextFaceSource
	size    float64 // of face
	face    text.Face
}

// newFonts returns the fonts of a game: its own, if it has one, Go Medium, and CJK.
func newFonts(g *ecs.Game) (*fonts, error) {
	f := &fonts{}
	if name := g.Screen.Font; name != "" {
		own, err := text.NewGoTextFaceSource(bytes.NewReader(g.Asset(name)))
		if err != nil {
			return nil, fmt.Errorf("window: Screen.Font: the asset %q is not a TrueType or OpenType font: %w", name, err)
		}
		f.sources = append(f.sources, own)
	}
	latin, err := text.NewGoTextFaceSource(bytes.NewReader(gomedium.TTF))
	if err != nil {
		return nil, fmt.Errorf("window: font: %w", err)
	}
	f.sources = append(f.sources, latin)
	return f, f.addCJK()
}

// add appends the glyphs of a font.
func (f *fonts) add(font io.Reader) error {
	source, err := text.NewGoTextFaceSource(font)
	if err != nil {
		return fmt.Errorf("window: font: %w", err)
	}
	f.sources, f.face = append(f.sources, source), nil
	return nil
}

// of returns the face of a size in pixels.
func (f *fonts) of(size float64) (text.Face, error) {
	if f.face != nil && f.size == size {
		return f.face, nil
	}
	faces := make([]text.Face, len(f.sources))
	for i, s := range f.sources {
		faces[i] = &text.GoTextFace{Source: s, Size: size}
	}
	face, err := text.NewMultiFace(faces...)
	if err == nil {
		f.size, f.face = size, face
	}
	return face, err
}
