package reckon

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
)

// remotes are the remote entities of which records came, as this client shows them.
type remotes struct {
	client *Client
	all    []*remote
	byRow  map[uint32]int // index in all
	free   []*remote
	acks   []heldAck
	depth  int // of entities that stand on each other, while one is predicted
	at     systems.Time
}

// remote is a remote entity.
type remote struct {
	entity  ecs.Entity
	ghost   Ghost
	track   Track
	anchors [maxAnchor + 1]fixed.Vec3
	set     uint16 // bit n: anchor n is set
}

// heldAck is the acknowledgement of an anchor, which is sent times times.
type heldAck struct {
	held
	times int
}

const (
	heldTimes  = 3       // times that an anchor is acknowledged
	maxRemotes = 1 << 13 // entities
	maxStacked = 4       // entities that stand on each other
)

func (w *remotes) init(c *Client) {
	w.client, w.byRow = c, map[uint32]int{}
	if c.limits.Ghosts.Rules.Parent == nil {
		c.limits.Ghosts.Rules.Parent = w.parent
	}
}

// clear drops all entities.
func (w *remotes) clear() {
	for len(w.all) > 0 {
		w.release(len(w.all) - 1)
	}
	w.acks = w.acks[:0]
}

// receive accepts a record that is age old, of a remote entity or of an own avatar.
func (w *remotes) receive(r Record, age, now systems.Time) {
	c := w.client
	i, known := w.byRow[r.Entity.Row]
	if r.Anchor != 0 {
		if !known || w.all[i].set>>r.Anchor&1 == 0 {
			c.counts.Unanchored++
			return
		}
		r = r.On(Anchor{Number: r.Anchor, Entity: w.all[i].entity, Pos: w.all[i].anchors[r.Anchor]})
	}
	if known && w.all[i].entity != r.Entity {
		if r.Entity.Born <= w.all[i].entity.Born {
			return
		}
		w.release(i)
		known = false
	}
	if !known {
		if i = len(w.all); i >= maxRemotes {
			return
		}
		w.all = append(w.all, w.allocate(r.Entity))
		w.byRow[r.Entity.Row] = i
	}
	o := w.all[i]
	if r.Sets != 0 {
		o.anchors[r.Sets], o.set = r.Pos, o.set|1<<r.Sets
		w.acknowledge(held{r.Entity.Row, r.Sets})
	}
	w.at = now
	used := o.ghost.Receive(&c.limits.Ghosts, r, age, now)
	if p := c.avatar(r.Entity); p != nil {
		if used {
			c.echo(p, r, age, now)
		}
		return
	}
	if used && r.Flags&FlagCast != 0 && c.limits.Length != nil {
		o.track.Begin(r.Action, c.limits.Length(r.Action), age+r.Age, now)
	}
}

// acknowledge queues the acknowledgement of an anchor.
func (w *remotes) acknowledge(h held) {
	for i := range w.acks {
		if w.acks[i].row == h.row {
			w.acks[i] = heldAck{h, heldTimes}
			return
		}
	}
	w.acks = append(w.acks, heldAck{h, heldTimes})
}

// appendHeld appends the acknowledgements of the next message.
func (w *remotes) appendHeld(dst []held) []held {
	n := min(len(w.acks), maxHeld)
	for i := range w.acks[:n] {
		w.acks[i].times--
		dst = append(dst, w.acks[i].held)
	}
	for i := n - 1; i >= 0; i-- { // the last ones replace those that are done, so that all have their turn
		if w.acks[i].times <= 0 {
			last := len(w.acks) - 1
			w.acks[i] = w.acks[last]
			w.acks = w.acks[:last]
		}
	}
	return dst
}

// dropGone drops the entities that do not exist in the newest state received.
func (w *remotes) dropGone() {
	replica := w.client.replica.Receiver.State()
	for i := len(w.all) - 1; i >= 0; i-- {
		// A record may come before the state that has its entity.
		if o := w.all[i]; !image.ExistsAt(replica, o.entity) && o.entity.Born <= replica.Tick() {
			w.release(i)
		}
	}
}

func (w *remotes) allocate(e ecs.Entity) *remote {
	if n := len(w.free); n > 0 {
		o := w.free[n-1]
		w.free = w.free[:n-1]
		*o = remote{entity: e}
		return o
	}
	return &remote{entity: e}
}

// release removes an entity; the last one takes its place.
func (w *remotes) release(i int) {
	o, last := w.all[i], len(w.all)-1
	delete(w.byRow, o.entity.Row)
	if i != last {
		w.all[i] = w.all[last]
		w.byRow[w.all[i].entity.Row] = i
	}
	w.all[last] = nil
	w.all = w.all[:last]
	w.free = append(w.free, o)
}

// find returns an entity, nil if no record of it came.
func (w *remotes) find(e ecs.Entity) *remote {
	if i, ok := w.byRow[e.Row]; ok && w.all[i].entity == e {
		return w.all[i]
	}
	return nil
}

// parent returns the motion of an entity that others stand on, as it is shown.
func (w *remotes) parent(e ecs.Entity) (m ecs.Motion, ok bool) {
	c := w.client
	if c.own.Has(e.Row) {
		return c.World().Image().Motion(e)
	}
	o := w.find(e)
	if o == nil {
		return c.replica.Receiver.State().Motion(e)
	}
	if w.depth >= maxStacked {
		return m, false
	}
	w.depth++
	m, ok = o.ghost.Shown(&c.limits.Ghosts, w.at)
	w.depth--
	return m, ok
}

// place moves the remote entities in the world to their positions at a moment, by their records: for systems that read
// them, such as collisions with the player's avatars.
func (w *remotes) place(at systems.Time) {
	c := w.client
	w.at = at
	for _, o := range w.all {
		if c.own.Has(o.entity.Row) {
			continue
		}
		is, here := c.World().Image().Motion(o.entity)
		if m, ok := o.ghost.Predicted(&c.limits.Ghosts, at); ok && here && m != is {
			c.World().Image().SetMotion(o.entity, m)
		}
	}
}

// Present brings the view up to date with now: the player's avatars between the two last states, remote entities where
// their records extrapolate them.
func (c *Client) Present(v *ecs.View, now systems.Time) {
	previous, current, confirmed, alpha := c.View(now)
	v.Compose(image.Shown{Prev: previous, Cur: current, Confirmed: confirmed, Remote: confirmed, Own: &c.own}, alpha)
	c.remotes.at = now
	for _, o := range c.remotes.all {
		if c.own.Has(o.entity.Row) {
			continue
		}
		if m, ok := o.ghost.Shown(&c.limits.Ghosts, now); ok {
			v.Picture.Move(o.entity, m)
		}
	}
	v.Dress()
}

// Shown returns where a remote entity is shown at now; ok is false if no record of it came.
func (c *Client) Shown(e ecs.Entity, now systems.Time) (m ecs.Motion, ok bool) {
	o := c.remotes.find(e)
	if o == nil {
		return m, false
	}
	c.remotes.at = now
	return o.ghost.Shown(&c.limits.Ghosts, now)
}

// Presence returns the liveness of a remote entity. One without a record is Present, since the states have it.
func (c *Client) Presence(e ecs.Entity, now systems.Time) Presence {
	if o := c.remotes.find(e); o != nil {
		return o.ghost.Presence(now)
	}
	return Present
}

// Action returns the action that a remote entity is shown to do, and its progress; ok is false without one.
func (c *Client) Action(e ecs.Entity, now systems.Time) (action uint8, progress systems.Time, ok bool) {
	if o := c.remotes.find(e); o != nil {
		return o.track.At(now)
	}
	return 0, 0, false
}
