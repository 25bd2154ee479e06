//go:build !headless

package main

import (
	"image/color"
	"math"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/vector"
	"github.com/yohamta/donburi"
)

// Sprite is how an entity looks: the view's own, an ordinary donburi component with a pointer and a tween in it. It
// stays while the entity is shown, whatever is rewound meanwhile.
type Sprite struct {
	image *ebiten.Image // looking right
	age   float64       // seconds on the screen, for the tween
	turn  float64       // radians; follows the way it swims
}

var (
	sprite = donburi.NewComponentType[Sprite]()
	water  = color.RGBA{16, 42, 64, 255}
)

const growSeconds = 0.4

// draw paints a sprite at its body, elapsed after the picture before.
func (s *Sprite) draw(screen *ebiten.Image, b *Body, elapsed time.Duration) {
	s.age += min(elapsed.Seconds(), 0.1)
	vx, vy := b.Vel.X.Float(), b.Vel.Y.Float()
	if seconds := min(elapsed.Seconds(), 0.1); math.Hypot(vx, vy) > 0.2 {
		s.turn += math.Remainder(math.Atan2(vy, vx)-s.turn, 2*math.Pi) * (1 - math.Exp(-8*seconds))
	}
	size := 1.0
	if t := s.age / growSeconds; t < 1 { // grows a little too far and back
		size = 1 + 2.7*math.Pow(t-1, 3) + 1.7*math.Pow(t-1, 2)
	}
	o := &ebiten.DrawImageOptions{Filter: ebiten.FilterLinear}
	bounds := s.image.Bounds()
	o.GeoM.Translate(-float64(bounds.Dx())/2, -float64(bounds.Dy())/2)
	o.GeoM.Scale(size, size)
	if math.Abs(s.turn) > math.Pi/2 { // never belly up
		o.GeoM.Scale(1, -1)
	}
	o.GeoM.Rotate(s.turn)
	o.GeoM.Translate(b.Pos.X.Float(), b.Pos.Y.Float())
	screen.DrawImage(s.image, o)
}

// pictures are what sprites are made of.
type pictures struct {
	fish   [4]*ebiten.Image
	bubble *ebiten.Image
}

func paintPictures() *pictures {
	p := &pictures{bubble: ebiten.NewImage(16, 16)}
	vector.StrokeCircle(p.bubble, 8, 8, 6, 1.5, color.RGBA{150, 210, 235, 255}, true)
	vector.FillCircle(p.bubble, 6, 6, 1.5, color.White, true)
	for i, c := range []color.RGBA{{255, 150, 60, 255}, {90, 200, 250, 255}, {250, 210, 80, 255}, {240, 110, 150, 255}} {
		img := ebiten.NewImage(44, 28)
		for x := range 10 { // the tail
			vector.FillRect(img, float32(2+x), float32(5+x), 1, float32(18-2*x), c, false)
		}
		vector.FillCircle(img, 20, 14, 11, c, true)
		vector.FillCircle(img, 29, 14, 9, c, true)
		vector.FillCircle(img, 32, 11, 2.5, color.White, true)
		vector.FillCircle(img, 33, 11, 1.2, color.Black, true)
		p.fish[i] = img
	}
	return p
}

// spriteOf returns the sprite for an entity that has just appeared.
func (p *pictures) spriteOf(entry *donburi.Entry) *Sprite {
	if entry.HasComponent(bubble) {
		return &Sprite{image: p.bubble}
	}
	return &Sprite{image: p.fish[int(seat.GetValue(entry).Player)%len(p.fish)]}
}
