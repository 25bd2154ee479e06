package ecs

import "github.com/yohamta/donburi"

// Screen holds the hooks of a client that has a view: input devices, drawing, and components that only a view needs. All
// hooks are optional, and a server calls none of them.
type Screen struct {
	// History is the least number of confirmed ticks that View.Past reaches back, in [0, 4096], rounded up to a power of two;
	// 0: 128. A tick takes the bytes of the pages that changed in it. Clients and servers report their sum as ring_bytes.
	History int
	// Controls returns the input for the state of the devices. Required for a window of the engine.
	Controls func(c Controls) InputBytes
	// Keys are the keys of Controls with their meaning, in the order in which a window lists them.
	Keys []KeyHelp
	// Touch lists the controls of a touch screen, in order of display. {"Space", "jump"} is a button that holds the key or button
	// of Controls while a finger touches it. {"LeftStick", "walk"} is a stick with the axes of that gamepad stick. "RightStick" is
	// the other one. Pages show the Meaning, and screen readers read it. Optional.
	Touch []KeyHelp
	// Draw paints a view. Required for a window of the engine.
	Draw func(c Canvas, v *View)
	// Font is the name of the asset, a TrueType or OpenType font, that Canvas.Text uses first. A window has glyphs for Latin,
	// Greek, Cyrillic and CJK of its own.
	Font string
	// Sound returns the sound of an event, of which e is the first effect: predicted, or confirmed if it was not predicted
	// here. The sound of an event that is cancelled fades out. The zero Sound is silent. Pages are silent.
	Sound func(v *View, e Effect) Sound
	// Score returns the text for a player in the last column of a window's table of players, for example "12".
	Score func(v *View, p Player) string
	// Chat shows the chat in a window. Enter then opens its line, and no key reaches the game until it is closed.
	Chat bool
	// Effect receives each event once as predicted, then as confirmed or cancelled: for sounds, sparks and messages.
	Effect func(v *View, e Effect)
	// Dress adds the game's own view components to an entity that has appeared in a view, in the order of rows.
	Dress func(v *View, entry *donburi.Entry)
	// Undress receives the entry of an entity that leaves a view, in the order of rows. The entry still has the components
	// that the game added, and none of the simulation's can be read. A game that made its entry the parent of entries of
	// its own removes those here, for example with transform.RemoveChildrenRecursive.
	Undress func(v *View, entry *donburi.Entry)
}

// Color is red, green, blue and opacity, 0 to 255 each, not premultiplied.
type Color struct{ R, G, B, A uint8 }

// KeyHelp is a key or a group of keys and its meaning: {"WASD", "walk"}.
type KeyHelp struct{ Key, Meaning string }

// Sound is a sound asset and how it is played.
type Sound struct {
	Asset  string  // name of the asset, a WAV or Ogg Vorbis file; "": silent
	Volume float64 // in [0, 1]; 0: 1
	Pan    float64 // −1 is left, 1 is right
}

// Canvas is what a game paints on: a window or a browser page. Coordinates are world units through the camera, y pointing
// down.
type Canvas interface {
	// Camera puts the world point (x, y) into the middle and shows height world units from top to bottom.
	Camera(x, y, height float64)
	Rectangle(x, y, width, height float64, c Color)
	Circle(x, y, radius float64, c Color)
	Line(x0, y0, x1, y1, width float64, c Color)
	Polygon(points []Point, c Color)
	// Text writes a line whose top is y, size world units high; align −1 starts at x, 0 is centred, 1 ends there.
	Text(x, y, size float64, align int, text string, c Color)
	// Image paints the asset of that name, a PNG or JPEG file, into the rectangle. A window shows a marker instead of an asset
	// that is missing or broken, and prints its name once.
	Image(name string, x, y, width, height float64, o ImageOptions)
	// Clicked reports where a mouse button was pressed since the last picture, in world units of this canvas. ok is false if it
	// was not. Buttons: "mouse1" is left, "mouse2" right, "mouse3" the middle. A canvas without a pointer reports no press.
	Clicked(button string) (x, y float64, ok bool)
	// Aspect returns the picture's width divided by its height.
	Aspect() float64
	// Hud returns a canvas whose camera is fixed: (0, 0) to (16·Aspect, 16), unaffected by Camera.
	Hud() Canvas
}

// Point is a point in world units.
type Point struct{ X, Y float64 }

// ImageOptions select a part of an image and how it is painted. The zero value paints the whole image unchanged.
type ImageOptions struct {
	Part     Part    // painted part of the image; the zero value: all of it
	Frames   int     // number of pictures side by side in Part, equally wide, of which one is painted; 0: 1
	Frame    int     // index of that picture, modulo Frames
	Rotation float64 // clockwise around the middle of the rectangle, in radians
	Mirrored bool    // left and right are exchanged, before the rotation
	Tint     Color   // multiplies colours and opacity; the zero value changes nothing
}

// Part is a rectangle of an image, in its pixels.
type Part struct{ X, Y, Width, Height int }

// Source returns the part to paint of an image of this size. Width or Height is 0 if nothing of it lies in the image.
func (o *ImageOptions) Source(width, height int) Part {
	p := o.Part
	if p == (Part{}) {
		p = Part{Width: width, Height: height}
	}
	if n := o.Frames; n > 1 {
		p.Width /= n
		p.X += p.Width * ((o.Frame%n + n) % n)
	}
	right, bottom := min(p.X+p.Width, width), min(p.Y+p.Height, height)
	p.X, p.Y = max(p.X, 0), max(p.Y, 0)
	p.Width, p.Height = max(right-p.X, 0), max(bottom-p.Y, 0)
	return p
}

// Controls is the state of the input devices. Positions are in world units of the camera of the last picture.
//
// Keys have Ebitengine's names, in upper or lower case: "A", "0", "ArrowLeft" or "left", "Space", "ShiftLeft", "F5",
// "Numpad0" and so on. "Shift", "Control", "Alt" and "Meta" are the left or the right one. Mouse buttons are "mouse1" (left),
// "mouse2" (right) and "mouse3" (middle). Buttons of a gamepad with the standard layout are "Gamepad" and Ebitengine's name:
// "GamepadRightBottom" is A on an Xbox controller. All gamepads that are connected count as one.
//
// Any other name is an error, which ends a window. So are the keys of the window: F1, F2, F3, F11, Tab, Escape, and Enter in
// a game with Screen.Chat.
type Controls interface {
	// Down reports whether a key or button is held.
	Down(key string) bool
	// Pressed reports whether a key or button went down since the last call of Screen.Controls.
	Pressed(key string) bool
	// Pointer returns where the mouse pointer is.
	Pointer() (x, y float64)
	// Wheel returns how far the mouse wheel turned since the last call of Screen.Controls, in notches; y > 0 is away from the
	// player.
	Wheel() (x, y float64)
	// Axis returns the position of a gamepad's stick, in [−1, 1]; 1 is right or down. Sticks near their middle return 0. Names:
	// "LeftStickHorizontal", "LeftStickVertical", "RightStickHorizontal", "RightStickVertical".
	Axis(name string) float64
	// Touches returns the fingers on a touch screen. The slice is valid during the call of Screen.Controls.
	Touches() []Touch
	// Size returns the size of the picture in pixels.
	Size() (width, height int)
	// Orders takes the orders that the player gives. The client sends them after the frame.
	Orders() *OrderQueue
}

// Touch is a finger on a touch screen.
type Touch struct {
	ID   int // stays while the finger touches
	X, Y float64
}
