package replaypage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
)

// session is one open page: the matches that it shows, each at a tick, and its jobs. Jobs run on goroutines of their own, so
// that the page can seek meanwhile. Everything else runs on the stream's goroutine.
type session struct {
	source Open
	conn   *page.Conn
	panes  []*pane
	jobs   [jobKinds]job // the newest of each kind
}

// job is work on a goroutine. The zero job has never run.
type job struct {
	cancel context.CancelFunc
	done   chan struct{} // closed at its end
}

// end cancels the job and waits for its end.
func (j job) end() {
	if j.cancel != nil {
		j.cancel()
		<-j.done
	}
}

// The kinds of jobs. A page has one of each at a time. A newer one cancels it and starts after its end.
const (
	lifeJob = iota
	seriesJob
	compareJob
	marksJob
	jobKinds
)

// maxDifferences bounds the differences that are shown.
const maxDifferences = 100

// stream answers a page until it is closed.
func (o Open) stream(ctx context.Context, conn *page.Conn) error {
	s := &session{source: o, conn: conn}
	defer s.stop()
	for message := range conn.Messages() {
		var newest *request // that goes to a tick
		for more := true; more; {
			r, err := parse(message)
			switch {
			case err != nil:
				return err
			case !s.seated(&r):
				err = s.fail(r.ID, "the game has no such player")
			case r.Go != nil:
				newest = &r
			case r.Open != nil:
				err = s.open(ctx, &r)
			default:
				err = s.start(ctx, &r)
			}
			if err != nil {
				return err
			}
			select {
			case message, more = <-conn.Messages():
			default:
				more = false
			}
		}
		if newest != nil {
			if err := s.seek(newest); err != nil {
				return err
			}
		}
	}
	return nil
}

// seated reports whether the viewers of a request are seats of the game, or spectators.
func (s *session) seated(r *request) bool {
	for _, seen := range r.seen() {
		if seen != nil && len(s.panes) > 0 && *seen >= s.panes[0].record.Game().MaxPlayers {
			return false
		}
	}
	return true
}

// stop ends the jobs.
func (s *session) stop() {
	for _, j := range s.jobs {
		j.end()
	}
}

// start starts the job of a request.
func (s *session) start(ctx context.Context, r *request) error {
	kind, matches := lifeJob, []int{0}
	switch {
	case r.Series != nil:
		kind, matches = seriesJob, []int{r.Series.Match}
	case r.Marks != nil:
		kind, matches = marksJob, []int{r.Marks.Match}
	case r.Compare:
		kind, matches = compareJob, []int{0, 1}
	}
	var records []*record.Record
	for _, i := range matches {
		if i >= len(s.panes) {
			return s.fail(r.ID, fmt.Sprintf("match %d is not open", i+1))
		}
		records = append(records, s.panes[i].record)
	}
	work, cancel := context.WithCancel(ctx)
	before, now := s.jobs[kind], job{cancel, make(chan struct{})}
	s.jobs[kind] = now
	go func() {
		defer close(now.done)
		defer cancel()
		if before.end(); work.Err() != nil {
			return
		}
		a := answer{ID: r.ID}
		if err := s.run(work, r, records, &a); err != nil {
			a = answer{ID: r.ID, Error: err.Error()}
		}
		if work.Err() == nil { // otherwise a newer request replaced it
			_ = s.send(a)
		}
	}()
	return nil
}

// run runs a job, with cursors of its own, and sets its part of the answer.
func (s *session) run(ctx context.Context, r *request, records []*record.Record, a *answer) (err error) {
	progress := func(at ecs.Tick) bool {
		if ctx.Err() == nil {
			_ = s.send(answer{ID: r.ID, Progress: &at})
		}
		return ctx.Err() == nil
	}
	var c [maxMatches]*cursor.Cursor
	for i, r := range records {
		if c[i], err = cursor.New(r, nil); err != nil {
			return err
		}
	}
	switch {
	case r.Marks != nil:
		c[0].As(viewer(r.Marks.Seen))
		a.Marks, err = c[0].Marks(progress)
	case r.Series != nil:
		c[0].As(viewer(r.Series.Seen))
		a.Series, err = series(r.Series, c[0], progress)
	case r.Compare:
		a.Compare, err = cursor.Compare(c[0], c[1], maxDifferences, progress)
	default:
		a.Life, err = life(r.Life, c[0])
	}
	return err
}

func series(q *seriesRequest, c *cursor.Cursor, progress func(ecs.Tick) bool) (s *cursor.Series, err error) {
	config := cursor.SeriesConfig{Field: q.Field, From: max(q.From, c.First()), To: min(q.To, c.Last()), Progress: progress}
	config.Every = (config.To-min(config.From, config.To))/ecs.Tick(q.Points) + 1
	if q.Entity != "" {
		if config.Entity, err = cursor.ParseEntity(q.Entity); err != nil {
			return nil, err
		}
	}
	return c.Series(config)
}

func life(name string, c *cursor.Cursor) (*cursor.Lifetime, error) {
	ref, err := cursor.ParseEntity(name)
	if err != nil {
		return nil, err
	}
	if ref.Any {
		return nil, errors.New("add the tick of the entity's birth, as in " + name + "@90")
	}
	l, ok, err := c.Lifetime(ref.Entity)
	if err == nil && !ok {
		err = errors.New("this entity is in no tick of the match")
	}
	return &l, err
}

// send sends an answer.
func (s *session) send(a answer) error {
	message, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("replaypage: %w", err)
	}
	return s.conn.Send(message)
}

// fail answers a request with an error.
func (s *session) fail(id int, why string) error {
	return s.send(answer{ID: id, Error: why})
}
