package replaypage

import (
	"context"
	"encoding/json"
	"fmt"

	"tendon/cmd/cli/page"
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
	seriesJob = iota
	compareJob
	lifeJob
	jobKinds
)

// stream answers a page until it is closed.
func (o Open) stream(ctx context.Context, conn *page.Conn) error {
	s := &session{source: o, conn: conn}
	defer s.stop()
	for message := range conn.Messages() {
		var newest *request // that goes to a tick
		for more := true; more; {
			r, err := parse(message)
			if err != nil {
				return err
			}
			if r.Go != nil {
				newest = &r
			} else if err := s.serve(ctx, &r); err != nil {
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

// stop ends the jobs.
func (s *session) stop() {
	for _, j := range s.jobs {
		j.end()
	}
}

// serve handles a request that does not go to a tick.
func (s *session) serve(ctx context.Context, r *request) error {
	switch {
	case r.Open != nil:
		return s.open(ctx, r)
	case len(s.panes) == 0:
		return s.fail(r.ID, "no match is open")
	case r.Series != nil && r.Series.Match >= len(s.panes), r.Compare && len(s.panes) < maxMatches:
		return s.fail(r.ID, "there is one match only")
	}
	kind := lifeJob
	switch {
	case r.Series != nil:
		kind = seriesJob
	case r.Compare:
		kind = compareJob
	}
	work, cancel := context.WithCancel(ctx)
	before, now := s.jobs[kind], job{cancel, make(chan struct{})}
	s.jobs[kind] = now
	request, panes := *r, s.panes
	go func() {
		defer close(now.done)
		defer cancel()
		if before.end(); work.Err() != nil {
			return
		}
		a := answer{ID: request.ID}
		if err := s.run(work, &request, panes, &a); err != nil {
			a = answer{ID: request.ID, Error: err.Error()}
		}
		if work.Err() == nil { // otherwise a newer request replaced it
			_ = s.send(a)
		}
	}()
	return nil
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
