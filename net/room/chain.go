package room

import (
	"tendon/ecs"
	"tendon/rollback/record"
	"tendon/systems"
)

// chainHistory computes the hash chain of the match over its final ticks. It keeps the chain at the last ticks, tick f in
// slot f % chainsKept. An image is sent with the chain at its tick. A client that kept a state of ticks that were lost in
// a restart has another chain.
type chainHistory struct {
	codec  *record.Codec
	last   record.Position
	code   []byte // scratch
	chains [chainsKept]tickChain
}

// tickChain is the chain at a tick.
type tickChain struct {
	tick  ecs.Tick
	chain record.Chain
}

// chainsKept is for how many ticks the chain is kept: 16 KiB.
const chainsKept = 1024

func newChainHistory(world *ecs.World, chain record.Chain) *chainHistory {
	h := &chainHistory{codec: record.NewCodec(world.Game()), last: record.PositionOf(world, chain)}
	h.keep()
	return h
}

func (h *chainHistory) keep() {
	h.chains[h.last.Tick%chainsKept] = tickChain{h.last.Tick, h.last.Chain}
}

// add extends the chain by the next tick.
func (h *chainHistory) add(f *systems.FinalTick) {
	h.code = h.codec.AppendTick(h.code[:0], h.last.Inputs, &f.FinalTick)
	h.last.Advance(&f.FinalTick, h.code)
	h.keep()
}

// at returns the chain at a tick; ok is false if it is not kept.
func (h *chainHistory) at(f ecs.Tick) (c record.Chain, ok bool) {
	slot := &h.chains[f%chainsKept]
	return slot.chain, slot.tick == f && f <= h.last.Tick
}
