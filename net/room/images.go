package room

import (
	"cmp"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/systems"
)

// images makes images of the match and compresses them in small steps, one per Frame. A new peer gets an image that is
// at most half a second old, or one that is still being compressed. If the memory of Config.Backlog is used up, the image may be
// older. In a game with private data, each seat has images of its own, and spectators have their own.
type images struct {
	latest []*session.Image // by seat + 1; one for all if nothing is private
	bytes  int              // of the state of latest, in memory
	queue  []*session.Image // to be compressed, oldest first
	state  image.Snapshot   // scratch
	held   []ecs.Tick       // ticks of the states whose images are being sent or may be sent
}

// keepStates has the strategy keep what it needs to serve the peers whose images are under way, and those that may still be
// sent the latest image.
func (r *Room) keepStates() {
	im := &r.images
	im.held = im.held[:0]
	for _, p := range r.present() {
		if f := p.session.State(); (p.session.Loading() || p.holding) && !slices.Contains(im.held, f) {
			im.held = append(im.held, f)
		}
	}
	for _, latest := range im.latest {
		if latest != nil && r.recent(latest) && !slices.Contains(im.held, latest.Tick()) {
			im.held = append(im.held, latest.Tick())
		}
	}
	r.strategy.Keep(im.held)
}

// full reports whether the memory for the states of images has no space for another state.
func (r *Room) full() bool {
	im := &r.images
	return len(im.held) > 0 && (len(im.held)+1)*im.bytes > cmp.Or(r.config.Backlog, systems.KeptBytes)/2
}

// recent reports whether an image may be sent to new peers. An image that is still being compressed may always be sent. So may any
// image while full.
func (r *Room) recent(im *session.Image) bool {
	return !im.Done() || im.Tick()+ecs.Tick(r.config.Game.TickRate/2) >= r.Tick() || r.full()
}

// latestImage returns the place of the latest image for a seat, −1 for spectators.
func (r *Room) latestImage(seat int) **session.Image {
	if !r.private {
		seat = none
	}
	return &r.images.latest[seat+1]
}

// image returns an image for the holder of a seat, or for a spectator.
func (r *Room) image(seat int) *session.Image {
	im := *r.latestImage(seat)
	if im == nil || r.clock.on || !r.recent(im) || !r.strategy.Serves(im.Tick()) {
		return r.presentImage(seat)
	}
	return im
}

// presentImage returns an image of the present state for the holder of a seat, or the latest image while full.
func (r *Room) presentImage(seat int) *session.Image {
	im, world, latest := &r.images, r.strategy.World(), r.latestImage(seat)
	if *latest != nil && ((*latest).Tick() == world.Tick() || r.full() && !r.clock.on && r.strategy.Serves((*latest).Tick())) {
		return *latest
	}
	state, chain := r.strategy.Known(seat), record.Chain(0)
	if state == nil {
		state = &im.state
		world.Image().Save(state)
		chain, _ = r.chains.at(world.Tick())
	}
	im.bytes = state.Bytes()
	*latest = session.NewImage(state, uint64(chain), r.played.Name, r.played.Params)
	im.state.Release()
	im.queue = append(im.queue, *latest)
	r.stats.Images++
	return *latest
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
// client that kept a state of ticks that were lost in a restart has another chain. It keeps none if Config has no Resume, no HistoryKey
// and no sink with Tick: such a match cannot be resumed.
type chainHistory struct {
	codec  *record.Codec
	last   record.Position
	code   []byte // scratch
	chains rollback.Ring[record.Chain]
	prover *record.Prover // at last; nil if nothing is proven
	proven ecs.Tick       // the newest tick whose proof is due
	proof  []byte         // of that tick; empty after it was sent
}

func newChainHistory(c *Config, from *Resume) *chainHistory {
	world := from.World
	h := &chainHistory{codec: record.NewCodec(c.Game), last: record.PositionOf(world, from.Chain)}
	if c.Resume == nil && len(c.HistoryKey) == 0 && !slices.ContainsFunc(c.Sinks, func(s Sink) bool { return s.Tick != nil }) {
		return h
	}
	h.chains = rollback.NewRing[record.Chain](1024)
	h.chains.Put(h.last.Tick, from.Chain)
	if len(c.HistoryKey) > 0 && c.Match != 0 && c.exact() {
		digest, known := record.Digest{}, h.last.Tick == 0
		if from.Digest != nil {
			digest, known = from.Digest()
		}
		if known {
			h.prover = record.NewProver(c.Game, c.HistoryKey, c.Match, digest)
		}
	}
	return h
}

func (h *chainHistory) add(f *systems.FinalTick) {
	if h.chains.Depth() == 0 {
		return
	}
	h.code = h.codec.AppendTick(h.code[:0], h.last.Inputs, &f.FinalTick)
	h.last.Advance(&f.FinalTick, h.code)
	h.chains.Put(h.last.Tick, h.last.Chain)
	if h.prover != nil && h.prover.Add(f.Tick, h.code) {
		h.proven, h.proof = f.Tick, h.prover.Proof()
	}
}

func (h *chainHistory) at(f ecs.Tick) (c record.Chain, ok bool) {
	if kept, ok := h.chains.At(f); ok {
		return *kept, true
	}
	return 0, false
}
