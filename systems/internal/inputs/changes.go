package inputs

import "tendon/ecs"

// Changes turns the local player's input into changes, for a server that holds each input until the next.
type Changes struct {
	now   ecs.InputBytes // the input from now on
	fresh bool           // now was set since the last sample
	last  ecs.InputBytes // the input that the server holds
	again bool           // the server may hold another input than last
}

// Set sets the input from now on. With keep, presses of an input that was not sampled yet are merged into it.
func (c *Changes) Set(in ecs.InputBytes, keep bool, game *ecs.Game) {
	in = game.Input.Clean(in)
	if keep && c.fresh {
		in = game.Input.MergeLate(c.now, in)
	}
	c.now, c.fresh = in, true
}

// Pass notes that ticks have passed, in which the server predicted the input.
func (c *Changes) Pass(ticks int, game *ecs.Game) {
	for range ticks {
		c.last = game.Input.Predict(c.last)
	}
}

// Sample returns the input, and whether the server must be sent it.
func (c *Changes) Sample() (in ecs.InputBytes, changed bool) {
	in = c.last
	if c.fresh {
		in = c.now
	}
	changed = c.again || in != c.last
	c.last, c.fresh, c.again = in, false, false
	return in, changed
}

// Repeat makes the next sample a change: the server may hold another input.
func (c *Changes) Repeat() { c.again = true }

// Restart sets the input that the server holds. A held button stays held; presses of before are dropped.
func (c *Changes) Restart(held ecs.InputBytes, game *ecs.Game) {
	c.now, c.fresh, c.last, c.again = game.Input.Predict(c.now), true, held, false
}
