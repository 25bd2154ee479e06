package replaypage

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
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
	Also   string // name of other matches that the page links to. Optional
}

// maxMatches are shown side by side.
const maxMatches = 2

// Register serves the page at a path that begins and ends with a slash.
func Register(s *page.Server, at string, open Open) {
	s.Page(at, web, "web")
	s.Stream(at+"stream", open.stream)
}

// request is a message of a page, with one of its parts. Each answer has its number.
type request struct {
	ID      int            `json:"id"`
	Open    *string        `json:"open"`    // the name in the page's address; the first request, and again for a running match
	Go      *goRequest     `json:"go"`      // to a tick; of several that wait, only the newest is answered
	Series  *seriesRequest `json:"series"`  // a field over time; it ends an earlier one
	Compare bool           `json:"compare"` // the two matches; likewise
	Marks   *marksRequest  `json:"marks"`   // of a match; likewise
	Life    string         `json:"life"`    // the lifetime of the entity with this name; likewise
}

// answer is a message to the page: the number of its request, and one of the other parts.
type answer struct {
	ID       int                `json:"id"`
	Error    string             `json:"error,omitempty"`
	Matches  []opened           `json:"matches,omitempty"`
	At       []tickView         `json:"at,omitempty"`
	Progress *ecs.Tick          `json:"progress,omitempty"` // the tick that a job has reached
	Series   *cursor.Series     `json:"series,omitempty"`
	Compare  *cursor.Comparison `json:"compare,omitempty"`
	Life     *cursor.Lifetime   `json:"life,omitempty"`
	Marks    *cursor.Marks      `json:"marks,omitempty"`
}

// goRequest requests everything about a tick.
type goRequest struct {
	Tick   ecs.Tick  `json:"tick"`
	Aspect float64   `json:"aspect"` // of the pictures
	Entity [2]string `json:"entity"` // selected in each match, by its name; "": none
	Find   string    `json:"find"`   // lists only entities whose name, owner or components contain it
	Seen   *int      `json:"seen"`   // by a seat, −1 for a spectator; null: all
}

// marksRequest requests the marks of a match.
type marksRequest struct {
	Match int  `json:"match"`
	Seen  *int `json:"seen"`
}

// viewer returns the viewer of a cursor for Seen of a request.
func viewer(seen *int) int {
	if seen == nil {
		return cursor.Everyone
	}
	return *seen
}

// seriesRequest requests a field over time, in at most Points points.
type seriesRequest struct {
	Match  int      `json:"match"`
	Entity string   `json:"entity"` // "" for a resource
	Field  string   `json:"field"`
	From   ecs.Tick `json:"from"`
	To     ecs.Tick `json:"to"`
	Points int      `json:"points"`
	Seen   *int     `json:"seen"`
}

// The bounds of a request.
const (
	minAspect, maxAspect = 0.2, 5
	maxPoints            = 2000
	maxFind              = 100 // bytes
)

// parse reads a request and checks its bounds.
func parse(message []byte) (r request, err error) {
	if err := json.Unmarshal(message, &r); err != nil {
		return r, fmt.Errorf("replaypage: not a request: %w", err)
	}
	if g := r.Go; g != nil && (!(g.Aspect >= minAspect && g.Aspect <= maxAspect) || len(g.Find) > maxFind) {
		return r, fmt.Errorf("replaypage: a picture %v times as wide as high, or more than %d bytes to find", g.Aspect, maxFind)
	}
	if s := r.Series; s != nil && (s.Match < 0 || s.Match >= maxMatches || s.Points < 1 || s.Points > maxPoints || s.From > s.To) {
		return r, fmt.Errorf("replaypage: a series of match %d, ticks %d to %d, in %d points", s.Match, s.From, s.To, s.Points)
	}
	if m := r.Marks; m != nil && (m.Match < 0 || m.Match >= maxMatches) {
		return r, fmt.Errorf("replaypage: marks of match %d", m.Match)
	}
	for _, seen := range r.seen() {
		if seen != nil && (*seen < cursor.Spectator || *seen >= image.MaxPlayers) {
			return r, fmt.Errorf("replaypage: seen by seat %d", *seen)
		}
	}
	return r, nil
}

// seen returns the viewers of the parts.
func (r *request) seen() (list []*int) {
	if r.Go != nil {
		list = append(list, r.Go.Seen)
	}
	if r.Series != nil {
		list = append(list, r.Series.Seen)
	}
	if r.Marks != nil {
		list = append(list, r.Marks.Seen)
	}
	return list
}
