package room

import (
	"tendon/ecs"
	"tendon/net/session"
)

// images makes images of the match and compresses them a little per Frame. Who comes gets one that is at most half a
// second old, or the one that is not compressed yet; a peer that is put right gets a fresh one, which its strikes
// bound.
type images struct {
	latest *session.Image
	behind []*session.Image // to be compressed, oldest first
	state  ecs.Snapshot
}

// image returns an image for a peer that comes now.
func (r *Room) image() *session.Image {
	if im := r.images.latest; im != nil {
		young := im.Tick()+ecs.Tick(r.config.Game.TickRate/2) >= r.Tick() || !im.Done()
		if young && im.Tick() >= r.half.OldestServable() {
			return im
		}
	}
	return r.freshImage()
}

// freshImage returns an image of the present tick.
func (r *Room) freshImage() *session.Image {
	im, world := &r.images, r.half.World()
	if im.latest != nil && im.latest.Tick() == world.Tick() {
		return im.latest
	}
	world.Save(&im.state)
	chain, _ := r.ledger.chain(world.Tick())
	im.latest = session.NewImage(&im.state, uint64(chain))
	im.state.Release()
	im.behind = append(im.behind, im.latest)
	r.stats.Images++
	return im.latest
}

// work compresses, at most budget bytes and at least one piece if there is any.
func (im *images) work(budget int) {
	for len(im.behind) > 0 && budget > 0 {
		budget -= im.behind[0].Work(budget)
		if !im.behind[0].Done() {
			return
		}
		im.behind = append(im.behind[:0], im.behind[1:]...)
	}
}
