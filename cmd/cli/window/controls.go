//go:build !headless

package window

import (
	"github.com/hajimehoshi/ebiten/v2"

	"tendon/ecs"
)

// controls reads keyboard and pointer. The pointer is in world units of the last camera.
type controls struct{ canvas *canvas }

var _ ecs.Controls = controls{}

// named are the keys that are neither letters nor digits.
var named = map[string]ebiten.Key{
	"left": ebiten.KeyArrowLeft, "right": ebiten.KeyArrowRight, "up": ebiten.KeyArrowUp, "down": ebiten.KeyArrowDown,
	"space": ebiten.KeySpace, "shift": ebiten.KeyShift, "enter": ebiten.KeyEnter, "tab": ebiten.KeyTab,
}

// Down reports whether a key or button is held.
func (c controls) Down(key string) bool {
	switch {
	case key == "mouse1":
		return ebiten.IsMouseButtonPressed(ebiten.MouseButtonLeft)
	case key == "mouse2":
		return ebiten.IsMouseButtonPressed(ebiten.MouseButtonRight)
	case len(key) == 1 && key[0] >= 'a' && key[0] <= 'z':
		return ebiten.IsKeyPressed(ebiten.KeyA + ebiten.Key(key[0]-'a'))
	case len(key) == 1 && key[0] >= '0' && key[0] <= '9':
		return ebiten.IsKeyPressed(ebiten.KeyDigit0 + ebiten.Key(key[0]-'0'))
	}
	k, known := named[key]
	return known && ebiten.IsKeyPressed(k)
}

// Pointer returns the position of the pointer in world units.
func (c controls) Pointer() (x, y float64) { return c.canvas.world(ebiten.CursorPosition()) }
