package predict

import (
	"tendon/ecs"
	"tendon/systems"
)

// reconcile puts the predicted rows right by the server's state of tick f, which the world is in and the newest of
// replicas: the state that was predicted for that very tick is compared with it, never another one's. It leaves the
// world in the state of the present.
//
// What is within tolerance changes nothing, not even the stored history: a slow drift stays visible to the comparisons
// to come, so that it is found sooner or later.
func (c *Client) reconcile(f ecs.Tick, now systems.Time) {
	replica, _ := c.replicas.At(f)
	fresh := !c.heard || c.present == c.confirmed && c.pending.count == 0 // nothing was predicted yet
	c.heard, c.confirmed = true, f
	whole, ok := c.receiver.Complete()
	complete := ok && whole == f
	c.picture.told(replica, complete)
	if c.config.Seat < 0 {
		c.present = f
		return
	}
	mine, held := c.history.At(f)
	switch {
	case fresh && f > c.present:
		c.begin(f)
	case f > c.present && f <= c.pending.last():
		c.overtake(f)
	case f > c.present || !held:
		c.counts.Snaps++
		c.forget()
		c.begin(f)
	case !complete && !c.told(f, mine, replica):
		c.pending.drop(f)
		c.agree(replica)
	default:
		c.compare(f, mine, replica, now)
	}
}

// told reports whether a state that is not all that this client is to know tells at least of everything that it
// predicts.
func (c *Client) told(f ecs.Tick, mine, replica *ecs.Snapshot) bool {
	known := true
	for e := range mine.Entities {
		known = known && (!c.own.Has(e.Row) || ecs.ExistsAt(replica, e))
	}
	for e := range replica.Entities {
		if known && c.own.Has(e.Row) {
			s, _ := c.receiver.Samples(e, f)
			known = s.Tick == f
		}
	}
	return known
}

// agree leaves what is predicted as it is, with the rest as in the server's newest state.
func (c *Client) agree(replica *ecs.Snapshot) {
	present, _ := c.history.At(c.present)
	c.world.Restore(present)
	c.world.Overlay(replica, &c.own)
	c.history.Save(c.world) // the predicted rows of it are as they were
}

// begin takes the server's state for the present, which it may be far from, and goes on from there.
func (c *Client) begin(f ecs.Tick) {
	if f >= c.sampled.Sampled() {
		c.sampled.SkipTo(f, c.game)
	} else {
		c.sampled.Restart(f, c.world, c.config.Seat)
	}
	c.pending.reset(f)
	c.present = f
	c.history.Clear()
	c.history.Save(c.world)
	c.picture.jumped()
}

// overtake takes the server's state for the present, which was held back, by the prediction window or an input delay that
// is longer than it has to be. The inputs that the server has not consumed go on from there.
func (c *Client) overtake(f ecs.Tick) {
	c.counts.Overtaken++
	if used, ok := c.pending.at(f); ok {
		c.world.PutInput(c.player(), used.in)
	}
	c.pending.drop(f)
	c.present = f
	c.history.Save(c.world)
	c.picture.jumped()
}

// compare compares what was predicted for tick f with the server's state, and computes the ticks since again if it was
// wrong.
func (c *Client) compare(f ecs.Tick, mine, replica *ecs.Snapshot, now systems.Time) {
	if c.limits.fault == comparePresent {
		mine, _ = c.history.At(c.present)
	}
	used, known := c.pending.at(f)
	c.pending.drop(f)
	d := ecs.Deviation(mine, replica, &c.own)
	c.counts.Furthest = max(c.counts.Furthest, d.Distance.Float())
	if !d.Within {
		c.counts.Corrections++
		if c.suspect {
			c.counts.Substituted++
		} else {
			c.counts.Others++
		}
	}
	c.suspect = false
	switch {
	case c.limits.fault == unreconciled:
		c.stand()
		c.world.Overlay(replica, nil)
		c.history.Save(c.world)
	case d.Within && !c.limits.Unconditional || c.limits.NoReconcile && c.entered(mine):
		c.agree(replica)
	default:
		if known {
			c.world.PutInput(c.player(), used.in)
		}
		c.replay(f, now)
	}
}

// entered reports whether the player has anything in a state. What a player enters with comes from the server.
func (c *Client) entered(s *ecs.Snapshot) (is bool) {
	for e := range s.Entities {
		is = is || c.own.Has(e.Row)
	}
	return is
}

// replay computes the ticks from f + 1 to the present again, with the inputs that the player gave. The world is in the
// server's state of tick f. What is shown does not jump: see picture.
func (c *Client) replay(f ecs.Tick, now systems.Time) {
	c.picture.before(now)
	c.history.Save(c.world)
	depth := c.present - f
	c.stats.Rollbacks++
	c.stats.Resimulated += uint64(depth)
	c.counts.Deepest = max(c.counts.Deepest, int(depth))
	ecs.SectionResimulate.Enter(c.config.Observer)
	until := c.present
	for c.present = f; c.present < until; {
		e, _ := c.pending.at(c.present + 1)
		c.step(e.in)
	}
	ecs.SectionResimulate.Leave(c.config.Observer)
	c.picture.after(now)
}

// step computes the tick after the present.
func (c *Client) step(in ecs.InputBytes) {
	c.scratch.inputs[c.config.Seat] = in
	c.world.Step(ecs.TickInputs{Players: c.scratch.inputs})
	c.present++
	c.effects.Predicted(c.present, c.world.Events())
	c.history.Save(c.world)
}

func (c *Client) player() ecs.Player { return ecs.Player(c.config.Seat) }
