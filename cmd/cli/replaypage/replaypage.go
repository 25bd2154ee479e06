package replaypage

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/rollback/record"
)

//go:embed web
var web embed.FS

// Config selects the matches of the page. Game and Open are required.
type Config struct {
	Game *ecs.Game
	// Open returns one match, or two that are compared. It is called for each page that is opened, on a goroutine of its
	// own, with the name in the page's address, "" if there is none. ctx is done when the page is closed. Records may be
	// shared.
	Open func(ctx context.Context, name string) ([]Match, error)
}

// Match is a match with its name on the page.
type Match struct {
	Name   string
	Record *record.Record
}

// ErrConfig is wrapped by errors about a Config. They name the field.
var ErrConfig = errors.New("replaypage: bad Config")

// maxMatches are shown side by side.
const maxMatches = 2

// Register serves the page at a path that begins and ends with a slash.
func Register(s *page.Server, at string, c Config) error {
	switch {
	case c.Game == nil:
		return fmt.Errorf("%w: Game is nil", ErrConfig)
	case c.Open == nil:
		return fmt.Errorf("%w: Open is nil", ErrConfig)
	}
	s.Page(at, web, "web")
	s.Handle(at+"stream", page.Stream(c.stream))
	return nil
}
