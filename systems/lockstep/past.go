package lockstep

import "tendon/ecs"

// Fork returns a second world in the state of an executed frame; ok is false if it, or a later frame, is not kept.
func (c *Client) Fork(f ecs.Tick) (w *ecs.World, ok bool) {
	if f+1 < c.log.first || f > c.at() {
		return nil, false
	}
	return c.ring.Fork(c.Game, f)
}

// Follow executes the next frame in a forked world. ok is false if that frame is not kept, or not executed yet.
func (c *Client) Follow(w *ecs.World) (ok bool) {
	f := w.Tick()
	if f+1 < c.log.first || f >= c.at() {
		return false
	}
	if c.followed.at != f || f == 0 {
		c.followed.seek(c.log, f)
	}
	c.step(&c.followed, w)
	return true
}
