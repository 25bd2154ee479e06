package travelpage

import (
	"encoding/json"
	"fmt"

	"tendon/ecs"
)

// request is what a page asks for: one of its parts is given. Each answer carries its number.
type request struct {
	ID      int            `json:"id"`
	Open    *string        `json:"open"`    // the name in the page's address; the first request, and again for a live match
	Go      *goRequest     `json:"go"`      // to a tick; only the newest of several that wait is answered
	Series  *seriesRequest `json:"series"`  // a field over time; it ends an older one that is under way
	Compare bool           `json:"compare"` // the two matches; likewise
	Life    string         `json:"life"`    // of the entity with that name; likewise
}

// goRequest asks for everything of a tick.
type goRequest struct {
	Tick   ecs.Tick  `json:"tick"`
	Aspect float64   `json:"aspect"` // of the pictures
	Entity [2]string `json:"entity"` // chosen in each match, by its name; "": none
	Find   string    `json:"find"`   // lists only entities whose name, owner or components contain this
}

// seriesRequest asks for a field over time, in at most so many points.
type seriesRequest struct {
	Match  int      `json:"match"`
	Entity string   `json:"entity"` // "" for a resource
	Field  string   `json:"field"`
	From   ecs.Tick `json:"from"`
	To     ecs.Tick `json:"to"`
	Points int      `json:"points"`
}

// The bounds of what a page may ask for.
const (
	leastAspect, mostAspect = 0.2, 5
	mostPoints              = 2000
	mostFind                = 100 // bytes
)

// parse reads a request; what is out of bounds is refused.
func parse(message []byte) (r request, err error) {
	if err := json.Unmarshal(message, &r); err != nil {
		return r, fmt.Errorf("travelpage: a request that is none: %w", err)
	}
	if g := r.Go; g != nil && (!(g.Aspect >= leastAspect && g.Aspect <= mostAspect) || len(g.Find) > mostFind) {
		return r, fmt.Errorf("travelpage: a picture %v times as wide as high, or more than %d bytes to find", g.Aspect, mostFind)
	}
	if s := r.Series; s != nil && (s.Match < 0 || s.Match >= mostMatches || s.Points < 1 || s.Points > mostPoints || s.From > s.To) {
		return r, fmt.Errorf("travelpage: a series of match %d, ticks %d to %d, in %d points", s.Match, s.From, s.To, s.Points)
	}
	return r, nil
}
