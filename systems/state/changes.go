package state

import (
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Changes is what happened of late to everything in the server's world: for each entity and resource its last values,
// and since which tick it has had them. One serves all clients of a room: what changed is looked for, and taken apart
// into numbers, once a tick, and costs what changed.
type Changes struct {
	schema    *schema
	state     *image.Snapshot   // of the last tick that was observed
	states    [2]image.Snapshot // of Observe; the newest is states[turn]
	turn      int
	tick      ecs.Tick
	observed  []ecs.Tick // the last ones, in a ring of history
	changed   image.Changed
	entities  tracks
	specials  []track // players, resources
	values    []uint64
	elsewhere func(ecs.Entity) bool // see OmitPositions; may be nil
	omitted   []uint32              // rows whose positions are omitted
	writer    writer
}

// history is how many values a server keeps of each entity: of something that changes all the time, those of as many
// observed ticks. A client whose acknowledgements take longer is sent whole values. A power of two.
const history = 64

// NewChanges returns the changes of worlds of a game. It fails for a game of more than image.MaxSetComponents components.
func NewChanges(g *ecs.Game) (*Changes, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	s, err := newSchema(g)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	c := &Changes{schema: s, specials: make([]track, s.specials())}
	c.state = &c.states[0]
	c.entities.bound = trackedScalars
	c.writer.encoder = encoder{schema: s, models: newModels(s)}
	c.writer.visit = c.writer.wantEntity
	c.writer.demand = make([]float32, deadlineSeconds*g.TickRate+1)
	return c, nil
}

// Observe takes the state of the world, which must be of a later tick than the last. It saves the world and finds what
// changed. A server that has both already calls ObserveState instead.
func (c *Changes) Observe(w *ecs.World) {
	if len(c.observed) > 0 && w.Tick() <= c.tick {
		c.notLater(w.Tick())
	}
	base := &c.states[c.turn]
	c.turn ^= 1
	now := &c.states[c.turn]
	w.Image().Save(now)
	c.changed.Find(base, now)
	c.ObserveState(now, &c.changed)
}

// ObserveState takes the state of a tick later than the last, and what changed since the last. Call it after each tick that
// clients receive. The state must be valid until the next call.
func (c *Changes) ObserveState(now *image.Snapshot, changed *image.Changed) {
	if len(c.observed) > 0 && now.Tick() <= c.tick {
		c.notLater(now.Tick())
	}
	c.state, c.tick = now, now.Tick()
	if len(c.observed) < history {
		c.observed = append(c.observed, c.tick)
	} else {
		copy(c.observed, c.observed[1:])
		c.observed[history-1] = c.tick
	}
	for row := range changed.Rows {
		c.take(now, row)
	}
	c.resume(now)
	c.values = append(c.values[:0], uint64(now.Players()))
	c.special(0)
	for i := range c.schema.game.Resources {
		if changed.Resource(i) {
			c.values = now.AppendResource(c.values[:0], i)
			c.special(1 + i)
		}
	}
}

func (c *Changes) notLater(f ecs.Tick) {
	panic(fmt.Sprintf("state: Observe of tick %d after tick %d: call it once a tick, and make new Changes after a rewind", f, c.tick))
}

// take takes note of the values of a row.
func (c *Changes) take(now *image.Snapshot, row uint32) {
	e, set, values := now.AppendScalars(c.values[:0], row)
	c.values = values
	if e.IsZero() {
		c.entities.drop(row)
		return
	}
	t := c.entities.begin(e, set, len(values))
	if t.count == 0 {
		t.priority = c.schema.image.Priority(set)
	}
	was := t.omits
	if t.omits = c.hold(t, values); t.omits && !was {
		c.omitted = append(c.omitted, row)
	}
	if !t.has(values) {
		c.entities.push(t, c.tick, values, history)
	}
}

// special takes note of the values at hand, those of a special.
func (c *Changes) special(i int) {
	t := &c.specials[i]
	if t.count == 0 {
		t.begin(ecs.Entity{}, 0, len(c.values))
	}
	if !t.has(c.values) {
		t.push(c.tick, c.values, history)
	}
}

// Tick returns the last tick that was observed.
func (c *Changes) Tick() ecs.Tick { return c.tick }

// State returns the state that was last observed. It is valid until the next Observe.
func (c *Changes) State() *image.Snapshot { return c.state }

// Priority returns the priority of an entity's components, 0 if it is not there: see ecs.Roles.
func (c *Changes) Priority(e ecs.Entity) float32 {
	if t := c.entities.at(e.Row); t != nil && t.entity == e {
		return t.priority
	}
	return 0
}

// All calls f for every entity, each with the priority of its components, until f returns false. It is the interest of a
// client that receives all entities.
func (c *Changes) All(f func(e ecs.Entity, priority float32) bool) {
	for i := range c.entities.all {
		if t := &c.entities.all[i]; t.count > 0 && !f(t.entity, t.priority) {
			return
		}
	}
}

// track returns where the values of an item are, nil if it is an entity that is gone.
func (c *Changes) track(it *item) *track {
	if it.special() {
		return &c.specials[it.row]
	}
	if t := c.entities.at(it.row); t != nil && t.entity == it.entity {
		return t
	}
	return nil
}

// saw reports whether tick f was observed and is among the last.
func (c *Changes) saw(f ecs.Tick) bool {
	_, ok := slices.BinarySearch(c.observed, f)
	return ok
}
