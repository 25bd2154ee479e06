package state

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Changes holds the last values of the globals of the server's world, and of the entities that are relevant to a client. For
// each, it also has the tick of the last change. One serves all clients of a room: changes are converted into numbers once per tick, and
// cost what changed and is relevant.
//
// A global is the set of players, which has number 0, or a resource.
type Changes struct {
	schema   *schema
	tick     ecs.Tick              // last observed
	observed bool                  // a tick was observed
	entities histories             // and globals
	values   []uint64              // scratch
	now      *image.Snapshot       // last observed
	all      ecs.Tick              // up to this tick, every entity is observed
	omits    func(ecs.Entity) bool // see OmitPositions; nil: no entity
	omitted  []uint32              // rows whose positions are omitted
	writer   writer
}

// Account makes o count the bytes of all later deltas. A nil o ends the count.
func (c *Changes) Account(o image.ByteObserver) {
	c.writer.byteObserver, c.writer.encoder.sizes = o, nil
	if o != nil {
		c.writer.encoder.sizes = &sizes{}
	}
}

// NewChanges returns the changes of worlds of a game. It fails for a game of more than image.MaxSetComponents components.
func NewChanges(g *ecs.Game) (*Changes, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	s, err := newSchema(g)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	c := &Changes{schema: s}
	c.entities.bound = maxScalars
	c.writer.encoder = encoder{schema: s, models: newModels(s)}
	c.writer.fresh, c.writer.saved = newModels(s), newModels(s)
	c.writer.visit = c.writer.collectEntity
	c.writer.demand = make([]float32, deadlineSeconds*g.TickRate+1)
	return c, nil
}

// Observe records the state of a tick that clients receive. changed must be what differs from the last observed state, or
// from an empty one at first. It panics if the tick is not later than the last. now must remain valid until the next call.
func (c *Changes) Observe(now *image.Snapshot, changed *image.Changed) {
	if c.observed && now.Tick() <= c.tick {
		panic(fmt.Sprintf("state: Observe of tick %d after tick %d: call it once a tick, and make new Changes after a rewind", now.Tick(), c.tick))
	}
	if !c.observed {
		c.all = now.Tick() + keptTicks
	}
	c.tick, c.observed, c.now = now.Tick(), true, now
	for row := range changed.Rows {
		if c.tick <= c.all {
			c.observeRow(now, row)
		} else if h := c.entities.rows.Get(row); h != nil && h.count > 0 {
			if h.relevant+keptTicks >= c.tick {
				c.observeRow(now, row)
			} else {
				c.entities.drop(row)
			}
		}
	}
	c.resumePositions(now)
	for i := range c.schema.globals() {
		if i == 0 || changed.Resource(i-1) {
			c.values = appendGlobal(c.values[:0], now, i)
			if h := c.entities.begin(global(i), 0, len(c.values)); !h.has(c.values) {
				c.entities.push(h, c.tick, c.values, keptTicks)
			}
		}
	}
}

// ObserveAll makes Observe record all entities for the next keptTicks ticks. Call it while clients load images: they then need
// only the values that changed meanwhile.
func (c *Changes) ObserveAll() {
	if c.observed && c.tick > c.all {
		for e := range c.now.Entities {
			if c.entities.of(e) == nil {
				c.observeRow(c.now, e.Row)
			}
		}
	}
	c.all = c.tick + keptTicks
}

// relevant returns the slot of the history of an entity that is relevant to a client, −1 if it does not exist. slot is where it
// was last.
func (c *Changes) relevant(e ecs.Entity, slot int) int {
	if !c.entities.holds(slot, e) {
		if slot = c.entities.slot(e); slot < 0 && c.observed && image.ExistsAt(c.now, e) {
			c.observeRow(c.now, e.Row)
			slot = c.entities.slot(e)
		}
	}
	if slot >= 0 {
		c.entities.rows.At(slot).relevant = c.tick
	}
	return slot
}

func (c *Changes) observeRow(now *image.Snapshot, row uint32) {
	e, set, values := now.AppendScalars(c.values[:0], row)
	c.values = values
	if e.IsZero() {
		c.entities.drop(row)
		return
	}
	h := c.entities.begin(e, set, len(values))
	if h.count == 0 {
		h.priority = c.schema.image.Priority(set)
	}
	before := h.omitted
	if h.omitted = c.omitPosition(h, values); h.omitted && !before {
		c.omitted = append(c.omitted, row)
	}
	if !h.has(values) {
		c.entities.push(h, c.tick, values, keptTicks)
	}
}

// globalRow is added to the number of a global to make a row for it. No entity has such a row.
const globalRow = 1 << 31

// global returns what stands for global i among the entities.
func global(i int) ecs.Entity { return ecs.Entity{Row: globalRow + uint32(i)} }

// appendGlobal appends the values of global i.
func appendGlobal(dst []uint64, s *image.Snapshot, i int) []uint64 {
	if i == 0 {
		return append(dst, uint64(s.Players()))
	}
	return s.AppendResource(dst, i-1)
}

// Priority returns the priority of an entity's components, 0 if it does not exist: see ecs.Roles.
func (c *Changes) Priority(e ecs.Entity) float32 {
	if slot := c.relevant(e, -1); slot >= 0 {
		return c.entities.rows.At(slot).priority
	}
	return 0
}

// All calls yield for every entity with the priority of its components, until yield returns false. It is the relevance set
// of a client that receives all entities.
func (c *Changes) All(yield func(e ecs.Entity, priority float32) bool) {
	c.ObserveAll()
	for slot := range c.entities.rows.Slots() {
		if h := c.entities.rows.At(slot); h.count > 0 && h.entity.Row < globalRow && !yield(h.entity, h.priority) {
			return
		}
	}
}
