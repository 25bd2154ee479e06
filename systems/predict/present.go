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
	c.Showing.View.Compose(image.Shown{Prev: previous, Cur: current, Confirmed: confirmed, Remote: remote, Own: &c.Own}, alpha)
}

func (c *Client) interpolate() {
	for _, t := range c.show.tracks.All {
		if c.Timeline(t.entity) == systems.Interpolated {
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
	from, ok := c.received.At(s.Bracket.From)
	to, ok2 := c.received.At(s.Bracket.To)
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
		if s.to != systems.Reckoned && s.to != systems.Confirmed {
			continue
		}
		picture.Blend(s.entity, newest, newest, 1)
		if m, ok := c.reckon(s.entity, c.Showing.Now); ok && s.to == systems.Reckoned {
			picture.Move(s.entity, m.Fixed())
		}
	}
}

// beforeReplay stores where the predicted entities are shown, before a replay.
func (p *presentation) beforeReplay(now systems.Time) {
	p.before = p.before[:0]
	previous, current, _, alpha := p.client.View(now)
	for e := range current.Entities {
		if p.client.Own.Has(e.Row) {
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
			p.addOffset(w.entity, w.at.Sub(at), 0)
		}
	}
}

// addOffset adds to the offset of an entity. Its offset moves at most at a speed, if that is not 0.
func (p *presentation) addOffset(e ecs.Entity, by interp.Vec, speed float64) {
	i := p.offsetIndex(e)
	if i < 0 {
		i = len(p.offsets)
		p.offsets = append(p.offsets, entityOffset{entity: e, offset: p.offset})
		if speed > 0 {
			p.offsets[i].offset = p.glide
		}
	}
	p.offsets[i].offset.Add(by)
	p.offsets[i].speed = speed
}

func (p *presentation) offsetIndex(e ecs.Entity) int {
	return slices.IndexFunc(p.offsets, func(o entityOffset) bool { return o.entity == e })
}

func (p *presentation) offsetOf(e ecs.Entity) interp.Vec {
	if i := p.offsetIndex(e); i >= 0 {
		return p.offsets[i].offset.Value()
	}
	return interp.Vec{}
}

// fade shows entities beside their positions while visual errors are smoothed.
func (c *Client) fade() {
	p := &c.show
	kept, seconds := p.offsets[:0], float64(c.Showing.Since)/float64(systems.Second)
	for _, o := range p.offsets {
		o.offset.Fade(seconds, o.speed*seconds)
		if value := o.offset.Value(); value != (interp.Vec{}) {
			c.Showing.View.Picture.Shift(o.entity, value.Fixed())
			kept = append(kept, o)
		}
	}
	p.offsets = kept
}
