package reckon

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/inputs"
	"tendon/systems/predictor"
)

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
	if err != nil || h.tick > c.Counted.ServerTick+predictor.FarAhead || !h.has(headBody) && r.Len() > 0 {
		return ErrMessage
	}
	c.receiveHead(h, m.Now)
	if h.has(headBody) {
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
		r := &c.scratch.records[i]
		if known || c.limits.Assumed > 0 {
			c.clock.received(r.Stamp, m.Now)
			c.remotes.receive(*r, c.limits.age(r.Stamp, serverNow), m.Now)
		}
	}
	return nil
}

func (c *Client) receiveHead(h *updateHead, now systems.Time) {
	if h.has(headMargin) {
		c.Counted.Margin = float64(h.margin.Value) / inputs.MarginUnit
		c.ticks.lead.Measured(h.margin.Tick, c.Counted.Margin, now)
		c.acknowledged(h.margin.Tick)
	}
	first := c.Phase == predictor.Waiting
	if h.tick < c.Counted.ServerTick && !first {
		return
	}
	c.ready = c.ready || h.has(headReady)
	c.CountAltered(h.altered)
	c.Answered()
	if first { // ServerTick was an estimate, which is wrong if a clock was set meanwhile
		c.Counted.ServerTick = c.Received
	}
	c.Counted.ServerTick = max(c.Counted.ServerTick, h.tick)
	c.Timer.Pending = c.Timer.Pending || c.Spectates()
	c.SettleEvents(h.tick, h.events)
}

// receiveBody reconciles with a state that is newer than all before. An older one is dropped.
func (c *Client) receiveBody(body []byte) error {
	if fresh, err := c.Take(body); !fresh {
		return err
	}
	c.findAvatars()
	c.remotes.dropGone()
	if !c.plays() {
		c.Tick = c.Received
		c.History.Save(c.World())
		return nil
	}
	c.reconcile(c.Received)
	return nil
}

// reconcile corrects the avatars by the server's state of tick f, which the world is in, except for their positions. It
// leaves the world in the state of the present.
func (c *Client) reconcile(f ecs.Tick) {
	mine, held := c.History.At(f)
	switch {
	case f > c.Tick: // the client was suspended
		c.keep(c.Current())
		c.Tick = f
		c.History.Save(c.World())
	case !held:
		c.keep(c.Current())
		if c.World().Image().PutTick(c.Tick, c.World().Players()) == nil {
			c.History.Save(c.World())
		}
	case !c.OwnCurrent(mine):
		c.Agree()
	default:
		c.keep(mine)
		c.World().Image().Save(&c.scratch.state)
		if image.Deviation(mine, &c.scratch.state, &c.Predicted).Within {
			c.Agree()
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

// replay resimulates the ticks after f with the player's inputs. The positions of the avatars in each of them stay.
func (c *Client) replay(f ecs.Tick) {
	c.CountReplay(f)
	c.World().Image().PutInput(ecs.Player(c.Config.Seat), c.inputs.At(f))
	c.History.Save(c.World())
	until := c.Tick
	image.SectionResimulate.Enter(c.Config.Observer)
	motions := c.motions(c.scratch.motions[:0])
	for k := f + 1; k <= until; k++ {
		if s, ok := c.History.At(k); ok { // else the number was skipped
			for i := range c.avatars {
				if m, ok := s.Motion(c.avatars[i].entity); ok {
					motions[i] = m
				}
			}
		}
		c.step(k, c.inputs.At(k), c.Now-systems.Time(until-k)*systems.Second/systems.Time(c.Game.TickRate))
		c.PredictEvents()
		for i := range c.avatars {
			if c.avatars[i].placed {
				c.World().Image().SetMotion(c.avatars[i].entity, motions[i])
			}
		}
		c.History.Save(c.World())
	}
	c.scratch.motions = motions
	image.SectionResimulate.Leave(c.Config.Observer)
}
