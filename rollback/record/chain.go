package record

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs"
)

// Chain is the hash chain at a tick. Two peers whose chains are equal at a tick took the same inputs and orders in every
// tick since the start. The chain of State(0) is 0.
//
// It finds bugs and forks. It is no protection against forgery: xxHash64 is no cryptographic hash.
type Chain uint64

// Next returns the chain after the tick that has this code (see Codec.AppendTick): xxHash64 of the chain, lowest byte
// first, and the code.
func (c Chain) Next(code []byte) Chain { return c.next(code[0], code[1:]) }

// next is Next for a code whose first byte may have the flags of a file.
func (c Chain) next(flags byte, rest []byte) Chain {
	var d xxhash.Digest
	d.Reset()
	var head [9]byte
	binary.LittleEndian.PutUint64(head[:], uint64(c))
	head[8] = flags & codeFlags
	d.Write(head[:])
	d.Write(rest)
	return Chain(d.Sum64())
}

// Position is a place in a match, between two ticks. The next tick is coded and chained against it.
type Position struct {
	Tick   ecs.Tick         // the last one
	Chain  Chain            // at Tick
	Inputs []ecs.InputBytes // of Tick, index = Player; missing ones are zero
}

// PositionOf returns the position of a world that has simulated every tick up to its own. chain is the one at its tick.
func PositionOf(w *ecs.World, chain Chain) Position {
	p := Position{Tick: w.Tick(), Chain: chain, Inputs: make([]ecs.InputBytes, w.Game().MaxPlayers)}
	for i := range p.Inputs {
		p.Inputs[i] = w.Image().Input(ecs.Player(i))
	}
	return p
}

// set copies from into p, with an input for every player.
func (p *Position) set(from Position, players int) {
	p.Tick, p.Chain = from.Tick, from.Chain
	if len(p.Inputs) != players {
		p.Inputs = make([]ecs.InputBytes, players)
	}
	clear(p.Inputs[copy(p.Inputs, from.Inputs):])
}

// Advance moves p to the tick after it, which has this code. p must have an input for every player.
func (p *Position) Advance(t *Tick, code []byte) {
	p.Tick, p.Chain = t.Tick, p.Chain.Next(code)
	clear(p.Inputs[copy(p.Inputs, t.Inputs):])
}

// clone returns a copy that shares nothing with p.
func (p Position) clone() Position {
	p.Inputs = slices.Clone(p.Inputs)
	return p
}
