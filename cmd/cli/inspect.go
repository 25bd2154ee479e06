package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tendon/cmd/cli/travelpage"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/recording"
	"tendon/rollback/travel"
)

// inspector is a meter with a clock: what sections of a tick cost while a recording is played.
type inspector struct {
	open  []time.Time
	costs []travel.Cost
}

// Enter begins a section.
func (m *inspector) Enter(image.Section) { m.open = append(m.open, time.Now()) }

// Leave ends the section that was entered last.
func (m *inspector) Leave(s image.Section) {
	n := len(m.open) - 1
	m.costs = append(m.costs, travel.Cost{Section: s, Nanoseconds: time.Since(m.open[n]).Nanoseconds()})
	m.open = m.open[:n]
}

// Turn has nothing to do: a tick's costs are taken as soon as it is over.
func (m *inspector) Turn(ecs.Tick) {}

// Name does nothing: a recording is played without a strategy.
func (m *inspector) Name(image.Section, string, string) {}

// AppendCosts appends what was measured since the last call.
func (m *inspector) AppendCosts(dst []travel.Cost) []travel.Cost {
	dst = append(dst, m.costs...)
	m.costs = m.costs[:0]
	return dst
}

// traveller returns a traveller over a match of this game.
func (a *app) traveller(s travel.Source) (*travel.Traveller, error) {
	return travel.New(travel.Config{Game: a.game, Source: s, Meter: new(inspector)})
}

// goOn is a progress that ends with the verb.
func (a *app) goOn(ecs.Tick) bool { return a.ctx.Err() == nil }

// inspect shows one tick, or one entity of it.
func (v *replayVerb) inspect(a *app, r *recording.Recording) error {
	t, err := a.traveller(r)
	if err != nil {
		return err
	}
	return v.showAt(a, t, ecs.Tick(*v.At))
}

// showAt shows a tick of a match.
func (v *replayVerb) showAt(a *app, t *travel.Traveller, at ecs.Tick) error {
	if at < t.First() || at > t.Last() {
		return fmt.Errorf("--at %d: there are the ticks %d to %d", at, t.First(), t.Last())
	}
	if err := t.Seek(at); err != nil {
		return err
	}
	if v.Entity != "" {
		return v.showEntity(a, t)
	}
	frame, resources := t.Frame(), t.Resources()
	entities := []travel.Entity{}
	for e := range t.Entities {
		shown, _ := t.Entity(e)
		entities = append(entities, shown)
	}
	a.emit("frame", fields{"frame": frame, "resources": resources, "entities": entities})
	a.tell(frameText(frame, resources, entities))
	return nil
}

// showEntity shows one entity of the tick that the traveller is at.
func (v *replayVerb) showEntity(a *app, t *travel.Traveller) error {
	ref, err := travel.ParseEntity(v.Entity)
	if err != nil {
		return err
	}
	e, ok := t.Find(ref)
	if !ok {
		return noSuchEntity(a, t, ref)
	}
	shown, _ := t.Entity(e)
	a.emit("entity", fields{"tick": t.Tick(), "entity": shown})
	a.tell(fmt.Sprintf("tick %d\n%s", t.Tick(), entityText(shown)))
	return nil
}

// noSuchEntity says when an entity lived that is not there now.
func noSuchEntity(a *app, t *travel.Traveller, ref travel.EntityRef) error {
	now := t.Tick()
	if !ref.Any {
		life, ok, err := t.Life(ref.Entity())
		if err != nil {
			return err
		}
		if ok {
			return fmt.Errorf("%v is not there in tick %d: it lived %s", ref, now, lifeText(life))
		}
	}
	lives, err := t.Lives(ref.Row, a.goOn)
	switch {
	case err != nil:
		return err
	case a.ctx.Err() != nil:
		return errInterrupted
	case len(lives) == 0:
		return fmt.Errorf("%v is not there in tick %d, nor does anything ever have its row: --at %d without --entity lists what is there", ref, now, now)
	}
	return fmt.Errorf("%v is not there in tick %d: those that have its row are %s", ref, now, livesText(lives, now))
}

func lifeText(l travel.Life) string {
	if l.Alive {
		return fmt.Sprintf("from tick %d to the end", l.From)
	}
	return fmt.Sprintf("from tick %d to %d", l.From, l.To)
}

// livesText names the lives around a tick.
func livesText(lives []travel.Life, now ecs.Tick) string {
	const most = 4
	at := 0
	for at < len(lives) && lives[at].To < now {
		at++
	}
	from := max(0, min(at-most/2, len(lives)-most))
	var parts []string
	for _, l := range lives[from:min(from+most, len(lives))] {
		parts = append(parts, l.Entity+" "+lifeText(l))
	}
	if more := len(lives) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d others", more))
	}
	return strings.Join(parts, ", ")
}

// series lists a field over a range of ticks.
func (v *replayVerb) series(a *app, r *recording.Recording) error {
	t, err := a.traveller(r)
	if err != nil {
		return err
	}
	return v.seriesOf(a, t)
}

// seriesOf lists a field over a range of a match's ticks.
func (v *replayVerb) seriesOf(a *app, t *travel.Traveller) (err error) {
	c := travel.SeriesConfig{Field: v.Field, From: max(ecs.Tick(v.From), t.First()), To: t.Last(), Progress: a.goOn}
	if v.To > 0 {
		c.To = ecs.Tick(v.To)
	}
	if c.To > t.Last() || c.From > c.To {
		return fmt.Errorf("--from %d --to %d: there are the ticks %d to %d", v.From, v.To, t.First(), t.Last())
	}
	if v.Entity != "" {
		if c.Entity, err = travel.ParseEntity(v.Entity); err != nil {
			return err
		}
	}
	s, err := t.Series(c)
	switch {
	case err != nil:
		return err
	case a.ctx.Err() != nil:
		return errInterrupted
	case len(s.Points) == 0:
		if err := t.Seek(c.To); err != nil {
			return err
		}
		if _, there := t.Find(c.Entity); there {
			return fmt.Errorf("%v has no %s in the ticks %d to %d: --at %d --entity %v shows what it has", c.Entity, v.Field, c.From, c.To, c.To, c.Entity)
		}
		return noSuchEntity(a, t, c.Entity)
	}
	a.emit("series", fields{"series": s})
	var text strings.Builder
	for _, p := range s.Points {
		fmt.Fprintf(&text, "%8d  %s\n", p.Tick, p.Text)
	}
	a.tell(text.String())
	return nil
}

// compare says where two recordings part.
func (v *replayVerb) compare(a *app, r *recording.Recording) error {
	data, err := readFile(v.Other)
	if err != nil {
		return err
	}
	other, err := openRecording(a, v.Other, data)
	if err != nil {
		return err
	}
	if v.Page {
		return v.browse(a, travelpage.Match{Name: filepath.Base(v.File), Source: r}, travelpage.Match{Name: filepath.Base(v.Other), Source: other})
	}
	here, err := a.traveller(r)
	if err != nil {
		return err
	}
	there, err := a.traveller(other)
	if err != nil {
		return err
	}
	c, err := travel.Compare(here, there, places, a.goOn)
	switch {
	case errors.Is(err, travel.ErrIncomparable):
		return fmt.Errorf("%w; name two recordings of one match", err)
	case err != nil:
		return err
	case a.ctx.Err() != nil:
		return errInterrupted
	}
	a.emit("comparison", fields{"here": v.File, "there": v.Other, "comparison": c})
	if c.Divergence == nil {
		a.tell(fmt.Sprintf("ticks %d to %d are equal\n", c.From, c.To))
		switch {
		case r.Last() > other.Last():
			a.tell(fmt.Sprintf("%s goes on to tick %d\n", v.File, r.Last()))
		case other.Last() > r.Last():
			a.tell(fmt.Sprintf("%s goes on to tick %d\n", v.Other, other.Last()))
		}
		return nil
	}
	a.tell(divergenceText(c.Divergence))
	return fmt.Errorf("%w: the two differ from tick %d on", errFailed, c.Divergence.Tick)
}

// divergenceText says where two matches part.
func divergenceText(d *travel.Divergence) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tick %d is the first that differs: checksum %s here and %s there\n", d.Tick, d.Here, d.There)
	if d.StateTick != d.Tick {
		b.WriteString("both come out alike when this build plays them, so one was recorded by a build that computes otherwise; replay each alone to see which\n")
	}
	for _, place := range d.Differences {
		fmt.Fprintf(&b, "  %s\n", place.Sentence)
	}
	return b.String()
}
