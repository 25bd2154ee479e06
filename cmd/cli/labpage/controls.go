package labpage

import (
	"math"
	"slices"

	"tendon/cmd/cli/internal/keys"
	"tendon/ecs"
)

// controls are the viewer's keys, by the names of ecs.Controls, and pointer, in world units.
type controls struct {
	held    []string
	before  []string // held in the last call of Screen.Controls
	x, y    float64
	pointed bool // there is a pointer; otherwise it is ahead of the avatar
	heading [2]float64
	orders  *ecs.OrderQueue

	names   keys.Reader
	axes    [len(keys.Axes)]float64
	wheel   [2]float64 // since the last call of Screen.Controls
	touches []ecs.Touch
	size    [2]int
}

var _ ecs.Controls = (*controls)(nil)

// maxHeld bounds the keys that are held at once.
const maxHeld = 12

// maxTouches bounds the fingers.
const maxTouches = 10

// hands are the devices of the viewer as the page sends them.
type hands struct {
	Keys    []string             `json:"keys"`
	X       float64              `json:"x"`
	Y       float64              `json:"y"`
	Pointed bool                 `json:"pointed"`
	Axes    []float64            `json:"axes"`
	Wheel   [2]float64           `json:"wheel"` // turned since the last message
	Touches []ecs.Touch          `json:"touches"`
	Size    [2]int               `json:"size"`
	Clicks  map[string]ecs.Point `json:"clicks"` // see page.Picture
}

func usable(x, y float64) bool { return !math.IsNaN(x+y) && math.Abs(x) < 1e9 && math.Abs(y) < 1e9 }

// set sets the devices.
func (h *controls) set(from *hands) {
	h.held = h.held[:0]
	for _, k := range from.Keys {
		if keys.Valid(k) && len(h.held) < maxHeld {
			h.held = append(h.held, k)
		}
	}
	h.pointed = from.Pointed && usable(from.X, from.Y)
	if h.pointed {
		h.x, h.y = from.X, from.Y
	}
	h.axes = [len(keys.Axes)]float64{}
	for i, x := range from.Axes[:min(len(from.Axes), len(h.axes))] {
		if max(x, -x) > keys.DeadZone {
			h.axes[i] = min(max(x, -1), 1)
		}
	}
	for i, turned := range from.Wheel {
		h.wheel[i] = min(max(h.wheel[i]+turned, -100), 100)
	}
	h.touches = h.touches[:0]
	for _, t := range from.Touches {
		if len(h.touches) < maxTouches && usable(t.X, t.Y) {
			h.touches = append(h.touches, t)
		}
	}
	for i, pixels := range from.Size {
		h.size[i] = min(max(pixels, 0), 1<<16)
	}
}

// aim puts the pointer ahead of the avatar if the viewer has none, in the direction of the keys.
func (h *controls) aim(x, y float64, ok bool) {
	if h.pointed || !ok {
		return
	}
	way := [2]float64{}
	for i, keys := range [2][4]string{{"left", "a", "right", "d"}, {"up", "w", "down", "s"}} {
		if h.Down(keys[0]) || h.Down(keys[1]) {
			way[i]--
		}
		if h.Down(keys[2]) || h.Down(keys[3]) {
			way[i]++
		}
	}
	if way != [2]float64{} {
		h.heading = way
	}
	if h.heading == [2]float64{} {
		h.heading[0] = 1
	}
	h.x, h.y = x+aimAhead*h.heading[0], y+aimAhead*h.heading[1]
}

const aimAhead = 6 // how far ahead of the avatar keys aim, in world units

// seen ends a call of Screen.Controls: Pressed no longer reports the keys that are held.
func (h *controls) seen() {
	h.before, h.wheel = append(h.before[:0], h.held...), [2]float64{}
}

// Pressed reports whether a key is held that was not before.
func (h *controls) Pressed(key string) bool {
	return h.Down(key) && !keys.Holds(func(k string) bool { return slices.Contains(h.before, k) }, h.names.Find(key))
}

// Orders returns the queue of the viewer's orders.
func (h *controls) Orders() *ecs.OrderQueue { return h.orders }

// Down reports whether a key is held.
func (h *controls) Down(key string) bool {
	return keys.Holds(func(k string) bool { return slices.Contains(h.held, k) }, h.names.Find(key))
}

// Pointer returns where the pointer is.
func (h *controls) Pointer() (x, y float64) { return h.x, h.y }

// Wheel returns how far the wheel turned since the last call of Screen.Controls.
func (h *controls) Wheel() (x, y float64) { return h.wheel[0], h.wheel[1] }

// Axis returns the position of a stick.
func (h *controls) Axis(name string) float64 {
	if i := h.names.Axis(name); i >= 0 {
		return h.axes[i]
	}
	return 0
}

// Touches returns the fingers on the picture.
func (h *controls) Touches() []ecs.Touch { return h.touches }

// Size returns the size of a picture in pixels.
func (h *controls) Size() (width, height int) { return h.size[0], h.size[1] }
