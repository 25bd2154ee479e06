package predict

import (
	"fmt"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/interp"
)

// switched is an entity that is on another timeline than its owner says.
type switched struct {
	entity ecs.Entity
	to     systems.Timeline
}

// Switch puts an entity on another timeline, from now on: a vehicle that the player enters is predicted, a thrown ball
// of his is interpolated once another has caught it. blend is how long it takes at least until it is shown where it is
// there; 0: it jumps. An entity that is gone comes back to its owner's timeline: what is the player's own is predicted,
// all else interpolated.
func (c *Client) Switch(e ecs.Entity, to systems.Timeline, blend systems.Time) error {
	p := &c.picture
	switch {
	case to > systems.Confirmed:
		return fmt.Errorf("predict: Switch to timeline %d, which there is not", uint8(to))
	case blend < 0:
		return fmt.Errorf("predict: Switch in %d ns, want at least 0", blend)
	case !c.heard || c.config.Seat < 0 && to == systems.Predicted:
		return fmt.Errorf("predict: Switch to the %v timeline of a client that predicts nothing", to)
	case !c.world.Exists(e):
		return fmt.Errorf("predict: Switch of entity %d, born in tick %d, which is not there", e.Row, e.Born)
	}
	from := p.timeline(e)
	if from == to {
		return nil
	}
	at, shown := p.where(e, p.last)
	at = at.Add(p.shiftOf(e))
	p.assign(e, to)
	if from == systems.Predicted || to == systems.Predicted {
		p.retrace(e)
		c.repredict(p.last)
	}
	p.unshift(e)
	if now, ok := p.where(e, p.last); ok && shown && blend > 0 && now != at {
		by := at.Sub(now)
		p.shift(e, by, by.Len()*float64(systems.Second)/float64(blend))
	}
	return nil
}

// Timeline returns the timeline that an entity is on.
func (c *Client) Timeline(e ecs.Entity) systems.Timeline { return c.picture.timeline(e) }

func (p *picture) timeline(e ecs.Entity) systems.Timeline {
	for i := range p.switched {
		if p.switched[i].entity == e {
			return p.switched[i].to
		}
	}
	if p.client.own.Has(e.Row) {
		return systems.Predicted
	}
	return systems.Interpolated
}

// assign enters the timeline of an entity.
func (p *picture) assign(e ecs.Entity, to systems.Timeline) {
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
		p.client.own.Add(e.Row)
	} else {
		p.client.own.Remove(e.Row)
	}
}

// retrace makes the track of an entity that was predicted up to now from the states that are kept.
func (p *picture) retrace(e ecs.Entity) {
	if i, known := p.byRow[e.Row]; known {
		p.release(i)
	}
	c := p.client
	playing := p.playback.Tick()
	oldest, ok := c.replicas.Floor(ecs.Tick(max(playing, 0)))
	if !ok {
		return
	}
	t := p.take(e)
	for f := oldest.Tick(); f <= c.confirmed; f++ {
		if s, ok := c.replicas.At(f); ok && ecs.ExistsAt(s, e) {
			t.put(s, playing)
		}
	}
	p.byRow[e.Row] = len(p.tracks)
	p.tracks = append(p.tracks, t)
}

// restore puts switched entity i back on its owner's timeline.
func (p *picture) restore(i int) {
	e, last := p.switched[i].entity, len(p.switched)-1
	if player, ok := e.Owner().Player(); ok && int(player) == p.client.config.Seat {
		p.client.own.Add(e.Row)
	} else {
		p.client.own.Remove(e.Row)
	}
	p.switched[i] = p.switched[last]
	p.switched = p.switched[:last]
}

// dropSwitched forgets entities that are gone: their rows may be others' now.
func (p *picture) dropSwitched(replica *ecs.Snapshot) {
	for i := len(p.switched) - 1; i >= 0; i-- {
		if !ecs.ExistsAt(replica, p.switched[i].entity) {
			p.restore(i)
		}
	}
}

// repredict computes the present anew from the newest state that was told, since other rows are predicted now.
func (c *Client) repredict(now systems.Time) {
	replica, ok := c.replicas.At(c.confirmed)
	if !ok || c.config.Seat < 0 {
		return
	}
	c.world.Restore(replica)
	c.replay(c.confirmed, now)
}

// where is where an entity would be shown at a moment, without its offset.
func (p *picture) where(e ecs.Entity, now systems.Time) (at interp.Vec, ok bool) {
	c := p.client
	switch p.timeline(e) {
	case systems.Predicted:
		previous, current, _, alpha := c.View(now)
		return between(e, previous, current, alpha)
	case systems.Interpolated:
		if i, known := p.byRow[e.Row]; known && p.tracks[i].entity == e {
			m, b := p.tracks[i].remote.Track().Motion(p.playback.Tick())
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

// reckoning is for how long an entity is taken to go on as it did, on the reckoned timeline: as long as in dead reckoning,
// which is more than a round trip where predicting is of use.
const reckoning = systems.Second

// reckon is where an entity will have gone by the present, as it moved in the newest state that was told.
func (p *picture) reckon(e ecs.Entity, now systems.Time) (m interp.Motion, ok bool) {
	c := p.client
	s, _ := c.Replica()
	told, ok := s.Motion(e)
	if !ok {
		return m, false
	}
	ahead := max(c.pacer.At(now)-float64(c.delay.Ticks())-float64(c.confirmed), 0) / float64(c.game.TickRate)
	m, _ = interp.Extrapolation{Cap: reckoning, Floor: p.remote.Track.Extrapolation.Floor}.After(interp.MotionOf(told), ahead)
	return m, true
}

// presentSwitched shows the entities that are neither predicted nor interpolated.
func (p *picture) presentSwitched(v *ecs.View, now systems.Time) {
	for i := range p.switched {
		s := &p.switched[i]
		if s.to != systems.Reckoned && s.to != systems.Confirmed {
			continue
		}
		newest, _ := p.client.Replica()
		v.Blend(s.entity, newest, newest, 1)
		if s.to == systems.Reckoned {
			if m, ok := p.reckon(s.entity, now); ok {
				v.Move(s.entity, m.Fixed())
			}
		}
	}
}

// unshift lets an entity be shown where it is.
func (p *picture) unshift(e ecs.Entity) {
	for i := range p.offsets {
		if p.offsets[i].entity == e {
			last := len(p.offsets) - 1
			p.offsets[i] = p.offsets[last]
			p.offsets = p.offsets[:last]
			return
		}
	}
}
