package rollback

import "tendon/ecs"

// Comparison compares a peer's own states with images of the server's. Its zero value is ready for use; the first
// comparison makes a world to load images into.
type Comparison struct {
	world *ecs.World
}

// With returns the first difference between an image and the peer's own state of the image's tick. own returns that
// state. ok is false if own does not have it, if the image is invalid or of another game, and if nothing differs.
func (c *Comparison) With(game *ecs.Game, image []byte, own func(ecs.Tick) (*ecs.Snapshot, bool)) (d ecs.Difference, ok bool) {
	if c.world == nil {
		world, err := ecs.NewWorld(game, 0)
		if err != nil {
			return d, false
		}
		c.world = world
	}
	if c.world.LoadImage(image) != nil {
		return d, false
	}
	mine, held := own(c.world.Tick())
	if !held {
		return d, false
	}
	var theirs ecs.Snapshot
	c.world.Save(&theirs)
	defer theirs.Release()
	return ecs.FirstDifference(mine, &theirs)
}
