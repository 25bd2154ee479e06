package labpage

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"tendon/cmd/cli/page"
	"tendon/ecs"
)

//go:embed web
var web embed.FS

// Config describes the page.
type Config struct {
	// Game is what is played. Required, with Bot and Draw. Without Controls only bots play.
	Game *ecs.Game
	// Begin are the settings of a page that is opened without settings in its link: see Usual. They are clamped.
	Begin Settings
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("labpage: bad Config")

// Streams is the number of pages that are served at once, for page.Config.Streams. Each computes its own matches.
const Streams = 4

// Register serves the page at the root of a server.
func Register(s *page.Server, c Config) error {
	switch {
	case c.Game == nil:
		return fmt.Errorf("%w: Game is nil", ErrConfig)
	case c.Game.Bot == nil:
		return fmt.Errorf("%w: the game has no Bot: set ecs.Game.Bot", ErrConfig)
	case c.Game.Screen.Draw == nil:
		return fmt.Errorf("%w: the game has no Draw: set ecs.Game.Screen.Draw", ErrConfig)
	}
	s.Page("/", web, "web")
	s.Stream("/lab", func(ctx context.Context, to *page.Conn) error { return newViewer(c, to).run(ctx) })
	return nil
}
