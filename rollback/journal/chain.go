package journal

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs"
)

// Chain ties a final tick to all before it: two peers whose chains are equal at a tick took the same inputs and orders
// in every tick since the chain's start. The chain of State(0) is 0.
//
// It finds mistakes and forks, not forgers: xxHash64 is no cryptographic hash.
type Chain uint64

// Next returns the chain after the tick that has this code: xxHash64 of the chain, lowest byte first, and the code.
func (c Chain) Next(code []byte) Chain {
	var d xxhash.Digest
	d.Reset()
	var before [8]byte
	binary.LittleEndian.PutUint64(before[:], uint64(c))
	d.Write(before[:])
	d.Write(code)
	return Chain(d.Sum64())
}

// Position is a place in a match, between two ticks: all that the next tick is coded and chained against.
type Position struct {
	Tick   ecs.Tick         // the last one
	Chain  Chain            // at Tick
	Inputs []ecs.InputBytes // of Tick, index = Player; missing ones count as zero
}

// PositionOf returns where a world stands that has taken every tick up to its own; chain is the one at its tick.
func PositionOf(w *ecs.World, chain Chain) Position {
	p := Position{Tick: w.Tick(), Chain: chain, Inputs: make([]ecs.InputBytes, w.Game().MaxPlayers)}
	for i := range p.Inputs {
		p.Inputs[i] = w.Image().Input(ecs.Player(i))
	}
	return p
}

// set makes p a copy of from that shares nothing with it and has an input for every player.
func (p *Position) set(from Position, players int) {
	p.Tick, p.Chain = from.Tick, from.Chain
	if len(p.Inputs) != players {
		p.Inputs = make([]ecs.InputBytes, players)
	}
	clear(p.Inputs)
	copy(p.Inputs, from.Inputs)
}

// clone returns a copy that shares nothing with p.
func (p *Position) clone() Position {
	return Position{Tick: p.Tick, Chain: p.Chain, Inputs: slices.Clone(p.Inputs)}
}
