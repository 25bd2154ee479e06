package travelpage

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/rollback/travel"
)

//go:embed web
var web embed.FS

// Config says what the page shows. Game and Open are required.
type Config struct {
	Game *ecs.Game
	// Open returns one match, or two that are compared. It is called for each page that is opened, on a goroutine of its
	// own, with the name in the page's address, "" if there is none; ctx is done when the page is gone. The sources may be
	// shared: they are only read.
	Open func(ctx context.Context, name string) ([]Match, error)
	// Meter returns what measures the ticks of one match while it is played; nil: they have no costs.
	Meter func() travel.Meter
}

// Match is a match as the page names it.
type Match struct {
	Name   string
	Source travel.Source
}

// ErrConfig is wrapped by errors about a Config; they name the field.
var ErrConfig = errors.New("travelpage: bad Config")

// mostMatches stand side by side.
const mostMatches = 2

// Register serves the page at a path that begins and ends with a slash.
func Register(s *page.Server, at string, c Config) error {
	switch {
	case c.Game == nil:
		return fmt.Errorf("%w: Game is nil: name the game", ErrConfig)
	case c.Open == nil:
		return fmt.Errorf("%w: Open is nil: say what to show", ErrConfig)
	}
	files, err := fs.Sub(web, "web")
	if err != nil {
		panic(fmt.Sprintf("travelpage: the page is not embedded: %v", err))
	}
	s.Page(at, files)
	s.Handle(at+"talk", page.Stream(c.talk))
	return nil
}
