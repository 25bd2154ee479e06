package room

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
)

// images makes images of the match and compresses them in small steps, one per Frame. A new peer gets an image that is
// at most half a second old, or one that is still being compressed.
type images struct {
	latest *session.Image
	queue  []*session.Image // to be compressed, oldest first
	state  image.Snapshot   // scratch
}

func (r *Room) image() *session.Image {
	im := r.images.latest
	if im == nil || im.Done() && im.Tick()+ecs.Tick(r.config.Game.TickRate/2) < r.Tick() || im.Tick() < r.strategy.OldestServable() {
		return r.presentImage()
	}
	return im
}

func (r *Room) presentImage() *session.Image {
	im, world := &r.images, r.strategy.World()
	if im.latest != nil && im.latest.Tick() == world.Tick() {
		return im.latest
	}
	world.Image().Save(&im.state)
	chain, _ := r.chains.at(world.Tick())
	im.latest = session.NewImage(&im.state, uint64(chain))
	im.state.Release()
	im.queue = append(im.queue, im.latest)
	r.stats.Images++
	return im.latest
}

// compress compresses at most budget bytes of images, and at least one piece if there is any.
func (im *images) compress(budget int) {
	for len(im.queue) > 0 && budget > 0 {
		if budget -= im.queue[0].Work(budget); !im.queue[0].Done() {
			return
		}
		im.queue = slices.Delete(im.queue, 0, 1)
	}
}
