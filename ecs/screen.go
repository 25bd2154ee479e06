package ecs

import "github.com/yohamta/donburi"

// Screen holds the hooks of a client that has a view: input devices, drawing, and components that only a view needs. All
// hooks are optional, and a server calls none of them.
type Screen struct {
	// History is the least number of confirmed ticks that View.Past reaches back, in [0, 4096], rounded up to a power of two;
	// 0: 128. A tick takes the bytes of the pages that changed in it. Clients and servers report their sum as ring_bytes.
	History int
	// Controls returns the input for keys and pointer. Required for a window of the engine.
	Controls func(c Controls) InputBytes
	// Draw paints a view. Required for a window of the engine.
	Draw func(c Canvas, v *View)
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
	// Image paints the asset of that name into the rectangle.
	Image(name string, x, y, width, height float64)
	// Clicked reports where a mouse button was pressed since the last picture, in world units of this canvas. ok is false if it
	// was not. Buttons: "mouse1", "mouse2". A canvas without a pointer reports no press.
	Clicked(button string) (x, y float64, ok bool)
	// Aspect returns the picture's width divided by its height.
	Aspect() float64
	// Hud returns a canvas whose camera is fixed: (0, 0) to (16·Aspect, 16), unaffected by Camera.
	Hud() Canvas
}

// Point is a point in world units.
type Point struct{ X, Y float64 }

// Controls is the state of the input devices: keys by their names and a pointer in world units.
type Controls interface {
	// Down reports whether a key is held. Names: "a".."z", "0".."9", "left", "right", "up", "down", "space", "shift",
	// "enter", "tab", "mouse1", "mouse2".
	Down(key string) bool
	// Pressed reports whether a key went down since the last call of Screen.Controls.
	Pressed(key string) bool
	// Pointer returns where the pointer is in world units.
	Pointer() (x, y float64)
	// Orders takes the orders that the player gives. The client sends them after the frame.
	Orders() *OrderQueue
}
