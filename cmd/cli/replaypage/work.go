package replaypage

import (
	"context"
	"errors"

	"tendon/ecs"
	"tendon/rollback/record/cursor"
)

// maxDifferences bounds the differences that are shown.
const maxDifferences = 100

// run runs a job, with cursors of its own, and sets its part of the answer.
func (s *session) run(ctx context.Context, r *request, panes []*pane, a *answer) error {
	progress := func(at ecs.Tick) bool {
		if ctx.Err() == nil {
			_ = s.send(answer{ID: r.ID, Progress: &at})
		}
		return ctx.Err() == nil
	}
	of := panes[0]
	if r.Series != nil {
		of = panes[r.Series.Match]
	}
	c, err := cursor.New(of.record, nil)
	switch {
	case err != nil:
	case r.Series != nil:
		a.Series, err = series(r.Series, c, progress)
	case r.Compare:
		var there *cursor.Cursor
		if there, err = cursor.New(panes[1].record, nil); err == nil {
			a.Compare, err = cursor.Compare(c, there, maxDifferences, progress)
		}
	default:
		a.Life, err = life(r.Life, c)
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
