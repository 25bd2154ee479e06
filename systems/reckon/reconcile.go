package reckon

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/inputs"
	"tendon/systems/predictor"
	"tendon/systems/state"
)

// receiveClock accepts a message of the clock exchange.
func (c *Client) receiveClock(m systems.Message) error { return c.clock.receive(m) }

// receiveUpdate accepts a message with records, and with a body of state if there is one. Its tick may be older than that
// of another message: each part decides by itself whether it is of use.
func (c *Client) receiveUpdate(m systems.Message) error {
	r, h := wire.NewReader(m.Body), &c.scratch.head
	serverNow, near, known := c.clock.at(m.Now)
	err := h.read(&r, c.Counted.ServerTick, near)
	if err == nil {
		c.scratch.records, err = readRecords(c.scratch.records[:0], &r, near)
	}
	if err != nil || h.tick > c.Counted.ServerTick+farAhead || !h.body && r.Len() > 0 {
		return ErrMessage
	}
	c.receiveHead(h, m.Now)
	if h.body {
		if err := c.receiveBody(r.Rest()); err != nil {
			return err
		}
	}
	if c.plays() {
		for i := range h.snaps {
			c.follow(&h.snaps[i], m.Now)
		}
	}
	for i := range c.scratch.records {
		c.counts.Records++
		r := &c.scratch.records[i]
		if c.clock.received(r.Stamp, known, m.Now) {
			c.remotes.receive(*r, c.limits.age(r.Stamp, serverNow), m.Now)
		}
	}
	return nil
}

// receiveHead accepts the head of a message.
func (c *Client) receiveHead(h *updateHead, now systems.Time) {
	if h.hasMargin {
		c.Counted.Margin = float64(h.margin.Value) / inputs.MarginUnit
		c.ticks.lead.Measured(h.margin.Tick, c.Counted.Margin, now)
	}
	first := c.Phase == predictor.Waiting
	if h.tick < c.Counted.ServerTick && !first {
		return
	}
	c.ready = c.ready || h.ready
	c.Counted.Substituted += c.replica.Substituted(h.altered, first)
	c.Answered()
	c.Counted.ServerTick = max(c.Counted.ServerTick, h.tick)
	c.Timer.Pending = c.Timer.Pending || c.Spectates()
	c.replica.SettleEvents(h.tick, h.events)
}

// receiveEvents accepts the events of a tick.
func (c *Client) receiveEvents(m systems.Message) error {
	if !c.replica.ReceiveEvents(m.Body, kindEvents, c.Counted.ServerTick+farAhead) {
		return ErrMessage
	}
	return nil
}

// receiveBody reconciles with a state that is newer than all before. An older one is dropped. One that builds on a state
// that is not held is not used; the acknowledgement reports it, and the server sends the entities whole.
func (c *Client) receiveBody(body []byte) error {
	fresh, err := c.replica.Take(body)
	switch {
	case err == state.ErrDelta:
		return ErrMessage
	case err != nil:
		c.World().Image().Restore(&c.current)
		c.counts.Refused++
		c.Timer.Pending = true
		return nil
	case !fresh:
		return nil
	}
	c.counts.Bodies++
	c.findAvatars()
	c.remotes.dropGone()
	if !c.plays() {
		c.present = c.replica.Tick
		c.save()
		return nil
	}
	c.reconcile(c.replica.Tick)
	return nil
}

// reconcile corrects the avatars by the server's state of tick f, which the world is in, except for their positions. It
// leaves the world in the state of the present.
func (c *Client) reconcile(f ecs.Tick) {
	mine, held := c.history.At(f)
	switch {
	case f > c.present: // the client was suspended
		c.keep(&c.current)
		c.present = f
		c.save()
	case !held:
		c.keep(&c.current)
		if c.World().Image().PutTick(c.present, c.World().Players()) == nil {
			c.save()
		}
	case !c.updated():
		c.agree()
	default:
		c.keep(mine)
		c.World().Image().Save(&c.scratch.state)
		if image.Deviation(mine, &c.scratch.state, &c.own).Within {
			c.agree()
		} else {
			c.replay(f)
		}
	}
}

// keep moves the avatars in the world to their positions in a state of this client's.
func (c *Client) keep(mine *image.Snapshot) {
	for i := range c.avatars {
		if p := &c.avatars[i]; p.placed {
			if m, ok := mine.Motion(p.entity); ok {
				c.World().Image().SetMotion(p.entity, m)
			}
		}
	}
}

// updated reports whether all avatars in the newest state are current.
func (c *Client) updated() bool {
	if c.replica.Complete() {
		return true
	}
	for i := range c.avatars {
		if p := &c.avatars[i]; p.placed && !c.replica.Receiver.Current(p.entity) {
			return false
		}
	}
	return true
}

// agree keeps the avatars, and takes everything else from the server's newest state.
func (c *Client) agree() {
	c.World().Image().Restore(&c.current)
	c.World().Image().Overlay(c.replica.Receiver.State(), &c.own)
	c.save()
}

// replay resimulates the ticks after f with the player's inputs. The positions of the avatars in each of them stay.
func (c *Client) replay(f ecs.Tick) {
	c.counts.Replays++
	c.Counted.Rollbacks++
	c.Counted.Resimulated += uint64(c.present - f)
	c.Counted.Deepest = max(c.Counted.Deepest, uint64(c.present-f))
	c.World().Image().PutInput(ecs.Player(c.Config.Seat), c.inputs.At(f))
	c.history.Save(c.World())
	until := c.present
	image.SectionResimulate.Enter(c.Config.Observer)
	motions := c.motions(c.scratch.motions[:0])
	for k := f + 1; k <= until; k++ {
		if s, ok := c.history.At(k); ok { // else the number was skipped
			for i := range c.avatars {
				if m, ok := s.Motion(c.avatars[i].entity); ok {
					motions[i] = m
				}
			}
		}
		c.step(k, c.inputs.At(k), c.Now-systems.Time(until-k)*systems.Second/systems.Time(c.Game.TickRate))
		c.replica.Effects.Predicted(k, c.World().Events())
		for i := range c.avatars {
			if c.avatars[i].placed {
				c.World().Image().SetMotion(c.avatars[i].entity, motions[i])
			}
		}
		c.history.Save(c.World())
	}
	c.scratch.motions = motions
	image.SectionResimulate.Leave(c.Config.Observer)
	c.World().Image().Save(&c.current)
}
