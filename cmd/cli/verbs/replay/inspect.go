package replay

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/replaypage"
	"tendon/ecs"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
)

// continues returns the progress function of long work: it reports whether the verb continues.
func continues(a *app.App) func(ecs.Tick) bool {
	return func(ecs.Tick) bool { return a.Ctx.Err() == nil }
}

// inspect shows one tick, or one entity of it.
func (v *Verb) inspect(a *app.App, r *record.Record) error {
	c, err := cursor.New(r, time.Now)
	if err != nil {
		return err
	}
	if err := c.Seek(ecs.Tick(*v.At)); err != nil {
		return fmt.Errorf("--at %d: %w", *v.At, err)
	}
	if v.Entity != "" {
		return v.showEntity(a, c)
	}
	frame, resources := c.Frame(), c.State().DescribeResources()
	entities := []cursor.Entity{}
	for e := range c.State().Entities {
		entity, _ := c.Entity(e)
		entities = append(entities, entity)
	}
	a.Emit("frame", app.Fields{"frame": frame, "resources": resources, "entities": entities})
	a.Print(frameText(frame, resources, entities))
	return nil
}

// showEntity shows one entity of the tick that the cursor is at.
func (v *Verb) showEntity(a *app.App, c *cursor.Cursor) error {
	ref, err := cursor.ParseEntity(v.Entity)
	if err != nil {
		return err
	}
	e, _ := c.Find(ref)
	entity, ok := c.Entity(e)
	if !ok {
		return noSuchEntity(c, ref)
	}
	a.Emit("entity", app.Fields{"tick": c.Tick(), "entity": entity})
	a.Print(fmt.Sprintf("tick %d\n%s", c.Tick(), entityText(entity)))
	return nil
}

// noSuchEntity returns an error with the lifetime of an entity that does not exist in this tick.
func noSuchEntity(c *cursor.Cursor, ref cursor.EntityRef) error {
	at := c.Tick()
	l, ok, err := c.Lifetime(ref.Entity)
	switch {
	case err != nil:
		return err
	case ref.Any || !ok:
		return fmt.Errorf("%v does not exist in tick %d: --at %d without --entity lists the entities", ref, at, at)
	}
	return fmt.Errorf("%v does not exist in tick %d: it exists from tick %d to %d", ref, at, l.From, l.To)
}

// series lists a field over a range of ticks.
func (v *Verb) series(a *app.App, r *record.Record) error {
	c, err := cursor.New(r, nil)
	if err != nil {
		return err
	}
	q := cursor.SeriesConfig{Field: v.Field, From: max(ecs.Tick(v.From), c.First()), To: cmp.Or(ecs.Tick(v.To), c.Last()), Progress: continues(a)}
	if q.To > c.Last() || q.From > q.To {
		return fmt.Errorf("--from %d --to %d: the recording has the ticks %d to %d", v.From, v.To, c.First(), c.Last())
	}
	if v.Entity != "" {
		if q.Entity, err = cursor.ParseEntity(v.Entity); err != nil {
			return err
		}
	}
	s, err := c.Series(q)
	switch {
	case err != nil:
		return err
	case a.Ctx.Err() != nil:
		return app.ErrInterrupted
	case len(s.Points) == 0:
		if err := c.Seek(q.To); err != nil {
			return err
		}
		if _, exists := c.Find(q.Entity); exists {
			return fmt.Errorf("%v has no %s in the ticks %d to %d: --at %d --entity %v shows its components", q.Entity, v.Field, q.From, q.To, q.To, q.Entity)
		}
		return noSuchEntity(c, q.Entity)
	}
	a.Emit("series", app.Fields{"series": s})
	for _, p := range s.Points {
		a.Print(fmt.Sprintf("%8d  %s\n", p.Tick, p.Text))
	}
	return nil
}

// compare finds the first tick in which two recordings differ.
func (v *Verb) compare(a *app.App, r *record.Record) error {
	data, err := readFile(v.Second)
	if err != nil {
		return err
	}
	second, err := openRecording(a, v.Second, data)
	if err != nil {
		return err
	}
	if v.Page || v.Export != "" {
		return v.browse(a, replaypage.Match{Name: filepath.Base(v.File), Record: r}, replaypage.Match{Name: filepath.Base(v.Second), Record: second})
	}
	here, err := cursor.New(r, nil)
	if err != nil {
		return err
	}
	there, err := cursor.New(second, nil)
	if err != nil {
		return err
	}
	c, err := cursor.Compare(here, there, maxPlaces, continues(a))
	switch {
	case errors.Is(err, cursor.ErrIncomparable):
		return fmt.Errorf("%w; name two recordings of one match", err)
	case err != nil:
		return err
	case a.Ctx.Err() != nil:
		return app.ErrInterrupted
	}
	a.Emit("comparison", app.Fields{"here": v.File, "there": v.Second, "comparison": c})
	if c.Divergence == nil {
		a.Print(fmt.Sprintf("ticks %d to %d are equal\n", c.From, c.To))
		if here.Last() > c.To {
			a.Print(fmt.Sprintf("%s continues to tick %d\n", v.File, here.Last()))
		}
		if there.Last() > c.To {
			a.Print(fmt.Sprintf("%s continues to tick %d\n", v.Second, there.Last()))
		}
		return nil
	}
	a.Print(divergenceText(c.Divergence))
	return fmt.Errorf("%w: the two differ from tick %d on", app.ErrFailed, c.Divergence.Tick)
}

// divergenceText describes the first tick in which two matches differ.
func divergenceText(d *cursor.Divergence) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tick %d is the first that differs: checksum %s here and %s there\n", d.Tick, d.Here, d.There)
	if d.StateTick != d.Tick {
		b.WriteString("both lead to the same state in this build, so one was recorded by a build that computes otherwise; replay each alone to see which\n")
	}
	for _, place := range d.Differences {
		fmt.Fprintf(&b, "  %s\n", place.Sentence)
	}
	return b.String()
}
