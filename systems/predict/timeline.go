package predict

import (
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/interp"
	"tendon/systems/predictor"
)

// Timeline is the moment at which a client shows an entity.
type Timeline uint8

// The timelines.
const (
	Predicted    Timeline = iota // simulated here, ahead of the server, and corrected by it
	Interpolated                 // between two received states, a short while ago
	Reckoned                     // extrapolated to now from the newest received state
	Confirmed                    // as in the newest received state
	timelines
)

// String returns the timeline's name.
func (t Timeline) String() string {
	return [timelines]string{"predicted", "interpolated", "reckoned", "confirmed"}[t]
}

// timelineSwitch is an entity on another timeline than its owner's default.
type timelineSwitch struct {
	entity ecs.Entity
	to     Timeline
}

// Switch puts an entity on another timeline from now on. A vehicle that the player enters is predicted, for example, and
// a ball that another player has caught is interpolated. blend is the shortest time in which the shown position moves to
// the new timeline, in nanoseconds; 0: it jumps. The default timeline is Predicted for the player's own entities and for those
// with a component of the role Predicted, and Interpolated for all others.
func (c *Client) Switch(e ecs.Entity, to Timeline, blend systems.Time) error {
	p, now, from := &c.show, c.Showing.Now, c.Timeline(e)
	switch {
	case to >= timelines:
		return fmt.Errorf("predict: Switch to timeline %d, want 0 to 3", uint8(to))
	case blend < 0:
		return fmt.Errorf("predict: Switch in %d ns, want at least 0", blend)
	case c.Phase <= predictor.Waiting || c.Spectates() && to == Predicted:
		return fmt.Errorf("predict: Switch to the %v timeline of a client that predicts nothing", to)
	case !c.World().Exists(e):
		return fmt.Errorf("predict: Switch of entity %d, born in tick %d, which does not exist", e.Row, e.Born)
	case from == to:
		return nil
	}
	before, shown := c.shownAt(e, now)
	before = before.Add(p.offsets.Of(e))
	p.restoreDefaults(func(s timelineSwitch) bool { return s.entity == e })
	if c.Timeline(e) != to {
		p.switched = append(p.switched, timelineSwitch{e, to})
		p.setPredicted(e, to == Predicted)
	}
	if from == Predicted || to == Predicted {
		p.trackFromReceived(e)
		c.repredict(now)
	}
	p.offsets.Remove(e)
	if after, ok := c.shownAt(e, now); ok && shown && blend > 0 && after != before {
		p.offsets.Glide(e, before.Sub(after), float64(blend)/float64(systems.Second))
	}
	return nil
}

// Timeline returns the timeline of an entity.
func (c *Client) Timeline(e ecs.Entity) Timeline {
	for _, s := range c.show.switched {
		if s.entity == e {
			return s.to
		}
	}
	if c.Predicted.Has(e.Row) {
		return Predicted
	}
	return Interpolated
}

func (p *presentation) setPredicted(e ecs.Entity, yes bool) {
	if yes {
		p.client.Predicted.Add(e.Row)
	} else {
		p.client.Predicted.Remove(e.Row)
	}
}

// predicts reports whether the default timeline of an entity in a state is Predicted.
func (p *presentation) predicts(s *image.Snapshot, e ecs.Entity) bool {
	if player, ok := e.Owner().Player(); ok && int(player) == p.client.Config.Seat {
		return true
	}
	return p.shared != 0 && !p.client.Spectates() && s.Components(e)&p.shared != 0
}

// share puts a row on the default timeline of the entity that a state has in it. Rows of the player's own stay, and those of
// entities that were switched.
func (p *presentation) share(s *image.Snapshot, row uint32) {
	if p.shared == 0 || p.client.Predicted.HasOwner(ecs.Entity{Row: row}.Owner()) {
		return
	}
	e := s.EntityAt(row)
	if slices.ContainsFunc(p.switched, func(t timelineSwitch) bool { return t.entity == e }) {
		return
	}
	if predicted := p.predicts(s, e); predicted != p.client.Predicted.Has(row) {
		p.setPredicted(ecs.Entity{Row: row}, predicted)
	}
}

// restoreDefaults puts the switched entities that which selects back on their default timelines.
func (p *presentation) restoreDefaults(which func(timelineSwitch) bool) {
	p.switched = slices.DeleteFunc(p.switched, func(s timelineSwitch) bool {
		yes := which(s)
		if yes {
			p.setPredicted(s.entity, p.predicts(p.client.Receiver.State(), s.entity))
		}
		return yes
	})
}

// trackFromReceived makes the track of an entity that was predicted until now from the states received.
func (p *presentation) trackFromReceived(e ecs.Entity) {
	if slot, known := p.tracks.Slot(e.Row); known {
		p.removeTrack(slot)
	}
	c := p.client
	oldest, ok := c.states.Floor(ecs.Tick(max(p.playback.Tick(), 0)))
	if !ok {
		return
	}
	t := p.addTrack(e)
	for f := oldest.Tick(); f <= c.Received; f++ {
		if s, ok := c.states.At(f); ok && image.ExistsAt(s, e) {
			p.addSample(t, s)
		}
	}
}

// repredict resimulates from the newest state received, after a change of the predicted rows.
func (c *Client) repredict(now systems.Time) {
	if !c.Spectates() {
		c.World().Image().Restore(c.Receiver.State())
		c.replay(c.Received, now)
	}
}

// shownAt returns where an entity is shown at now, without its offset.
func (c *Client) shownAt(e ecs.Entity, now systems.Time) (at interp.Vec, ok bool) {
	s := c.Receiver.State()
	switch c.Timeline(e) {
	case Predicted:
		previous, current, _, alpha := c.View(now)
		return predictor.Between(e, previous, current, alpha)
	case Interpolated:
		playing := c.show.playback.Tick()
		if t := c.show.tracks.Get(e.Row); t != nil && t.entity == e {
			m, b := t.remote.Motion(playing)
			return m.Pos, b.Kind != interp.Unknown
		}
		s = c.show.floor(playing)
	case Reckoned:
		m, ok := c.reckon(e, now)
		return m.Pos, ok
	}
	return predictor.Between(e, s, s, 0)
}

// reckoning is the longest extrapolation on the reckoned timeline, as in dead reckoning.
const reckoning = systems.Second

// reckon extrapolates an entity from the newest state received to the present.
func (c *Client) reckon(e ecs.Entity, now systems.Time) (m interp.Motion, ok bool) {
	received, ok := c.Receiver.State().Motion(e)
	if !ok {
		return m, false
	}
	ahead := max(c.line.Pacer.At(now)-float64(c.line.Delay.Ticks())-float64(c.Received), 0) / float64(c.Game.TickRate)
	return interp.Extrapolate(c.motionOf(received), ahead, reckoning.Seconds(), c.show.remote.Floor), true
}
