package travelpage

import (
	"context"
	"encoding/json"
	"fmt"

	"tendon/cmd/cli/page"
	"tendon/rollback/travel"
)

// visit is one page that is open: the matches that it shows, each at a tick, and the long work that it asked for, which
// runs aside so that the page can be scrubbed meanwhile. All but the work is done on the stream's goroutine.
type visit struct {
	config  *Config
	conn    *page.Conn
	matches []*stage
	chores  [kinds]chore // the newest of each kind
}

// chore is work that was asked for; the zero one never was.
type chore struct {
	quit context.CancelFunc
	over chan struct{} // closed when it has ended
}

// end ends the work and waits until it has.
func (c chore) end() {
	if c.quit != nil {
		c.quit()
		<-c.over
	}
}

// The kinds of work. A page has one of each at a time; a newer one ends it, and begins when it has ended.
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
	for _, c := range v.chores {
		c.end()
	}
}

// serve does what is asked for, but for going to a tick.
func (v *visit) serve(ctx context.Context, r *request) error {
	switch {
	case r.Open != nil:
		return v.open(ctx, r)
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
	work, cancel := context.WithCancel(ctx)
	before, now := v.chores[kind], chore{cancel, make(chan struct{})}
	v.chores[kind] = now
	asked, matches := *r, v.matches
	go func() {
		defer close(now.over)
		defer cancel()
		if before.end(); work.Err() != nil {
			return
		}
		answer, err := v.work(work, &asked, matches)
		switch {
		case work.Err() != nil: // the page asks for something else by now
		case err != nil:
			_ = v.fail(asked.ID, err.Error())
		default:
			_ = v.say(answer)
		}
	}()
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
