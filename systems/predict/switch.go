package predict

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/interp"
	"tendon/systems/predictor"
)

// switched is an entity on another timeline than its owner's default.
type switched struct {
	entity ecs.Entity
	to     systems.Timeline
}

// Switch puts an entity on another timeline from now on. A vehicle that the player enters is predicted, for example, and
// a ball that another player has caught is interpolated. blend is the shortest time in which the shown position moves to
// the new timeline, in nanoseconds; 0: it jumps. The default timeline is Predicted for the player's own entities, and
// Interpolated for all others.
func (c *Client) Switch(e ecs.Entity, to systems.Timeline, blend systems.Time) error {
	p := &c.show
	switch {
	case to > systems.Confirmed:
		return fmt.Errorf("predict: Switch to timeline %d, want 0 to 3", uint8(to))
	case blend < 0:
		return fmt.Errorf("predict: Switch in %d ns, want at least 0", blend)
	case c.Phase <= predictor.Waiting || c.Spectates() && to == systems.Predicted:
		return fmt.Errorf("predict: Switch to the %v timeline of a client that predicts nothing", to)
	case !c.World().Exists(e):
		return fmt.Errorf("predict: Switch of entity %d, born in tick %d, which does not exist", e.Row, e.Born)
	}
	from := p.timeline(e)
	if from == to {
		return nil
	}
	at, shown := p.where(e, c.Showing.Now)
	at = at.Add(p.shiftOf(e))
	p.assign(e, to)
	if from == systems.Predicted || to == systems.Predicted {
		p.retrace(e)
		c.repredict(c.Showing.Now)
	}
	p.unshift(e)
	if now, ok := p.where(e, c.Showing.Now); ok && shown && blend > 0 && now != at {
		by := at.Sub(now)
		p.shift(e, by, by.Len()*float64(systems.Second)/float64(blend))
	}
	return nil
}

// Timeline returns the timeline of an entity.
func (c *Client) Timeline(e ecs.Entity) systems.Timeline { return c.show.timeline(e) }

func (p *presentation) timeline(e ecs.Entity) systems.Timeline {
	for i := range p.switched {
		if p.switched[i].entity == e {
			return p.switched[i].to
		}
	}
	if p.client.Own.Has(e.Row) {
		return systems.Predicted
	}
	return systems.Interpolated
}

// assign sets the timeline of an entity.
func (p *presentation) assign(e ecs.Entity, to systems.Timeline) {
	for i := range p.switched {
		if p.switched[i].entity == e {
			p.restore(i)
			break
		}
	}
	if p.timeline(e) == to {
		return
	}
	p.switched = append(p.switched, switched{e, to})
	if to == systems.Predicted {
		p.client.Own.Add(e.Row)
	} else {
		p.client.Own.Remove(e.Row)
	}
}

// retrace makes the track of an entity that was predicted until now from the states received.
func (p *presentation) retrace(e ecs.Entity) {
	if i, known := p.byRow[e.Row]; known {
		p.release(i)
	}
	c := p.client
	playing := p.playback.Tick()
	oldest, ok := c.received.Floor(ecs.Tick(max(playing, 0)))
	if !ok {
		return
	}
	t := p.allocate(e)
	for f := oldest.Tick(); f <= c.Received; f++ {
		if s, ok := c.received.At(f); ok && image.ExistsAt(s, e) {
			t.put(s, playing)
		}
	}
	p.byRow[e.Row] = len(p.tracks)
	p.tracks = append(p.tracks, t)
}

// restore puts switched entity i back on its default timeline.
func (p *presentation) restore(i int) {
	e, last := p.switched[i].entity, len(p.switched)-1
	if player, ok := e.Owner().Player(); ok && int(player) == p.client.Config.Seat {
		p.client.Own.Add(e.Row)
	} else {
		p.client.Own.Remove(e.Row)
	}
	p.switched[i] = p.switched[last]
	p.switched = p.switched[:last]
}

// dropSwitched drops entities that do not exist any more: their rows may be in use again.
func (p *presentation) dropSwitched(replica *image.Snapshot) {
	for i := len(p.switched) - 1; i >= 0; i-- {
		if !image.ExistsAt(replica, p.switched[i].entity) {
			p.restore(i)
		}
	}
}

// repredict resimulates from the newest state received, after a change of the predicted rows.
func (c *Client) repredict(now systems.Time) {
	replica, ok := c.received.At(c.Received)
	if !ok || c.Spectates() {
		return
	}
	c.World().Image().Restore(replica)
	c.replay(c.Received, now)
}

// where returns where an entity is shown at now, without its offset.
func (p *presentation) where(e ecs.Entity, now systems.Time) (at interp.Vec, ok bool) {
	c := p.client
	switch p.timeline(e) {
	case systems.Predicted:
		previous, current, _, alpha := c.View(now)
		return between(e, previous, current, alpha)
	case systems.Interpolated:
		if i, known := p.byRow[e.Row]; known && p.tracks[i].entity == e {
			m, b := p.tracks[i].remote.Motion(p.playback.Tick())
			return m.Pos, b.Kind != interp.Unknown
		}
		s := p.floor(p.playback.Tick())
		return between(e, s, s, 0)
	case systems.Reckoned:
		m, ok := p.reckon(e, now)
		return m.Pos, ok
	}
	s, _ := c.Replica()
	return between(e, s, s, 0)
}

// reckoning is the longest extrapolation on the reckoned timeline, as in dead reckoning.
const reckoning = systems.Second

// reckon extrapolates an entity from the newest state received to the present.
func (p *presentation) reckon(e ecs.Entity, now systems.Time) (m interp.Motion, ok bool) {
	c := p.client
	s, _ := c.Replica()
	received, ok := s.Motion(e)
	if !ok {
		return m, false
	}
	ahead := max(c.line.Pacer.At(now)-float64(c.line.Delay.Ticks())-float64(c.Received), 0) / float64(c.Game.TickRate)
	return interp.Extrapolate(interp.MotionOf(received), ahead, reckoning.Seconds(), p.remote.Floor), true
}

// presentSwitched shows the entities that are neither predicted nor interpolated.
func (c *Client) presentSwitched() {
	p, v := &c.show, c.Showing.View
	for i := range p.switched {
		s := &p.switched[i]
		if s.to != systems.Reckoned && s.to != systems.Confirmed {
			continue
		}
		newest, _ := c.Replica()
		v.Picture.Blend(s.entity, newest, newest, 1)
		if s.to == systems.Reckoned {
			if m, ok := p.reckon(s.entity, c.Showing.Now); ok {
				v.Picture.Move(s.entity, m.Fixed())
			}
		}
	}
}
