package predict

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/interp"
)

// Present brings the view up to date with now: predicted entities between their two last states, remote ones at the tick
// of the playback.
func (c *Client) Present(v *ecs.View, now systems.Time) {
	f := &c.show.frame
	f.view, f.since, f.now = v, max(now-f.now, 0), now
	c.RunPresent()
	v.Dress()
}

// compose starts the view from the states that it is between.
func (c *Client) compose() {
	f := &c.show.frame
	if f.playing = c.show.playback.Advance(f.now); c.limits.NoPlayback {
		f.playing = float64(c.replica.Tick)
	}
	previous, current, confirmed, alpha := c.View(f.now)
	f.view.Compose(image.Shown{Prev: previous, Cur: current, Confirmed: confirmed, Remote: c.show.floor(f.playing), Own: &c.own}, alpha)
}

// interpolate shows remote entities along their tracks.
func (c *Client) interpolate() {
	p := &c.show
	for _, t := range p.tracks {
		if p.timeline(t.entity) == systems.Interpolated {
			p.play(p.frame.view, t, p.frame.playing)
		}
	}
}

// floor returns the newest state received of a tick not after the moment, or the oldest that is kept.
func (p *presentation) floor(playing float64) *image.Snapshot {
	c := p.client
	if s, ok := c.received.Floor(ecs.Tick(max(playing, 0))); ok {
		return s
	}
	for f := ecs.Tick(max(playing, 0)); f < c.replica.Tick; f++ {
		if s, ok := c.received.At(f); ok {
			return s
		}
	}
	s, _ := c.received.At(c.replica.Tick)
	return s
}

// play shows an entity along its track.
func (p *presentation) play(v *ecs.View, t *track, playing float64) {
	s := t.remote.Show(playing)
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
