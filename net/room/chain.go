package room

import (
	"tendon/ecs"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/systems"
)

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
