package predict

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/interp"
)

// compose starts the view from the states that it is between.
func (c *Client) compose() {
	p, f := &c.show, &c.Showing
	if p.playing = p.playback.Advance(f.Now); c.limits.NoPlayback {
		p.playing = float64(c.Received)
	}
	previous, current, confirmed, alpha := c.View(f.Now)
	f.View.Compose(image.Shown{Prev: previous, Cur: current, Confirmed: confirmed, Remote: p.floor(p.playing), Own: &c.Own}, alpha)
}

// interpolate shows remote entities along their tracks.
func (c *Client) interpolate() {
	p := &c.show
	for _, t := range p.tracks {
		if p.timeline(t.entity) == systems.Interpolated {
			p.play(c.Showing.View, t)
		}
	}
}

// floor returns the newest state received of a tick not after the moment, or the oldest that is kept.
func (p *presentation) floor(playing float64) *image.Snapshot {
	c := p.client
	if s, ok := c.received.Floor(ecs.Tick(max(playing, 0))); ok {
		return s
	}
	for f := ecs.Tick(max(playing, 0)); f < c.Received; f++ {
		if s, ok := c.received.At(f); ok {
			return s
		}
	}
	s, _ := c.received.At(c.Received)
	return s
}

// play shows an entity along its track.
func (p *presentation) play(v *ecs.View, t *track) {
	s := t.remote.Show(p.playing)
	if s.Bracket.Kind == interp.Unknown {
		return
	}
	from, ok := p.client.received.At(s.Bracket.From)
	to, ok2 := p.client.received.At(s.Bracket.To)
	if ok && ok2 {
		v.Picture.Blend(t.entity, from, to, s.Bracket.Part)
	}
	if t.placed {
		v.Picture.Move(t.entity, s.Motion.Fixed())
	}
}
