package room

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/systems"
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

// chainHistory computes the hash chain of the match over its final ticks, and keeps the chain at the last 1024 of them. A
// client that kept a state of ticks that were lost in a restart has another chain.
type chainHistory struct {
	codec  *record.Codec
	last   record.Position
	code   []byte // scratch
	chains rollback.Ring[record.Chain]
}

func newChainHistory(world *ecs.World, chain record.Chain) *chainHistory {
	h := &chainHistory{codec: record.NewCodec(world.Game()), last: record.PositionOf(world, chain), chains: rollback.NewRing[record.Chain](1024)}
	h.chains.Put(h.last.Tick, chain)
	return h
}

func (h *chainHistory) add(f *systems.FinalTick) {
	h.code = h.codec.AppendTick(h.code[:0], h.last.Inputs, &f.FinalTick)
	h.last.Advance(&f.FinalTick, h.code)
	h.chains.Put(h.last.Tick, h.last.Chain)
}

func (h *chainHistory) at(f ecs.Tick) (c record.Chain, ok bool) {
	if kept, ok := h.chains.At(f); ok {
		return *kept, true
	}
	return 0, false
}
