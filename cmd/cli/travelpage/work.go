package travelpage

import (
	"context"
	"errors"

	"tendon/ecs"
	"tendon/rollback/travel"
)

// progress tells the page now and then how far work has come, and ends it when the page wants something else.
func (v *visit) progress(ctx context.Context, id int) func(ecs.Tick) bool {
	return func(at ecs.Tick) bool {
		if ctx.Err() == nil {
			_ = v.say(struct {
				ID       int      `json:"id"`
				Progress ecs.Tick `json:"progress"`
			}{id, at})
		}
		return ctx.Err() == nil
	}
}

func (v *visit) series(r *request, of *stage, goOn func(ecs.Tick) bool) (any, error) {
	q := r.Series
	t, err := v.another(of)
	if err != nil {
		return nil, err
	}
	c := travel.SeriesConfig{Field: q.Field, From: max(q.From, t.First()), To: min(q.To, t.Last()), Progress: goOn}
	c.Every = (c.To-min(c.From, c.To))/ecs.Tick(q.Points) + 1
	if q.Entity != "" {
		if c.Entity, err = travel.ParseEntity(q.Entity); err != nil {
			return nil, err
		}
	}
	s, err := t.Series(c)
	return struct {
		ID     int            `json:"id"`
		Series *travel.Series `json:"series"`
	}{r.ID, s}, err
}

// places bounds the differences that are shown.
const places = 100

func (v *visit) compare(r *request, of []*stage, goOn func(ecs.Tick) bool) (any, error) {
	here, err := v.another(of[0])
	if err != nil {
		return nil, err
	}
	there, err := v.another(of[1])
	if err != nil {
		return nil, err
	}
	c, err := travel.Compare(here, there, places, goOn)
	return struct {
		ID      int                `json:"id"`
		Compare *travel.Comparison `json:"compare"`
	}{r.ID, c}, err
}

func (v *visit) life(r *request, of *stage) (any, error) {
	ref, err := travel.ParseEntity(r.Life)
	if err != nil {
		return nil, err
	}
	if ref.Any {
		return nil, errors.New("say when the entity was born, as in " + r.Life + "@90")
	}
	t, err := v.another(of)
	if err != nil {
		return nil, err
	}
	l, ok, err := t.Life(ref.Entity())
	if err == nil && !ok {
		err = errors.New("this entity never was in the match")
	}
	return struct {
		ID   int         `json:"id"`
		Life travel.Life `json:"life"`
	}{r.ID, l}, err
}
