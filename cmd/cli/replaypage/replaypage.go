package replaypage

import (
	"context"
	"embed"

	"tendon/cmd/cli/page"
	"tendon/rollback/record"
)

//go:embed web
var web embed.FS

// Open returns one match, or two that are compared. It is called for each page that is opened, on a goroutine of its own,
// with the name in the page's address, "" if there is none. ctx is done when the page is closed. Records may be shared.
type Open func(ctx context.Context, name string) ([]Match, error)

// Match is a match with its name on the page.
type Match struct {
	Name   string
	Record *record.Record
}

// maxMatches are shown side by side.
const maxMatches = 2

// Register serves the page at a path that begins and ends with a slash.
func Register(s *page.Server, at string, open Open) {
	s.Page(at, web, "web")
	s.Stream(at+"stream", open.stream)
}
