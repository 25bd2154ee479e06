package rollback

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// Comparison compares a peer's own states with images of the server's. Its zero value is ready for use; the first
// comparison makes a world to load images into.
type Comparison struct {
	world *ecs.World
}

// With returns the first difference between an encoded image and the peer's own state of the image's tick. own returns that
// state. ok is false if own does not have it, if the image is invalid or of another game, and if nothing differs.
func (c *Comparison) With(game *ecs.Game, encoded []byte, own func(ecs.Tick) (*image.Snapshot, bool)) (d image.Difference, ok bool) {
	if c.world == nil {
		world, err := ecs.NewWorld(game, 0)
		if err != nil {
			return d, false
		}
		c.world = world
	}
	if c.world.Image().Load(encoded) != nil {
		return d, false
	}
	mine, held := own(c.world.Tick())
	if !held {
		return d, false
	}
	var theirs image.Snapshot
	c.world.Image().Save(&theirs)
	defer theirs.Release()
	return image.FirstDifference(mine, &theirs)
}
