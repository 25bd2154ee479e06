package labpage

import (
	"bytes"
	"errors"
	"image/gif"
	"testing"
	"time"

	"tendon/cmd/arena/rules"
)

// The pictures of both strategies move, and the same settings give the same film.
func TestTheFilmMoves(t *testing.T) {
	s := Usual(7)
	s.Players = 1
	c := Config{Game: rules.Game(), Strategies: all}
	g, err := newFilm(c, s, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if b := g.Image[0].Rect; len(g.Image) != 6 || b.Dx() != 2*filmWidth+3*filmMargin || len(g.Image[0].Palette) > 256 {
		t.Fatalf("%d pictures, the first is %v with %d colours", len(g.Image), b, len(g.Image[0].Palette))
	}
	var moved [2]bool // by panel
	for _, m := range g.Image[1:] {
		for i, x := range m.Pix {
			if y := m.Rect.Min.Y + i/m.Stride; x != 0 && y > filmCaption && y < filmCaption+filmPanel && i%m.Stride < m.Rect.Dx() {
				moved[min((m.Rect.Min.X+i%m.Stride)/(filmWidth+filmMargin), 1)] = true
			}
		}
	}
	if moved != [2]bool{true, true} {
		t.Errorf("the pictures of the two strategies move: %v", moved)
	}
	var first, second bytes.Buffer
	again, err := newFilm(c, s, 300*time.Millisecond)
	if err := errors.Join(err, gif.EncodeAll(&first, g), gif.EncodeAll(&second, again)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same settings give another film")
	}
}
