package rollback

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// Comparison finds out how a peer's own states differ from images of the server's. It keeps a world to load them into,
// which is made for the first.
type Comparison struct {
	theirs *ecs.World
}

// With returns how the own state of an image's tick differs from the image. own returns the own state of a tick; ok is
// false where it is not at hand, where the image is none of the game's, and where nothing differs.
func (c *Comparison) With(game *ecs.Game, encoded []byte, own func(ecs.Tick) (*image.Snapshot, bool)) (d image.Difference, ok bool) {
	if c.theirs == nil {
		world, err := ecs.NewWorld(game, 0)
		if err != nil {
			return d, false
		}
		c.theirs = world
	}
	if c.theirs.Image().Load(encoded) != nil {
		return d, false
	}
	mine, held := own(c.theirs.Tick())
	if !held {
		return d, false
	}
	var state image.Snapshot
	c.theirs.Image().Save(&state)
	defer state.Release()
	return image.FirstDifference(mine, &state)
}
