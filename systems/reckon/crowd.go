package reckon

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
)

// crowd is everybody else, as this client shows them: a ghost for each entity that a record came of.
type crowd struct {
	client *Client
	others []*other
	byRow  map[uint32]int // place in others
	free   []*other
	acks   []heldAck
	depth  int // of what stands on what
	at     systems.Time
}

// other is an entity that is reckoned.
type other struct {
	entity  ecs.Entity
	ghost   Ghost
	track   Track
	anchors [maxAnchor + 1]fixed.Vec3
	set     uint16 // bit n: anchor n is set
}

// heldAck is an anchor that the server is to know to be held here, as often as times says.
type heldAck struct {
	held
	times int
}

const (
	heldTimes  = 3 // times that an anchor is said to be held
	maxOthers  = 1 << 13
	maxStanded = 4 // entities that stand on each other
)

func (w *crowd) init(c *Client) {
	w.client, w.byRow = c, map[uint32]int{}
	if c.limits.Ghosts.Rules.Parent == nil {
		c.limits.Ghosts.Rules.Parent = w.parent
	}
}

// forget drops everybody.
func (w *crowd) forget() {
	for len(w.others) > 0 {
		w.release(len(w.others) - 1)
	}
	w.acks = w.acks[:0]
}

// receive takes a record that is age old, of anybody: also of the player's own avatars.
func (w *crowd) receive(r Record, age, now systems.Time) {
	c := w.client
	i, known := w.byRow[r.Entity.Row]
	if r.Anchor != 0 {
		if !known || w.others[i].set>>r.Anchor&1 == 0 {
			c.counts.Unanchored++
			return
		}
		r = r.On(Anchor{Number: r.Anchor, Entity: w.others[i].entity, Pos: w.others[i].anchors[r.Anchor]})
	}
	if known && w.others[i].entity != r.Entity {
		if r.Entity.Born <= w.others[i].entity.Born {
			return
		}
		w.release(i)
		known = false
	}
	if !known {
		if i = len(w.others); i >= maxOthers {
			return
		}
		w.others = append(w.others, w.take(r.Entity))
		w.byRow[r.Entity.Row] = i
	}
	o := w.others[i]
	if r.Sets != 0 {
		o.anchors[r.Sets], o.set = r.Pos, o.set|1<<r.Sets
		w.acknowledge(held{r.Entity.Row, r.Sets})
	}
	w.at = now
	used := o.ghost.Receive(&c.limits.Ghosts, r, age, now)
	if p := c.pilot(r.Entity); p != nil {
		if used {
			c.echo(p, r, age, now)
		}
		return
	}
	if used && r.Flags&FlagCast != 0 && c.limits.Length != nil {
		o.track.Begin(r.Action, c.limits.Length(r.Action), age+r.Age, now)
	}
}

// acknowledge lets the server know that an anchor is held.
func (w *crowd) acknowledge(h held) {
	for i := range w.acks {
		if w.acks[i].row == h.row {
			w.acks[i] = heldAck{h, heldTimes}
			return
		}
	}
	w.acks = append(w.acks, heldAck{h, heldTimes})
}

// heldNow appends what the next message says of anchors.
func (w *crowd) heldNow(dst []held) []held {
	n := min(len(w.acks), maxHeld)
	for i := range w.acks[:n] {
		w.acks[i].times--
		dst = append(dst, w.acks[i].held)
	}
	for i := n - 1; i >= 0; i-- { // the last ones take the places of those that are done, so that all have their turn
		if w.acks[i].times <= 0 {
			last := len(w.acks) - 1
			w.acks[i] = w.acks[last]
			w.acks = w.acks[:last]
		}
	}
	return dst
}

// told drops the entities that are gone, when a newer state is here.
func (w *crowd) told() {
	replica := w.client.receiver.State()
	for i := len(w.others) - 1; i >= 0; i-- {
		// A record may come before the state that has its entity.
		if o := w.others[i]; !ecs.ExistsAt(replica, o.entity) && o.entity.Born <= replica.Tick() {
			w.release(i)
		}
	}
}

func (w *crowd) take(e ecs.Entity) *other {
	if n := len(w.free); n > 0 {
		o := w.free[n-1]
		w.free = w.free[:n-1]
		*o = other{entity: e}
		return o
	}
	return &other{entity: e}
}

// release takes one out; the last takes its place.
func (w *crowd) release(i int) {
	o, last := w.others[i], len(w.others)-1
	delete(w.byRow, o.entity.Row)
	if i != last {
		w.others[i] = w.others[last]
		w.byRow[w.others[i].entity.Row] = i
	}
	w.others[last] = nil
	w.others = w.others[:last]
	w.free = append(w.free, o)
}

// other returns what is known of an entity, nil if no record came of it.
func (w *crowd) other(e ecs.Entity) *other {
	if i, ok := w.byRow[e.Row]; ok && w.others[i].entity == e {
		return w.others[i]
	}
	return nil
}

// parent says where something is that others stand on: as it is shown.
func (w *crowd) parent(e ecs.Entity) (m ecs.Motion, ok bool) {
	c := w.client
	if c.own.Has(e.Row) {
		return c.world.Motion(e)
	}
	o := w.other(e)
	if o == nil {
		return c.receiver.State().Motion(e)
	}
	if w.depth >= maxStanded {
		return m, false
	}
	w.depth++
	m, ok = o.ghost.Shown(&c.limits.Ghosts, w.at)
	w.depth--
	return m, ok
}

// place puts everybody else into the world where records have him at a moment: for systems that look at others, as those
// do that push the player's avatars out of their way.
func (w *crowd) place(at systems.Time) {
	c := w.client
	w.at = at
	for _, o := range w.others {
		if c.own.Has(o.entity.Row) {
			continue
		}
		is, here := c.world.Motion(o.entity)
		if m, ok := o.ghost.Predicted(&c.limits.Ghosts, at); ok && here && m != is {
			c.world.SetMotion(o.entity, m)
		}
	}
}

// Present brings the view up to date with the moment: the player's avatars between the two last states, everybody else
// where he is by now, as far as anybody can tell.
func (c *Client) Present(v *ecs.View, now systems.Time) {
	previous, current, confirmed, alpha := c.View(now)
	v.Compose(previous, current, confirmed, alpha, confirmed, &c.own)
	c.crowd.at = now
	for _, o := range c.crowd.others {
		if c.own.Has(o.entity.Row) {
			continue
		}
		if m, ok := o.ghost.Shown(&c.limits.Ghosts, now); ok {
			v.Move(o.entity, m)
		}
	}
	v.Dress()
}

// Shown returns where another entity is shown at a moment; ok is false if no record came of it.
func (c *Client) Shown(e ecs.Entity, now systems.Time) (m ecs.Motion, ok bool) {
	o := c.crowd.other(e)
	if o == nil {
		return m, false
	}
	c.crowd.at = now
	return o.ghost.Shown(&c.limits.Ghosts, now)
}

// Presence says whether another entity is still heard of; one that no record came of is Present, as the state tells it.
func (c *Client) Presence(e ecs.Entity, now systems.Time) Presence {
	if o := c.crowd.other(e); o != nil {
		return o.ghost.Presence(now)
	}
	return Present
}

// Action returns what another entity is shown to do, and how far it has come; ok is false for nothing.
func (c *Client) Action(e ecs.Entity, now systems.Time) (action uint8, progress systems.Time, ok bool) {
	if o := c.crowd.other(e); o != nil {
		return o.track.At(now)
	}
	return 0, 0, false
}
