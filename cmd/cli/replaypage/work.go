package replaypage

import (
	"context"
	"errors"

	"tendon/ecs"
	"tendon/rollback/record/cursor"
)

// run runs a job, with cursors of its own.
func (s *session) run(ctx context.Context, r *request, panes []*pane) (any, error) {
	progress := s.progress(ctx, r.ID)
	switch {
	case r.Series != nil:
		return series(r, panes[r.Series.Match], progress)
	case r.Compare:
		return compare(r, panes, progress)
	}
	return life(r, panes[0])
}

// progress returns a function that sends the tick that a job has reached, and reports whether to continue.
func (s *session) progress(ctx context.Context, id int) func(ecs.Tick) bool {
	return func(at ecs.Tick) bool {
		if ctx.Err() == nil {
			_ = s.send(struct {
				ID       int      `json:"id"`
				Progress ecs.Tick `json:"progress"`
			}{id, at})
		}
		return ctx.Err() == nil
	}
}

func series(r *request, of *pane, progress func(ecs.Tick) bool) (any, error) {
	q := r.Series
	c, err := cursor.New(of.record, nil)
	if err != nil {
		return nil, err
	}
	config := cursor.SeriesConfig{Field: q.Field, From: max(q.From, c.First()), To: min(q.To, c.Last()), Progress: progress}
	config.Every = (config.To-min(config.From, config.To))/ecs.Tick(q.Points) + 1
	if q.Entity != "" {
		if config.Entity, err = cursor.ParseEntity(q.Entity); err != nil {
			return nil, err
		}
	}
	s, err := c.Series(config)
	return struct {
		ID     int            `json:"id"`
		Series *cursor.Series `json:"series"`
	}{r.ID, s}, err
}

// maxDifferences bounds the differences that are shown.
const maxDifferences = 100

func compare(r *request, of []*pane, progress func(ecs.Tick) bool) (any, error) {
	here, err := cursor.New(of[0].record, nil)
	if err != nil {
		return nil, err
	}
	there, err := cursor.New(of[1].record, nil)
	if err != nil {
		return nil, err
	}
	c, err := cursor.Compare(here, there, maxDifferences, progress)
	return struct {
		ID      int                `json:"id"`
		Compare *cursor.Comparison `json:"compare"`
	}{r.ID, c}, err
}

func life(r *request, of *pane) (any, error) {
	ref, err := cursor.ParseEntity(r.Life)
	if err != nil {
		return nil, err
	}
	if ref.Any {
		return nil, errors.New("add the tick of the entity's birth, as in " + r.Life + "@90")
	}
	c, err := cursor.New(of.record, nil)
	if err != nil {
		return nil, err
	}
	l, ok, err := c.Lifetime(ref.Entity)
	if err == nil && !ok {
		err = errors.New("this entity is in no tick of the match")
	}
	return struct {
		ID   int             `json:"id"`
		Life cursor.Lifetime `json:"life"`
	}{r.ID, l}, err
}
