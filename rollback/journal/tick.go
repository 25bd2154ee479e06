package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Tick is one final tick: everything that entered it.
type Tick struct {
	Tick   ecs.Tick
	Inputs []ecs.InputBytes // index = Player; read ones are complete, in written ones missing players count as zero
	Orders []image.Order    // in stamped order, at most MaxOrders
}

// MaxOrders is how many orders a tick can have.
const MaxOrders = 255

// maxTick leaves room to count on without overflow.
const maxTick ecs.Tick = 1 << 62

// Errors of codes and ticks.
var (
	// ErrMalformed is wrapped by every error about bytes that are not what they are taken for.
	ErrMalformed = errors.New("journal: malformed")
	// ErrTick is wrapped by errors about a tick that has no code, which would be refused when it is read.
	ErrTick = errors.New("journal: a tick that cannot be stored")
)

// Codec codes single ticks of one game. The code of a tick is canonical: it follows from the inputs of the tick before
// and from the tick, and there is one. So servers, clients and tails agree on it, wherever their logs begin.
type Codec struct {
	game      *ecs.Game
	players   int
	inputSize int
}

// NewCodec returns the codec for a game.
func NewCodec(g *ecs.Game) *Codec {
	return &Codec{game: g, players: g.MaxPlayers, inputSize: g.Input.Size()}
}

// The flags that a tick's code begins with. What is above them begins other records of a journal.
const (
	flagInputs = 1 << iota
	flagOrders
	knownFlags = flagInputs | flagOrders
)

// minOrderBytes is the least that an order takes.
const minOrderBytes = 5

// inputOf returns a player's input out of a list that may be shorter.
func inputOf(inputs []ecs.InputBytes, p int) (in ecs.InputBytes) {
	if p < len(inputs) {
		in = inputs[p]
	}
	return in
}

// Check returns what stands against coding a tick: nil, or an ErrTick that names it. Inputs must be as
// ecs.Game.CleanInput leaves them.
func (c *Codec) Check(t *Tick) error {
	if t.Tick > maxTick || len(t.Inputs) > c.players || len(t.Orders) > MaxOrders {
		return fmt.Errorf("%w: tick %d with %d inputs and %d orders, at most %d and %d", ErrTick, t.Tick, len(t.Inputs), len(t.Orders), c.players, MaxOrders)
	}
	for p := range t.Inputs {
		if !c.clean(&t.Inputs[p]) {
			return fmt.Errorf("%w: tick %d: the input of player %d has bytes that no program could have stored: take what Game.CleanInput leaves", ErrTick, t.Tick, p)
		}
	}
	for i := range t.Orders {
		if o := &t.Orders[i]; !o.Kind.Valid() || int(o.Player) >= c.players || len(o.Payload) > image.MaxOrderBytes {
			return fmt.Errorf("%w: tick %d: an order of kind %d by player %d with %d bytes", ErrTick, t.Tick, o.Kind, o.Player, len(o.Payload))
		}
	}
	return nil
}

// clean reports whether a Go program could have stored the input.
func (c *Codec) clean(in *ecs.InputBytes) bool {
	clean := *in
	clean = c.game.Input.Clean(clean)
	return clean == *in
}

// AppendTick appends the code of a tick that Check lets pass, given the inputs of the tick before.
func (c *Codec) AppendTick(dst []byte, before []ecs.InputBytes, t *Tick) []byte {
	flags := len(dst)
	dst = append(dst, 0)
	dst = c.appendInputs(dst, flags, before, t.Inputs)
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
		dst = appendString(dst, o.Payload)
	}
	return dst
}

// appendInputs appends the inputs that changed, if any did, and sets the flag at dst[flags].
func (c *Codec) appendInputs(dst []byte, flags int, before, inputs []ecs.InputBytes) []byte {
	var players uint64
	for p := range c.players {
		if inputOf(before, p) != inputOf(inputs, p) {
			players |= 1 << p
		}
	}
	if players == 0 {
		return dst
	}
	dst[flags] |= flagInputs
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

// ReadTick reads the code at the front of b into t, given the inputs of the tick before, and returns what follows. It
// sets Inputs and Orders, using their memory again; payloads alias b. Everything is refused that AppendTick would not
// have written: then the error is ErrMalformed and t is of no use.
func (c *Codec) ReadTick(b []byte, before []ecs.InputBytes, t *Tick) (rest []byte, err error) {
	inputs := append(t.Inputs[:0], before[:min(len(before), c.players)]...)
	for len(inputs) < c.players {
		inputs = append(inputs, ecs.InputBytes{})
	}
	t.Inputs = inputs
	p := parser{rest: b}
	c.read(&p, t.Inputs, t)
	return p.rest, p.err()
}

// read reads a code. inputs holds the inputs of the tick before and then those of this one.
func (c *Codec) read(p *parser, inputs []ecs.InputBytes, t *Tick) {
	t.Orders = t.Orders[:0]
	flags := p.byte()
	if flags&^knownFlags != 0 {
		p.fail("unknown flags of a tick")
		return
	}
	if flags&flagInputs != 0 {
		c.readInputs(p, inputs)
	}
	if flags&flagOrders != 0 {
		c.readOrders(p, t)
	}
}

func (c *Codec) readInputs(p *parser, inputs []ecs.InputBytes) {
	players := p.varint()
	if players == 0 || bits.Len64(players) > c.players {
		p.fail("inputs of no players or of more than there are")
		return
	}
	for ; players != 0; players &= players - 1 {
		in := &inputs[bits.TrailingZeros64(players)]
		changed := p.varint()
		if changed == 0 || bits.Len64(changed) > c.inputSize {
			p.fail("an input with no changed bytes or with more than it has")
			return
		}
		for ; changed != 0; changed &= changed - 1 {
			i, now := bits.TrailingZeros64(changed), p.byte()
			if in[i] == now {
				p.fail("a changed byte that is not changed")
				return
			}
			in[i] = now
		}
		if !c.clean(in) {
			p.fail("an input that no program could have stored")
			return
		}
	}
}

func (c *Codec) readOrders(p *parser, t *Tick) {
	n := int(p.byte())
	if n == 0 || n > len(p.rest)/minOrderBytes {
		p.fail("no orders or more than there are bytes for")
		return
	}
	for range n {
		o := image.Order{Kind: image.OrderKind(p.byte()), Player: ecs.Player(p.byte())}
		row := p.varint()
		o.Entity.Row, o.Entity.Born = uint32(row), ecs.Tick(p.varint())
		o.Payload = p.bytes(image.MaxOrderBytes)
		if !o.Kind.Valid() || int(o.Player) >= c.players || row>>32 != 0 {
			p.fail("an order that no game can have")
		}
		if p.why != "" {
			return
		}
		t.Orders = append(t.Orders, o)
	}
}
