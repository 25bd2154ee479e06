package travelpage

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"tendon/cmd/cli/page"
	"tendon/rollback/travel"
)

// visit is one page that is open: the matches that it shows, each at a tick, and the long work that it asked for, which
// runs aside so that the page can be scrubbed meanwhile. All but the work is done on the stream's goroutine.
type visit struct {
	config  *Config
	conn    *page.Conn
	matches []*stage
	chores  sync.WaitGroup
	quit    [kinds]context.CancelFunc // ends the work of a kind that is under way; nil: there was none
}

// The kinds of work. A page has one of each at a time; a newer one ends it.
const (
	ofSeries = iota
	ofCompare
	ofLife
	kinds
)

// talk answers a page until it is gone.
func (c *Config) talk(ctx context.Context, conn *page.Conn) error {
	v := &visit{config: c, conn: conn}
	defer v.drop()
	for message := range conn.Messages() {
		var last *request // of those that go to a tick
		for more := true; more; {
			r, err := parse(message)
			if err != nil {
				return err
			}
			if r.Go != nil {
				last = &r
			} else if err := v.serve(ctx, &r); err != nil {
				return err
			}
			select {
			case message, more = <-conn.Messages():
			default:
				more = false
			}
		}
		if last != nil {
			if err := v.goTo(last); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop ends the work under way.
func (v *visit) drop() {
	for _, quit := range v.quit {
		if quit != nil {
			quit()
		}
	}
	v.chores.Wait()
}

// serve does what is asked for, but for going to a tick.
func (v *visit) serve(ctx context.Context, r *request) error {
	switch {
	case r.Open != nil:
		return v.open(r)
	case len(v.matches) == 0:
		return v.fail(r.ID, "nothing is open")
	case r.Series != nil && r.Series.Match >= len(v.matches), r.Compare && len(v.matches) < mostMatches:
		return v.fail(r.ID, "there is one match only")
	}
	kind := ofLife
	switch {
	case r.Series != nil:
		kind = ofSeries
	case r.Compare:
		kind = ofCompare
	}
	if quit := v.quit[kind]; quit != nil {
		quit()
	}
	work, cancel := context.WithCancel(ctx)
	v.quit[kind] = cancel
	asked, matches := *r, v.matches
	v.chores.Go(func() {
		defer cancel()
		answer, err := v.work(work, &asked, matches)
		switch {
		case work.Err() != nil: // the page asks for something else by now
		case err != nil:
			_ = v.fail(asked.ID, err.Error())
		default:
			_ = v.say(answer)
		}
	})
	return nil
}

// say sends an answer.
func (v *visit) say(answer any) error {
	message, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("travelpage: %w", err)
	}
	return v.conn.Send(message)
}

// fail tells that a request cannot be met.
func (v *visit) fail(id int, why string) error {
	return v.say(struct {
		ID    int    `json:"id"`
		Error string `json:"error"`
	}{id, why})
}

// work does what takes long, with travellers of its own.
func (v *visit) work(ctx context.Context, r *request, matches []*stage) (any, error) {
	goOn := v.progress(ctx, r.ID)
	switch {
	case r.Series != nil:
		return v.series(r, matches[r.Series.Match], goOn)
	case r.Compare:
		return v.compare(r, matches, goOn)
	}
	return v.life(r, matches[0])
}

// another returns a second traveller over a match, for work.
func (v *visit) another(s *stage) (*travel.Traveller, error) {
	return travel.New(travel.Config{Game: v.config.Game, Source: s.source})
}
