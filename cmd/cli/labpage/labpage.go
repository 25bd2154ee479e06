package labpage

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"tendon/cmd/cli/page"
	"tendon/ecs"
)

//go:embed web
var web embed.FS

// Config describes the page.
type Config struct {
	// Game is what is played. Required, with Bot and Draw; without Controls nobody but bots plays.
	Game *ecs.Game
	// Begin is what pages begin with that come without a link's settings: see Usual. Values out of range become the nearest in it.
	Begin Settings
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("labpage: bad Config")

// Streams is how many pages are served at once: each computes matches of its own. It is for page.Config.Streams.
const Streams = 4

// Register lets a server serve the page at its root.
func Register(s *page.Server, c Config) error {
	switch {
	case c.Game == nil:
		return fmt.Errorf("%w: Game is nil", ErrConfig)
	case c.Game.Bot == nil:
		return fmt.Errorf("%w: the game has no Bot, so nobody would play: set ecs.Game.Bot", ErrConfig)
	case c.Game.Screen.Draw == nil:
		return fmt.Errorf("%w: the game has no Draw, so there is nothing to see: set ecs.Game.Screen.Draw", ErrConfig)
	}
	files, err := fs.Sub(web, "web")
	if err != nil {
		return err
	}
	s.Page("/", files)
	s.Handle("/lab", page.Stream(func(ctx context.Context, to *page.Conn) error { return newVisit(c, to).run(ctx) }))
	return nil
}
