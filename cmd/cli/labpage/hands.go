package labpage

import (
	"math"
	"slices"

	"tendon/ecs"
)

// hands are a person's at the page: keys by the names of ecs.Controls, and a pointer in world units.
type hands struct {
	held    []string
	x, y    float64
	pointed bool // there is a pointer; else it lies ahead of where the keys go
	heading [2]float64
}

var _ ecs.Controls = (*hands)(nil)

// keyNames are the keys that a page may say are held.
var keyNames = func() map[string]bool {
	names := map[string]bool{}
	for _, k := range []string{"left", "right", "up", "down", "space", "shift", "enter", "tab", "mouse1", "mouse2"} {
		names[k] = true
	}
	for _, k := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		names[string(k)] = true
	}
	return names
}()

// mostHeld bounds the keys that are held at once.
const mostHeld = 12

// take is what the hands do now.
func (h *hands) take(keys []string, x, y float64, pointed bool) {
	h.held = h.held[:0]
	for _, k := range keys {
		if keyNames[k] && len(h.held) < mostHeld {
			h.held = append(h.held, k)
		}
	}
	h.pointed = pointed && !math.IsNaN(x+y) && math.Abs(x) < 1e9 && math.Abs(y) < 1e9
	if h.pointed {
		h.x, h.y = x, y
	}
}

// aim points ahead of the avatar where there is no pointer, so that who has keys alone can aim too.
func (h *hands) aim(x, y float64, ok bool) {
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

// aimAhead is how far ahead of the avatar keys aim, in world units.
const aimAhead = 6

// Down reports whether a key is held.
func (h *hands) Down(key string) bool { return slices.Contains(h.held, key) }

// Pointer returns where the pointer is.
func (h *hands) Pointer() (x, y float64) { return h.x, h.y }
