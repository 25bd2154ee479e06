package room

import (
	"tendon/ecs"
	"tendon/net/session"
)

// images makes images of the match and compresses them a little per Frame. At most one is made per half second;
// while one is not compressed yet, it is the one that everybody gets.
type images struct {
	maker  session.Imager
	latest *session.Image
	behind []*session.Image // to be compressed, oldest first
	state  ecs.Snapshot
}

// image returns an image for a peer that wants one now.
func (r *Room) image() *session.Image {
	im, world := &r.images, r.half.World()
	if im.latest != nil {
		young := im.latest.Tick()+ecs.Tick(r.config.Game.TickRate/2) >= world.Tick() || !im.latest.Done()
		if young && im.latest.Tick() >= r.half.OldestServable() {
			return im.latest
		}
	}
	world.Save(&im.state)
	im.latest = im.maker.Make(&im.state)
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
