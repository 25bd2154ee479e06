package predict

import (
	"tendon/ecs/image"
	"tendon/systems/interp"
)

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
