package labpage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tendon/cmd/cli/internal/keys"
	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/systems"
)

// Config describes the page.
type Config struct {
	Game       *ecs.Game          // is played; required, with Bot and Draw. Without Controls only bots play
	Strategies []systems.Strategy // that the page offers, except those that cannot hide the game's private data; required
	Begin      Settings           // of a page that is opened without settings in its link: see Usual. They are clamped
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("labpage: bad Config")

// Streams is the number of pages that are served at once, for page.Config.Streams. Each computes its own matches.
const Streams = 4

// Register serves the page at the root of a server.
func Register(s *page.Server, c Config) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Game.Screen.Controls != nil {
		if err := keys.Check(c.Game); err != nil {
			return fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	s.Page("/", web, "web")
	s.Images(c.Game)
	s.Stream("/lab", func(ctx context.Context, to *page.Conn) error { return newViewer(c, to).run(ctx) })
	return nil
}

// check reports what is missing, and sorts the strategies by their panels.
func (c *Config) check() error {
	switch {
	case c.Game == nil:
		return fmt.Errorf("%w: Game is nil", ErrConfig)
	case c.Game.Bot == nil:
		return fmt.Errorf("%w: the game has no Bot: set ecs.Game.Bot", ErrConfig)
	case c.Game.Screen.Draw == nil:
		return fmt.Errorf("%w: the game has no Draw: set ecs.Game.Screen.Draw", ErrConfig)
	case len(c.Strategies) == 0:
		return fmt.Errorf("%w: Strategies is empty", ErrConfig)
	}
	able := slices.DeleteFunc(slices.Clone(c.Strategies), func(s systems.Strategy) bool { return !s.HidesIn(c.Game) })
	if len(able) == 0 {
		return fmt.Errorf("%w: the game has private data, and none of Strategies hides it", ErrConfig)
	}
	usual := Usual(0).Sync // their panels come first
	c.Strategies = slices.SortedStableFunc(slices.Values(able), func(a, b systems.Strategy) int {
		return cmp.Compare(uint(slices.Index(usual, a.Name)), uint(slices.Index(usual, b.Name)))
	})
	return nil
}
