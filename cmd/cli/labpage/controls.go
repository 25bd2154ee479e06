package labpage

import (
	"math"
	"regexp"
	"slices"

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
}

var _ ecs.Controls = (*controls)(nil)

// keyNames matches the keys that are accepted from a page.
var keyNames = regexp.MustCompile("^([a-z0-9]|left|right|up|down|space|shift|enter|tab|mouse[12])$")

// maxHeld bounds the keys that are held at once.
const maxHeld = 12

// set sets the held keys and the pointer.
func (h *controls) set(keys []string, x, y float64, pointed bool) {
	h.held = h.held[:0]
	for _, k := range keys {
		if keyNames.MatchString(k) && len(h.held) < maxHeld {
			h.held = append(h.held, k)
		}
	}
	h.pointed = pointed && !math.IsNaN(x+y) && math.Abs(x) < 1e9 && math.Abs(y) < 1e9
	if h.pointed {
		h.x, h.y = x, y
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

// Pressed reports whether a key is held that was not before.
func (h *controls) Pressed(key string) bool { return h.Down(key) && !slices.Contains(h.before, key) }

// Orders returns the queue of the viewer's orders.
func (h *controls) Orders() *ecs.OrderQueue { return h.orders }

// Down reports whether a key is held.
func (h *controls) Down(key string) bool { return slices.Contains(h.held, key) }

// Pointer returns where the pointer is.
func (h *controls) Pointer() (x, y float64) { return h.x, h.y }
