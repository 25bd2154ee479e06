// Package window shows a game to a person: an Ebitengine window that turns keys and pointer into inputs and paints
// what the game's Draw asks for.
//
// It is the only package that imports Ebitengine. With the build tag headless it has no window: Check and Run say so,
// and the binary needs no graphics library at all.
package window

import (
	"errors"
	"time"

	"tendon/ecs"
)

// Config describes a window.
type Config struct {
	// Title stands in the window's frame.
	Title string
	// Game paints and reads the controls: its Draw and Controls are required.
	Game *ecs.Game
	// Frame is called before each picture with what the hands do. An error ends the window; ErrClosed ends it quietly.
	Frame func(now time.Time, in ecs.InputBytes) error
	// View returns what to paint, nil while there is nothing yet.
	View func(now time.Time) *ecs.View
	// Status is a line to show: the whole message while there is no view, a note at the bottom else; nil for none.
	Status func() string
}

// ErrClosed is returned by a Frame that wants the window to end without an error.
var ErrClosed = errors.New("window: closed")

// ErrUnavailable is wrapped by Check's and Run's errors on a machine or in a binary that cannot open a window.
var ErrUnavailable = errors.New("no window can be opened")
