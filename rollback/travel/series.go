package travel

import (
	"fmt"

	"tendon/ecs"
)

// Series is one field over a range of ticks.
type Series struct {
	Field  string  `json:"field"`            // component or resource, a dot, the field
	Entity string  `json:"entity,omitempty"` // see EntityName; "" for a resource
	Points []Point `json:"points"`           // of the ticks in which it is there, ascending
}

// Point is the value of a field in a tick.
type Point struct {
	Tick   ecs.Tick `json:"tick"`
	Text   string   `json:"text"`
	Number *float64 `json:"number"` // nil for what is no finite number
}

// SeriesConfig says what a Series is of. Field is required.
type SeriesConfig struct {
	// Entity is whose field it is; its zero value for a resource's. Where the birth was left out it is whoever has the row
	// at From, or first after it.
	Entity EntityRef
	// Field is the component's or resource's name, a dot and the field: "body.Pos.X".
	Field string
	// From and To are the first and the last tick; To beyond the last tick is the last tick.
	From, To ecs.Tick
	// Every is the distance between two points in ticks; 0: 1.
	Every ecs.Tick
	// Progress is called now and then with the tick that was reached, and says whether to go on; nil: always.
	Progress func(f ecs.Tick) bool
}

// progressTicks is how many ticks are played between two calls of a Progress.
const progressTicks = 64

// Series returns a field over a range of ticks. The Traveller stays where it is. Where Progress said no, the points end
// there.
func (t *Traveller) Series(c SeriesConfig) (*Series, error) {
	field, err := t.config.Game.Schema().FindField(c.Field)
	switch {
	case err != nil:
		return nil, err
	case field.Resource() && c.Entity != EntityRef{}:
		return nil, fmt.Errorf("travel: %s is a resource's, which belongs to no entity: leave the entity out", c.Field)
	case !field.Resource() && c.Entity == EntityRef{}:
		return nil, fmt.Errorf("travel: %s is a component's: name the entity whose it is", c.Field)
	case c.From < t.First() || c.From > t.last || c.From > c.To:
		return nil, fmt.Errorf("%w: from %d to %d does not lie in [%d, %d]", ErrRange, c.From, c.To, t.First(), t.last)
	}
	s := &Series{Field: c.Field, Points: []Point{}}
	who, known := c.Entity.Entity(), !c.Entity.Any || field.Resource()
	err = t.excursion(c.From, min(c.To, t.last), max(c.Every, 1), c.Progress, func() {
		if !known {
			who, known = t.Find(c.Entity)
		}
		if v, ok := field.At(t.State(), who); ok {
			p := Point{Tick: t.tick, Text: v.Text}
			if v.Finite() {
				p.Number = &v.Number
			}
			s.Points = append(s.Points, p)
		}
	})
	if known && !field.Resource() {
		s.Entity = EntityName(who)
	}
	return s, err
}

// excursion goes to from and every so many ticks on to to, calls visit there, and comes back.
func (t *Traveller) excursion(from, to, every ecs.Tick, progress func(ecs.Tick) bool, visit func()) error {
	home := t.tick
	for f, n := from, ecs.Tick(0); f <= to; f, n = f+every, n+1 {
		if err := t.Seek(f); err != nil {
			return err
		}
		visit()
		if to-f < every || progress != nil && n%progressTicks == 0 && !progress(f) {
			break
		}
	}
	return t.Seek(home)
}
