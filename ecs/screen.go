package ecs

import "github.com/yohamta/donburi"

// Screen holds the hooks of a client that has a view: input devices, drawing, and components that only a view needs.
// All hooks are optional, and a server calls none of them.
type Screen struct {
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
