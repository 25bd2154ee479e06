package predict

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/interp"
)

// beforeReplay stores where the predicted entities are shown, before a replay.
func (p *presentation) beforeReplay(now systems.Time) {
	p.before = p.before[:0]
	if p.client.limits.NoBlend {
		return
	}
	previous, current, _, alpha := p.client.View(now)
	for e := range current.Entities {
		if p.client.Own.Has(e.Row) {
			if at, ok := between(e, previous, current, alpha); ok {
				p.before = append(p.before, placed{e, at})
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
			p.shift(w.entity, w.at.Sub(at), 0)
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

// shift adds to the offset of an entity. Its offset moves at most at a speed, if that is not 0.
func (p *presentation) shift(e ecs.Entity, by interp.Vec, speed float64) {
	for i := range p.offsets {
		if o := &p.offsets[i]; o.entity == e {
			o.offset.Add(by)
			o.speed = speed
			return
		}
	}
	o := shifted{entity: e, offset: p.offset, speed: speed}
	if speed > 0 {
		o.offset = p.glide
	}
	if o.offset.Add(by); o.offset.Value() != (interp.Vec{}) {
		p.offsets = append(p.offsets, o)
	}
}

// shiftOf returns the offset of an entity.
func (p *presentation) shiftOf(e ecs.Entity) interp.Vec {
	for i := range p.offsets {
		if p.offsets[i].entity == e {
			return p.offsets[i].offset.Value()
		}
	}
	return interp.Vec{}
}

// unshift ends the error smoothing of an entity.
func (p *presentation) unshift(e ecs.Entity) {
	for i := range p.offsets {
		if p.offsets[i].entity == e {
			last := len(p.offsets) - 1
			p.offsets[i] = p.offsets[last]
			p.offsets = p.offsets[:last]
			return
		}
	}
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
