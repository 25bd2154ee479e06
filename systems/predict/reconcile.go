package predict

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/inputs"
	"tendon/systems/predictor"
)

// receiveSnapshot reconciles with a state that is newer than all before. An older one is dropped.
func (c *Client) receiveSnapshot(m systems.Message) error {
	r, h := wire.NewReader(m.Body), &c.scratch.head
	if err := h.read(&r, c.Received); err != nil {
		return err
	}
	unpredicted := c.Phase == predictor.Waiting || c.Tick == c.Received && c.line.Inputs.Sampled() <= c.Received
	if fresh, err := c.Take(r.Rest()); !fresh {
		return err
	}
	f := c.Received
	c.states.Save(c.World())
	c.Timer.Pending = c.Timer.Pending || c.Spectates()
	c.Counted.ServerTick = max(c.Counted.ServerTick, f)
	if h.hasMargin {
		c.Counted.Margin = float64(h.margin.Value) / inputs.MarginUnit
		c.line.Lead.Measured(h.margin.Tick, c.Counted.Margin, m.Now)
	}
	c.suspect = c.CountAltered(h.altered) > 0 || c.suspect
	c.lacked = 0
	if h.lacks > 0 && h.lacks <= uint64(f) {
		c.lacked = f + 1 - ecs.Tick(h.lacks)
	}
	c.show.playback.Arrived(f, m.Now)
	c.reconcile(unpredicted, m.Now)
	c.SettleEvents(f, h.events)
	return nil
}

// reconcile corrects the predicted rows by the newest state received, which the world is in. The state is compared with
// the one that was predicted for the same tick, never with another. It leaves the world in the state of the present.
// unpredicted says that no tick was predicted since the last state.
func (c *Client) reconcile(unpredicted bool, now systems.Time) {
	f := c.Received
	replica, _ := c.states.At(f)
	c.Answered()
	c.show.receive(replica, c.Receiver.Complete())
	mine, predicted := c.History.At(f)
	ahead := f > c.Tick
	switch {
	case c.Spectates(): // A spectator predicts nothing: the state is the present.
		c.Tick = f
	case ahead && unpredicted: // There is no prediction to lose: the match starts, or the client follows the server.
		c.begin(f)
	case ahead && f <= c.line.Inputs.Sampled(): // The simulation is behind the server, but the player's inputs are not.
		c.overtake(f)
	case ahead, !predicted: // The client was suspended, or its prediction is not stored any more.
		c.counts.Snaps++
		c.line.Jumped(c.Settled())
		c.begin(f)
	case !c.OwnCurrent(mine): // The state has an old value of a predicted entity: comparing it would be wrong.
		c.Agree()
	default: // The state and the prediction are of one tick.
		c.compare(f, mine, replica, now)
	}
}

// begin makes the server's state the present, without a prediction to compare it with.
func (c *Client) begin(f ecs.Tick) {
	if f >= c.line.Inputs.Sampled() {
		c.line.Inputs.SkipTo(f, c.Game)
	} else {
		c.line.Inputs.Restart(f, c.World(), c.Config.Seat)
	}
	c.Tick = f
	c.History.Clear()
	c.History.Save(c.World())
	c.show.offsets.Clear()
}

// overtake makes the server's state the present, which was behind it: because of the prediction window, or of an input
// delay that is longer than necessary. The inputs that the server has not consumed stay pending.
func (c *Client) overtake(f ecs.Tick) {
	c.counts.Overtaken++
	c.putInput(f)
	c.Tick = f
	c.History.Save(c.World())
	c.show.offsets.Clear()
}

// compare compares the predicted state of tick f with the server's, and resimulates after a misprediction.
//
// A difference within the tolerance changes nothing, not even the stored history. So a slow drift stays visible to the
// comparisons to come, and is corrected when it exceeds the tolerance.
func (c *Client) compare(f ecs.Tick, mine, replica *image.Snapshot, now systems.Time) {
	d := image.Deviation(mine, replica, &c.Predicted)
	c.counts.Furthest = max(c.counts.Furthest, d.Distance.Float())
	if !d.Within {
		c.counts.Corrections++
		if c.suspect {
			c.counts.Substituted++
		}
	}
	c.suspect = false
	accepted := d.Within && !c.limits.Unconditional
	if accepted || c.limits.NoReconcile && c.entered(mine) {
		c.Agree()
		return
	}
	c.putInput(f)
	c.replay(f, now)
}

// putInput makes the player's own input that of tick f, which the world is in. The server may have used another.
func (c *Client) putInput(f ecs.Tick) {
	if own, ok := c.line.Inputs.Given(f); ok {
		c.World().Image().PutInput(ecs.Player(c.Config.Seat), own.In)
	}
}

// entered reports whether a state has an entity of the player's. A player's first entities come from the server.
func (c *Client) entered(s *image.Snapshot) (is bool) {
	for e := range s.Entities {
		is = is || c.Predicted.Has(e.Row)
	}
	return is
}

// replay resimulates the ticks from f + 1 to the present with the pending inputs. The world is in the server's state of
// tick f. Error smoothing keeps the shown positions from jumping.
func (c *Client) replay(f ecs.Tick, now systems.Time) {
	previous, current, _, _ := c.View(now)
	c.show.offsets.Before(previous, current)
	c.History.Save(c.World())
	c.CountReplay(f)
	image.SectionResimulate.Enter(c.Config.Observer)
	until := c.Tick
	for c.Tick = f; c.Tick < until; {
		c.step(c.line.Inputs.At(c.Tick + 1))
	}
	image.SectionResimulate.Leave(c.Config.Observer)
	previous, current, _, alpha := c.View(now)
	c.show.offsets.After(previous, current, alpha, float64(until-f)/float64(c.Game.TickRate))
}

func (c *Client) step(in ecs.InputBytes) {
	c.Simulate(in)
	c.PredictEvents()
	c.History.Save(c.World())
}
