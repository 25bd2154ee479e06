// Package window shows a game in an Ebitengine window. It turns keys and pointer into inputs and paints the game's Draw.
//
// Of cmd/cli, only this package imports Ebitengine. With the build tag headless there is no window: Check and Run return an
// error, and the binary needs no graphics library.
package window

import (
	"errors"
	"time"

	"tendon/cmd/cli/internal/keys"
	"tendon/ecs"
	"tendon/net/client"
)

// Config describes a window.
type Config struct {
	// Title is the title of the window.
	Title string
	// Place is a file with the position and the size of the window of an earlier process, which is written when they change.
	// Optional.
	Place string
	// Game paints and reads the controls: its Draw and Controls are required.
	Game *ecs.Game
	// Frame is called before each picture with the current input. An error closes the window; ErrClosed is not returned by Run.
	Frame func(now time.Time, in ecs.InputBytes) error
	// View returns the view to paint; nil: there is none yet. It passes the effects to show to effect.
	View func(now time.Time, effect func(*ecs.View, ecs.Effect)) *ecs.View
	// Status returns a line of text: in the middle while there is no view, else at the bottom.
	Status func() string
	// Banner returns a line of text that is drawn over the match; "": none. Optional.
	Banner func(now time.Time) string
	// Report receives errors that do not close the window, each once: an asset that is missing or broken. Optional.
	Report func(error)
	// Pause pauses or resumes the match. Optional, like all fields below; the menu has only what is set.
	Pause func()
	// Next continues the match with the next strategy.
	Next func()
	// Network changes the simulated network to the next one and returns its name.
	Network func() string
	// Touch has the controls of a touch screen.
	Touch *keys.Touch
	// Stats returns the figures for the net graph.
	Stats func() client.Stats
	// Say sends a line of the chat, and Chat has the lines to show. They are used if the game sets Screen.Chat.
	Say  func(text string)
	Chat <-chan string
}

// ErrClosed is returned by a Frame that closes the window without an error.
var ErrClosed = errors.New("window: closed")

// ErrUnavailable is wrapped by the errors of Check and Run if no window can be opened.
var ErrUnavailable = errors.New("no window can be opened")
