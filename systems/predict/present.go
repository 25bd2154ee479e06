package predict

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/interp"
)

// entityOffset is an entity that is shown beside its position, while a visual error is smoothed.
type entityOffset struct {
	entity ecs.Entity
	offset interp.Offset
	speed  float64 // largest speed of the offset, in world units per second; 0: as it decays
}

// shownPlace is the position at which an entity is shown.
type shownPlace struct {
	entity ecs.Entity
	at     interp.Vec
}

func (c *Client) compose() {
	c.show.playback.Advance(c.Showing.Now)
	previous, current, confirmed, alpha := c.View(c.Showing.Now)
	remote := c.show.floor(c.show.moment())
	c.Showing.View.Compose(image.Shown{Prev: previous, Cur: current, Confirmed: confirmed, Remote: remote, Own: &c.Predicted}, alpha)
}

func (c *Client) interpolate() {
	for _, t := range c.show.tracks.All {
		if c.Timeline(t.entity) == Interpolated {
			c.play(t)
		}
	}
}

func (c *Client) play(t *track) {
	s := t.remote.Show(c.show.moment())
	if s.Bracket.Kind == interp.Unknown {
		return
	}
	picture := c.Showing.View.Picture
	from, ok := c.states.At(s.Bracket.From)
	to, ok2 := c.states.At(s.Bracket.To)
	if ok && ok2 {
		picture.Blend(t.entity, from, to, s.Bracket.Part)
	}
	if t.placed {
		picture.Move(t.entity, s.Motion.Fixed())
	}
}

// presentSwitched shows the entities that are neither predicted nor interpolated.
func (c *Client) presentSwitched() {
	picture, newest := c.Showing.View.Picture, c.Receiver.State()
	for _, s := range c.show.switched {
		if s.to != Reckoned && s.to != Confirmed {
			continue
		}
		picture.Blend(s.entity, newest, newest, 1)
		if m, ok := c.reckon(s.entity, c.Showing.Now); ok && s.to == Reckoned {
			picture.Move(s.entity, m.Fixed())
		}
	}
}

// beforeReplay stores where the predicted entities are shown, before a replay.
func (p *presentation) beforeReplay(now systems.Time) {
	p.before = p.before[:0]
	previous, current, _, alpha := p.client.View(now)
	for e := range current.Entities {
		if p.client.Predicted.Has(e.Row) {
			if at, ok := between(e, previous, current, alpha); ok {
				p.before = append(p.before, shownPlace{e, at})
			}
		}
	}
}

// afterReplay starts error smoothing from the stored positions for the entities that a replay moved.
func (p *presentation) afterReplay(now systems.Time) {
	previous, current, _, alpha := p.client.View(now)
	for i := range p.before {
		w := &p.before[i]
		if at, ok := between(w.entity, previous, current, alpha); ok && at != w.at {
			p.addOffset(w.entity, w.at.Sub(at))
		}
	}
}

// between returns where an entity is shown between two states, without its offset.
func between(e ecs.Entity, previous, current *image.Snapshot, alpha float64) (at interp.Vec, ok bool) {
	m, ok := current.Motion(e)
	if !ok {
		return at, false
	}
	at = interp.VecOf(m.Pos)
	if m, ok = previous.Motion(e); ok {
		at = interp.VecOf(m.Pos).Lerp(at, alpha)
	}
	return at, true
}

func (p *presentation) addOffset(e ecs.Entity, by interp.Vec) {
	i := p.offsetIndex(e)
	if i < 0 {
		i = len(p.offsets)
		p.offsets = append(p.offsets, entityOffset{entity: e, offset: interp.NewOffset(p.remote.Smoothing)})
	}
	p.offsets[i].offset.Add(by)
	p.offsets[i].speed = 0
}

func (p *presentation) offsetIndex(e ecs.Entity) int {
	return slices.IndexFunc(p.offsets, func(o entityOffset) bool { return o.entity == e })
}

// fade shows entities beside their positions while visual errors are smoothed. An entity that is not shown any more loses
// its offset.
func (c *Client) fade() {
	p := &c.show
	kept, seconds := p.offsets[:0], float64(c.Showing.Since)/float64(systems.Second)
	for _, o := range p.offsets {
		o.offset.Fade(seconds, o.speed*seconds)
		if value := o.offset.Value(); value != (interp.Vec{}) && c.Showing.View.Sim.Exists(o.entity) {
			c.Showing.View.Picture.Shift(o.entity, value.Fixed())
			kept = append(kept, o)
		}
	}
	p.offsets = kept
}
