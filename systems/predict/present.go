package predict

import (
	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/interp"
)

// Present brings the view up to date with the moment: what is predicted between the two last states, all else as it was
// at the time of the playback.
func (c *Client) Present(v *ecs.View, now systems.Time) {
	c.picture.present(v, now)
}

func (p *picture) present(v *ecs.View, now systems.Time) {
	c := p.client
	since := max(now-p.last, 0)
	p.last = now
	playing := p.playback.Advance(now)
	if c.limits.NoPlayback {
		playing = float64(c.confirmed)
	}
	previous, current, confirmed, alpha := c.View(now)
	v.Compose(previous, current, confirmed, alpha, p.floor(playing), &c.own)
	for _, t := range p.tracks {
		if p.timeline(t.entity) == systems.Interpolated {
			p.play(v, t, playing)
		}
	}
	p.presentSwitched(v, now)
	p.fade(v, since)
	v.Dress()
}

// floor is the newest state that was told of a tick not after the moment, or the oldest that is kept.
func (p *picture) floor(playing float64) *ecs.Snapshot {
	c := p.client
	if s, ok := c.replicas.Floor(ecs.Tick(max(playing, 0))); ok {
		return s
	}
	for f := ecs.Tick(max(playing, 0)); f < c.confirmed; f++ {
		if s, ok := c.replicas.At(f); ok {
			return s
		}
	}
	s, _ := c.replicas.At(c.confirmed)
	return s
}

// play shows an entity along its track.
func (p *picture) play(v *ecs.View, t *track, playing float64) {
	s := t.remote.Show(playing)
	if s.Bracket.Kind == interp.Unknown {
		return
	}
	from, ok := p.client.replicas.At(s.Bracket.From)
	to, ok2 := p.client.replicas.At(s.Bracket.To)
	if ok && ok2 {
		v.Blend(t.entity, from, to, s.Bracket.Part)
	}
	if t.placed {
		v.Move(t.entity, s.Motion.Fixed())
	}
}

// fade shows what was put right beside where it is, less from time to time.
func (p *picture) fade(v *ecs.View, since systems.Time) {
	kept, seconds := p.offsets[:0], float64(since)/float64(systems.Second)
	for _, o := range p.offsets {
		o.offset.Fade(seconds, o.speed*seconds)
		if value := o.offset.Value(); value != (interp.Vec{}) {
			v.Shift(o.entity, value.Fixed())
			kept = append(kept, o)
		}
	}
	p.offsets = kept
}
