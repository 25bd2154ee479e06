//go:build !headless

package window

import (
	"slices"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/inpututil"

	"tendon/cmd/cli/internal/keys"
	"tendon/ecs"
)

// devices are the keyboard, mouse, gamepads, touch screen and its controls, for a game. Positions are in world units of the last camera.
type devices struct {
	canvas *canvas
	orders *ecs.OrderQueue // of the last view; nil before the first
	names  keys.Reader
	touch  *keys.Touch
	muted  bool // the game gets no keys: they go to a line of text or to a menu

	pads    []ebiten.GamepadID
	fingers []ebiten.TouchID
	touches []ecs.Touch
}

var _ ecs.Controls = (*devices)(nil)

// read reads what changes once per picture.
func (d *devices) read() {
	d.touch.Next()
	d.pads = slices.DeleteFunc(ebiten.AppendGamepadIDs(d.pads[:0]), func(id ebiten.GamepadID) bool { return !ebiten.IsStandardGamepadLayoutAvailable(id) })
	for i, button := range mouseButtons {
		if !d.muted && inpututil.IsMouseButtonJustPressed(button) {
			x, y := ebiten.CursorPosition()
			d.canvas.clicks[i] = click{true, x, y}
		}
	}
}

// mouseButtons are Ebitengine's buttons, in the order of keys.Mouse.
var mouseButtons = [len(keys.Mouse)]ebiten.MouseButton{ebiten.MouseButtonLeft, ebiten.MouseButtonRight, ebiten.MouseButtonMiddle}

// Down reports whether a key or button is held.
func (d *devices) Down(key string) bool {
	return d.test(key, ebiten.IsMouseButtonPressed, ebiten.IsStandardGamepadButtonPressed, ebiten.IsKeyPressed, d.touch.Down)
}

// Pressed reports whether a key or button went down since the last picture.
func (d *devices) Pressed(key string) bool {
	return d.test(key, inpututil.IsMouseButtonJustPressed, inpututil.IsStandardGamepadButtonJustPressed, inpututil.IsKeyJustPressed, d.touch.Pressed)
}

// test asks for the button or the key of a name.
func (d *devices) test(name string, mouse func(ebiten.MouseButton) bool, pad func(ebiten.GamepadID, ebiten.StandardGamepadButton) bool, key func(ebiten.Key) bool, touch func(string) bool) bool {
	name = d.names.Find(name)
	if d.muted || name == "" {
		return false
	}
	if touch(name) {
		return true
	}
	if i := slices.Index(keys.Mouse[:], name); i >= 0 {
		return mouse(mouseButtons[i])
	}
	if i := slices.Index(keys.Buttons[:], name); i >= 0 {
		return slices.ContainsFunc(d.pads, func(id ebiten.GamepadID) bool { return pad(id, ebiten.StandardGamepadButton(i)) })
	}
	var k ebiten.Key
	return k.UnmarshalText([]byte(name)) == nil && key(k)
}

// Axis returns the position of the stick that is farthest from its middle.
func (d *devices) Axis(name string) (farthest float64) {
	axis := d.names.Axis(name)
	if d.muted || axis < 0 {
		return 0
	}
	farthest = d.touch.Axis(axis)
	for _, id := range d.pads {
		if x := ebiten.StandardGamepadAxisValue(id, ebiten.StandardGamepadAxis(axis)); max(x, -x) > max(farthest, -farthest, keys.DeadZone) {
			farthest = x
		}
	}
	return farthest
}

// Wheel returns how far the wheel turned since the last picture.
func (d *devices) Wheel() (x, y float64) {
	if d.muted {
		return 0, 0
	}
	return ebiten.Wheel()
}

// Touches returns the fingers on the screen.
func (d *devices) Touches() []ecs.Touch {
	d.touches = d.touches[:0]
	if d.muted {
		return nil
	}
	d.fingers = ebiten.AppendTouchIDs(d.fingers[:0])
	for _, id := range d.fingers {
		x, y := d.canvas.world(ebiten.TouchPosition(id))
		d.touches = append(d.touches, ecs.Touch{ID: int(id), X: x, Y: y})
	}
	return d.touches
}

// Size returns the size of the last picture in pixels, (0, 0) before the first.
func (d *devices) Size() (width, height int) { return d.canvas.width, d.canvas.height }

// Orders returns the queue of the view, nil before the first picture.
func (d *devices) Orders() *ecs.OrderQueue { return d.orders }

// Pointer returns the position of the pointer.
func (d *devices) Pointer() (x, y float64) { return d.canvas.world(ebiten.CursorPosition()) }
