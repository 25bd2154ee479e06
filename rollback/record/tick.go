package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/rollback"
)

// Tick is a final tick. Ticks that were read have an input for every player. A tick has at most MaxOrders orders.
type Tick = rollback.FinalTick

// MaxOrders is the maximum number of orders in a tick.
const MaxOrders = 255

// maxTick leaves room to count on without overflow.
const maxTick ecs.Tick = 1 << 62

// Codec codes the ticks of one game. The code of a tick is canonical: it follows from the inputs of the tick before and
// from the tick's own inputs and orders. Servers and clients therefore compute equal hash chains.
type Codec struct {
	input     interface{ Valid(ecs.InputBytes) bool }
	rate      int // ticks per second
	players   int
	inputSize int
}

// NewCodec returns the codec for a game.
func NewCodec(g *ecs.Game) *Codec {
	return &Codec{input: g.Input, rate: g.TickRate, players: g.MaxPlayers, inputSize: g.Input.Size()}
}

// The flags of a tick. The code of a tick has the first two only; in a file, the late players and the checksum follow it.
const (
	flagInputs = 1 << iota
	flagOrders
	flagLate
	flagChecksum
	codeFlags = flagInputs | flagOrders
	tickFlags = codeFlags | flagLate | flagChecksum
)

// minOrderBytes is the size of the smallest order.
const minOrderBytes = 5

// zeroInput is the input of a player behind the end of a list.
var zeroInput ecs.InputBytes

// inputOf returns a player's input from a list that may be shorter. It must not be written.
func inputOf(inputs []ecs.InputBytes, p int) *ecs.InputBytes {
	if p < len(inputs) {
		return &inputs[p]
	}
	return &zeroInput
}

// changed returns the players whose input differs from that of the tick before.
func (c *Codec) changed(before, inputs []ecs.InputBytes) (players uint64) {
	for p := range c.players {
		if *inputOf(before, p) != *inputOf(inputs, p) {
			players |= 1 << p
		}
	}
	return players
}

// check returns the players whose input changed. The error wraps ErrUse if the tick has no code. Inputs must be as the
// game's Input.Clean returns them. before holds the inputs of the tick before, which were checked.
func (c *Codec) check(before []ecs.InputBytes, t *Tick) (players uint64, err error) {
	if t.Tick > maxTick || len(t.Inputs) > c.players || len(t.Orders) > MaxOrders {
		return 0, fmt.Errorf("%w: tick %d has %d inputs and %d orders, want at most %d and %d", ErrUse, t.Tick, len(t.Inputs), len(t.Orders), c.players, MaxOrders)
	}
	players = c.changed(before, t.Inputs)
	for rest := players; rest != 0; rest &= rest - 1 {
		if p := bits.TrailingZeros64(rest); !c.input.Valid(*inputOf(t.Inputs, p)) {
			return 0, fmt.Errorf("%w: tick %d: the input of player %d has padding that is set or a boolean above 1: apply Input.Clean", ErrUse, t.Tick, p)
		}
	}
	for i := range t.Orders {
		if o := &t.Orders[i]; !o.Kind.Valid() || int(o.Player) >= c.players || len(o.Payload) > image.MaxOrderBytes {
			return 0, fmt.Errorf("%w: tick %d: an order of kind %d, player %d, %d bytes", ErrUse, t.Tick, o.Kind, o.Player, len(o.Payload))
		}
	}
	if bits.Len64(uint64(t.Late)) > c.players {
		return 0, fmt.Errorf("%w: tick %d: Late is %#x, there are %d players", ErrUse, t.Tick, uint64(t.Late), c.players)
	}
	return players, nil
}

// AppendTick appends the code of a tick that a Writer accepts. before holds the inputs of the tick before.
func (c *Codec) AppendTick(dst []byte, before []ecs.InputBytes, t *Tick) []byte {
	return c.appendTick(dst, c.changed(before, t.Inputs), before, t)
}

// appendTick is AppendTick for a tick in which these players' inputs changed.
func (c *Codec) appendTick(dst []byte, players uint64, before []ecs.InputBytes, t *Tick) []byte {
	flags := len(dst)
	dst = append(dst, 0)
	if players != 0 {
		dst[flags] |= flagInputs
		dst = c.appendInputs(dst, players, before, t.Inputs)
	}
	if len(t.Orders) == 0 {
		return dst
	}
	dst[flags] |= flagOrders
	dst = append(dst, byte(len(t.Orders)))
	for i := range t.Orders {
		o := &t.Orders[i]
		dst = append(dst, byte(o.Kind), byte(o.Player))
		dst = binary.AppendUvarint(dst, uint64(o.Entity.Row))
		dst = binary.AppendUvarint(dst, uint64(o.Entity.Born))
		dst = appendBlob(dst, o.Payload)
	}
	return dst
}

// appendInputs appends the inputs of these players, which changed.
func (c *Codec) appendInputs(dst []byte, players uint64, before, inputs []ecs.InputBytes) []byte {
	dst = binary.AppendUvarint(dst, players)
	for ; players != 0; players &= players - 1 {
		p := bits.TrailingZeros64(players)
		old, in := inputOf(before, p), inputOf(inputs, p)
		var changed uint64
		for i := range c.inputSize {
			if in[i] != old[i] {
				changed |= 1 << i
			}
		}
		dst = binary.AppendUvarint(dst, changed)
		for ; changed != 0; changed &= changed - 1 {
			dst = append(dst, in[bits.TrailingZeros64(changed)])
		}
	}
	return dst
}

// appendEntry appends a tick as a file holds it: the code, then the late players and the checksum, if any. code is the
// length of the code.
func (c *Codec) appendEntry(dst []byte, players uint64, before []ecs.InputBytes, t *Tick) (out []byte, code int) {
	from := len(dst)
	dst = c.appendTick(dst, players, before, t)
	code = len(dst) - from
	if t.Late != 0 {
		dst[from] |= flagLate
		dst = binary.AppendUvarint(dst, uint64(t.Late))
	}
	if t.Checksum != 0 {
		dst[from] |= flagChecksum
		dst = binary.LittleEndian.AppendUint64(dst, uint64(t.Checksum))
	}
	return dst, code
}

// read reads a code with these flags behind its first byte. inputs holds the inputs of the tick before, and then those of
// this one. Payloads alias r.
func (c *Codec) read(r *wire.Reader, flags byte, inputs []ecs.InputBytes, t *Tick) {
	t.Orders = t.Orders[:0]
	if flags&flagInputs != 0 {
		c.readInputs(r, inputs)
	}
	if flags&flagOrders != 0 {
		c.readOrders(r, t)
	}
}

func (c *Codec) readInputs(r *wire.Reader, inputs []ecs.InputBytes) {
	players := r.Uvarint()
	if players == 0 || bits.Len64(players) > c.players {
		r.Fail(errors.New("changed inputs of no player, or of more than there are"))
		return
	}
	for ; players != 0; players &= players - 1 {
		in := &inputs[bits.TrailingZeros64(players)]
		changed := r.Uvarint()
		if changed == 0 || bits.Len64(changed) > c.inputSize {
			r.Fail(errors.New("an input with no changed byte, or with more than it has"))
			return
		}
		for ; changed != 0; changed &= changed - 1 {
			i, now := bits.TrailingZeros64(changed), r.U8()
			if in[i] == now {
				r.Fail(errors.New("a changed byte that is not changed"))
				return
			}
			in[i] = now
		}
		if !c.input.Valid(*in) {
			r.Fail(errors.New("an input with padding that is set or a boolean above 1"))
			return
		}
	}
}

func (c *Codec) readOrders(r *wire.Reader, t *Tick) {
	n := int(r.U8())
	if n == 0 {
		r.Fail(errors.New("no orders"))
	}
	if n > r.Len()/minOrderBytes {
		r.Fail(wire.ErrShort)
		return
	}
	for range n {
		o := image.Order{Kind: image.OrderKind(r.U8()), Player: ecs.Player(r.U8())}
		row := r.Uvarint()
		o.Entity.Row, o.Entity.Born = uint32(row), ecs.Tick(r.Uvarint())
		o.Payload = r.Blob(image.MaxOrderBytes)
		if !o.Kind.Valid() || int(o.Player) >= c.players || row>>32 != 0 {
			r.Fail(errors.New("an order that the game cannot have"))
		}
		if r.Err() != nil {
			return
		}
		t.Orders = append(t.Orders, o)
	}
}

func appendBlob[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// LookBack returns the number of past ticks that a world needs for the orders of tick f. It is the age, in ticks, of their
// oldest view. It is 0 if no view is valid, and at most image.MaxViewTicks.
func LookBack(f ecs.Tick, orders []image.Order) (reach ecs.Tick) {
	for i := range orders {
		if o := &orders[i]; o.Kind == image.OrderView {
			v, ok := image.ParseViewStamp(o.Payload)
			if ok && v.Tick > 0 && v.Tick < f && f-v.Tick <= image.MaxViewTicks {
				reach = max(reach, f-v.Tick)
			}
		}
	}
	return reach
}

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
