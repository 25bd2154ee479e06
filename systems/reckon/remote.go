package reckon

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/internal/table"
	"tendon/systems/motion"
)

// remotes are the entities of which the client received records.
type remotes struct {
	client *Client
	all    table.Table[remote]
	acks   []queuedAck
	depth  int // of entities that stand on each other, while one is extrapolated
	at     systems.Time
}

// remote is an entity with a record.
type remote struct {
	entity  ecs.Entity
	motion  motion.Remote
	anchors [motion.MaxAnchor + 1]fixed.Vec3
	set     uint16 // bit n: anchor n is set
}

// queuedAck is the acknowledgement of an anchor, which is sent times times more.
type queuedAck struct {
	anchorAck
	times int
}

const (
	ackTimes   = 3       // times that an anchor is acknowledged
	maxStacked = 4       // entities that stand on each other
	maxRemotes = 1 << 13 // entities
)

func (w *remotes) clear() {
	w.all.Clear()
	w.acks = w.acks[:0]
}

// receive accepts a record that is age old, of a remote entity or of an own avatar.
func (w *remotes) receive(r motion.Record, age, now systems.Time) {
	c := w.client
	o := w.all.Get(r.Entity.Row)
	if r.Anchor != 0 {
		if o == nil || o.set>>r.Anchor&1 == 0 {
			return
		}
		r = r.On(motion.Anchor{Number: r.Anchor, Entity: o.entity, Pos: o.anchors[r.Anchor]})
	}
	if o == nil || o.entity != r.Entity {
		if o = w.replace(o, r.Entity); o == nil {
			return
		}
	}
	if r.Sets != 0 {
		o.anchors[r.Sets], o.set = r.Pos, o.set|1<<r.Sets
		w.acknowledge(anchorAck{r.Entity.Row, r.Sets})
	}
	w.at = now
	used := o.motion.Receive(&c.limits.Remotes, r, age, now)
	if p := c.avatar(r.Entity); p != nil && used {
		c.echo(p, r, age, now)
	}
}

// replace makes an entity the remote of its row, which is old or nil until now. It returns nil for an entity that is gone
// already, and if there are too many.
func (w *remotes) replace(old *remote, e ecs.Entity) *remote {
	if old != nil && e.Born <= old.entity.Born || old == nil && w.all.Len() >= maxRemotes {
		return nil
	}
	if old == nil {
		old = w.all.At(w.all.Add(e.Row))
	}
	*old = remote{entity: e}
	return old
}

func (w *remotes) acknowledge(a anchorAck) {
	for i := range w.acks {
		if w.acks[i].row == a.row {
			w.acks[i] = queuedAck{a, ackTimes}
			return
		}
	}
	w.acks = append(w.acks, queuedAck{a, ackTimes})
}

func (w *remotes) appendAcks(dst []anchorAck) []anchorAck {
	n := min(len(w.acks), maxAcks)
	for i := range w.acks[:n] {
		w.acks[i].times--
		dst = append(dst, w.acks[i].anchorAck)
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

// dropGone drops the entities that do not exist in the newest state received. A record may come before the state that
// has its entity.
func (w *remotes) dropGone() {
	state := w.client.Receiver.State()
	for slot, o := range w.all.All {
		if !image.ExistsAt(state, o.entity) && o.entity.Born <= state.Tick() {
			w.all.Remove(slot)
		}
	}
}

// find returns the remote of an entity, nil if no record of it came.
func (w *remotes) find(e ecs.Entity) *remote {
	if o := w.all.Get(e.Row); o != nil && o.entity == e {
		return o
	}
	return nil
}

// parent returns the motion of an entity that others stand on, as it is shown.
func (w *remotes) parent(e ecs.Entity) (m ecs.Motion, ok bool) {
	c := w.client
	if c.Predicted.Has(e.Row) {
		return c.World().Image().Motion(e)
	}
	o := w.find(e)
	if o == nil {
		return c.Receiver.State().Motion(e)
	}
	if w.depth >= maxStacked {
		return m, false
	}
	w.depth++
	m, ok = o.motion.Shown(&c.limits.Remotes, w.at)
	w.depth--
	return m, ok
}

// place moves the remote entities in the world to their extrapolated positions. The game's systems may read them, such as
// for collisions with the player's avatars.
func (w *remotes) place(at systems.Time) {
	c := w.client
	w.at = at
	for _, o := range w.all.All {
		if c.Predicted.Has(o.entity.Row) {
			continue
		}
		is, here := c.World().Image().Motion(o.entity)
		if m, ok := o.motion.Predicted(&c.limits.Remotes, at); ok && here && m != is {
			c.World().Image().SetMotion(o.entity, m)
		}
	}
}

// compose starts the view from the states that it is between.
func (c *Client) compose() {
	previous, current, confirmed, alpha := c.View(c.Showing.Now)
	c.Showing.View.Compose(image.Shown{Prev: previous, Cur: current, Confirmed: confirmed, Remote: confirmed, Own: &c.Predicted}, alpha)
}

func (c *Client) extrapolate() {
	now := c.Showing.Now
	c.remotes.at = now
	for _, o := range c.remotes.all.All {
		if c.Predicted.Has(o.entity.Row) || o.motion.Liveness(now) == motion.Lost {
			continue
		}
		if m, ok := o.motion.Shown(&c.limits.Remotes, now); ok {
			c.Showing.View.Picture.Move(o.entity, m)
		}
	}
}

// Liveness returns how recent the last record of a remote entity is. A lost entity is shown as in the states received. One
// without a record is Alive: the states have it.
func (c *Client) Liveness(e ecs.Entity, now systems.Time) motion.Liveness {
	if o := c.remotes.find(e); o != nil {
		return o.motion.Liveness(now)
	}
	return motion.Alive
}
