package cursor

import (
	"fmt"

	"tendon/ecs"
	"tendon/rollback/record"
)

// Series is one field over a range of ticks.
type Series struct {
	Field  string  `json:"field"`            // component or resource, a dot, the field
	Entity string  `json:"entity,omitempty"` // see EntityName; "" for a resource
	Points []Point `json:"points"`           // of the ticks in which it exists, ascending
}

// Point is the value of a field in a tick.
type Point struct {
	Tick   ecs.Tick `json:"tick"`
	Text   string   `json:"text"`
	Number *float64 `json:"number"` // nil if it is no finite number
}

// SeriesConfig selects the points of a Series. Field is required.
type SeriesConfig struct {
	// Entity has the field; zero for a resource's. Without the birth it is the entity that has the row at From, or the first
	// one after that.
	Entity EntityRef
	// Field is the component's or resource's name, a dot and the field: "body.Pos.X".
	Field string
	// From and To are the first and the last tick. To may lie behind the last tick.
	From, To ecs.Tick
	// Every is the distance of two points in ticks; 0: 1.
	Every ecs.Tick
	// Progress is called now and then with the tick that was reached. The series ends when it returns false. Optional.
	Progress func(f ecs.Tick) bool
}

// progressTicks is the number of ticks between two calls of a Progress.
const progressTicks = 64

// Series returns a field over a range of ticks, and moves the Cursor.
func (c *Cursor) Series(s SeriesConfig) (*Series, error) {
	field, err := c.game.Schema().FindField(s.Field)
	switch {
	case err != nil:
		return nil, err
	case field.Resource() && s.Entity != EntityRef{}:
		return nil, fmt.Errorf("cursor: %s is of a resource, which belongs to no entity: leave the entity out", s.Field)
	case !field.Resource() && s.Entity == EntityRef{}:
		return nil, fmt.Errorf("cursor: %s is of a component: name the entity", s.Field)
	case s.From < c.First() || s.From > c.last || s.From > s.To:
		return nil, fmt.Errorf("%w: from %d to %d, it has %d to %d", record.ErrRange, s.From, s.To, c.First(), c.last)
	}
	out := &Series{Field: s.Field, Points: []Point{}}
	entity, known := s.Entity.Entity, !s.Entity.Any || field.Resource()
	to, every := min(s.To, c.last), max(s.Every, 1)
	for f, n := s.From, 0; f <= to; f, n = f+every, n+1 {
		if err := c.Seek(f); err != nil {
			return nil, err
		}
		if !known {
			entity, known = c.Find(s.Entity)
		}
		if v, ok := field.At(c.State(), entity); ok {
			out.Points = append(out.Points, Point{f, v.Text, v.Number})
		}
		if to-f < every || s.Progress != nil && n%progressTicks == 0 && !s.Progress(f) {
			break
		}
	}
	out.Entity = EntityName(entity)
	return out, nil
}
