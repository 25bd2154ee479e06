package reckon

import (
	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/state"
)

// receiveBody takes over a state that is newer than all before. What was overtaken is passed over. One that builds on
// what is not held is not used; the acknowledgement says so, and it comes whole.
func (c *Client) receiveBody(body []byte, now systems.Time) error {
	err := c.receiver.Receive(body)
	f := c.receiver.Tick()
	switch {
	case err == state.ErrBody:
		return ErrMessage
	case err != nil:
		c.world.Restore(&c.current)
		c.counts.Refused++
		c.useless++
		c.unsent = true
		return nil
	case f == c.confirmed:
		return nil
	}
	c.useless, c.confirmed = 0, f
	c.counts.Bodies++
	c.muster()
	c.crowd.told()
	if !c.playing {
		c.present = f
		c.save()
		return nil
	}
	c.reconcile(f)
	return nil
}

// reconcile puts right what the avatars hold by the server's state of tick f, which the world is in, but not where they
// are. It leaves the world in the state of the present.
func (c *Client) reconcile(f ecs.Tick) {
	mine, held := c.history.At(f)
	switch {
	case f > c.present: // this client was suspended
		c.keep(&c.current)
		c.present = f
		c.save()
	case !held:
		c.keep(&c.current)
		if c.world.PutTick(c.present, c.world.Players()) == nil {
			c.save()
		}
	case !c.knows(f):
		c.agree()
	default:
		c.keep(mine)
		c.world.Save(&c.scratch.told)
		if ecs.Deviation(mine, &c.scratch.told, &c.own).Within {
			c.agree()
		} else {
			c.replay(f)
		}
	}
}

// keep puts the avatars in the world where they are in a state of this client's.
func (c *Client) keep(mine *ecs.Snapshot) {
	for i := range c.pilots {
		if p := &c.pilots[i]; p.flies {
			if m, ok := mine.Motion(p.entity); ok {
				c.world.SetMotion(p.entity, m)
			}
		}
	}
}

// knows reports whether the newest state tells of all avatars what they hold in it.
func (c *Client) knows(f ecs.Tick) bool {
	if whole, ok := c.receiver.Complete(); ok && whole == f {
		return true
	}
	for i := range c.pilots {
		if p := &c.pilots[i]; p.flies {
			if s, _ := c.receiver.Samples(p.entity, f); s.State == nil || s.Tick != f {
				return false
			}
		}
	}
	return true
}

// agree leaves the avatars as they are, with the rest as in the server's newest state.
func (c *Client) agree() {
	c.world.Restore(&c.current)
	c.world.Overlay(c.receiver.State(), &c.own)
	c.save()
}

// replay computes the ticks after f again, with the inputs that the player gave; where the avatars were in each of them
// stays.
func (c *Client) replay(f ecs.Tick) {
	c.counts.Replays++
	c.stats.Rollbacks++
	c.stats.Resimulated += uint64(c.present - f)
	c.stats.Deepest = max(c.stats.Deepest, uint64(c.present-f))
	c.world.PutInput(ecs.Player(c.config.Seat), c.sampled.At(f))
	c.history.Save(c.world)
	until := c.present
	ecs.SectionResimulate.Enter(c.config.Observer)
	motions := c.motions(c.scratch.motions[:0])
	for k := f + 1; k <= until; k++ {
		if s, ok := c.history.At(k); ok { // else the label was passed over
			for i := range c.pilots {
				if m, ok := s.Motion(c.pilots[i].entity); ok {
					motions[i] = m
				}
			}
		}
		c.step(k, c.sampled.At(k), c.frame-systems.Time(until-k)*systems.Second/systems.Time(c.game.TickRate))
		c.effects.Predicted(k, c.world.Events())
		for i := range c.pilots {
			if c.pilots[i].flies {
				c.world.SetMotion(c.pilots[i].entity, motions[i])
			}
		}
		c.history.Save(c.world)
	}
	c.scratch.motions = motions
	ecs.SectionResimulate.Leave(c.config.Observer)
	c.world.Save(&c.current)
}
