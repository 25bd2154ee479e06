package recording

import (
	"encoding/binary"
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Entry is one recorded tick: everything that entered it and the checksum of the state it led to.
type Entry struct {
	Tick     ecs.Tick
	Inputs   []ecs.InputBytes // index = Player
	Late     ecs.PlayerSet    // whose inputs the server substituted
	Orders   []image.Order    // in stamped order
	Checksum image.Checksum
}

// The flags of a recorded tick.
const (
	flagInputs = 1 << iota
	flagLate
	flagOrders
	knownFlags = flagInputs | flagLate | flagOrders
)

// minEntryBytes is the least that a tick takes: flags and checksum.
const minEntryBytes = 1 + 8

// minOrderBytes is the least that an order takes.
const minOrderBytes = 5

// entryCodec codes consecutive ticks against each other. last holds the inputs of the tick before.
type entryCodec struct {
	inputSize int
	last      []ecs.InputBytes
}

func newEntryCodec(h *Header) entryCodec {
	return entryCodec{inputSize: h.InputSize, last: make([]ecs.InputBytes, h.Players)}
}

// reset makes the next tick the first of a block.
func (c *entryCodec) reset() { clear(c.last) }

// append appends a tick.
func (c *entryCodec) append(b []byte, e *Entry) []byte {
	flags := len(b)
	b = append(b, 0)
	b = c.appendInputs(b, flags, e.Inputs)
	if e.Late != 0 {
		b[flags] |= flagLate
		b = binary.AppendUvarint(b, uint64(e.Late))
	}
	if len(e.Orders) > 0 {
		b[flags] |= flagOrders
		b = binary.AppendUvarint(b, uint64(len(e.Orders)))
		for i := range e.Orders {
			o := &e.Orders[i]
			b = append(b, byte(o.Kind), byte(o.Player))
			b = binary.AppendUvarint(b, uint64(o.Entity.Row))
			b = binary.AppendUvarint(b, uint64(o.Entity.Born))
			b = appendString(b, o.Payload)
		}
	}
	return binary.LittleEndian.AppendUint64(b, uint64(e.Checksum))
}

// appendInputs appends the inputs that changed, if any did, and sets the flag at b[flags].
func (c *entryCodec) appendInputs(b []byte, flags int, inputs []ecs.InputBytes) []byte {
	var players uint64
	for p := range c.last {
		if p < len(inputs) && inputs[p] != c.last[p] || p >= len(inputs) && c.last[p] != (ecs.InputBytes{}) {
			players |= 1 << p
		}
	}
	if players == 0 {
		return b
	}
	b[flags] |= flagInputs
	b = binary.AppendUvarint(b, players)
	for rest := players; rest != 0; rest &= rest - 1 {
		p := bits.TrailingZeros64(rest)
		var in ecs.InputBytes
		if p < len(inputs) {
			in = inputs[p]
		}
		var changed uint64
		for i := range c.inputSize {
			if in[i] != c.last[p][i] {
				changed |= 1 << i
			}
		}
		b = binary.AppendUvarint(b, changed)
		for ; changed != 0; changed &= changed - 1 {
			b = append(b, in[bits.TrailingZeros64(changed)])
		}
		c.last[p] = in
	}
	return b
}

// parse takes the next tick off p into e, whose slices are used again. Payloads of orders alias p.
func (c *entryCodec) parse(p *parser, e *Entry) {
	flags := p.byte()
	if flags&^knownFlags != 0 {
		p.bad = true
		return
	}
	if flags&flagInputs != 0 {
		c.parseInputs(p)
	}
	e.Inputs = append(e.Inputs[:0], c.last...)
	e.Late = 0
	if flags&flagLate != 0 {
		e.Late = ecs.PlayerSet(p.varint())
		p.bad = p.bad || len(c.last) < 64 && e.Late>>len(c.last) != 0
	}
	e.Orders = e.Orders[:0]
	if flags&flagOrders != 0 {
		c.parseOrders(p, e)
	}
	e.Checksum = image.Checksum(p.uint64())
}

func (c *entryCodec) parseInputs(p *parser) {
	players := p.varint()
	if len(c.last) < 64 && players>>len(c.last) != 0 {
		p.bad = true
		return
	}
	for ; players != 0 && !p.bad; players &= players - 1 {
		in := &c.last[bits.TrailingZeros64(players)]
		changed := p.varint()
		if changed>>c.inputSize != 0 {
			p.bad = true
			return
		}
		for ; changed != 0; changed &= changed - 1 {
			in[bits.TrailingZeros64(changed)] = p.byte()
		}
	}
}

func (c *entryCodec) parseOrders(p *parser, e *Entry) {
	n := p.small()
	if n > len(p.rest)/minOrderBytes {
		p.bad = true
		return
	}
	for range n {
		o := image.Order{Kind: image.OrderKind(p.byte()), Player: ecs.Player(p.byte())}
		row := p.varint()
		o.Entity.Row, o.Entity.Born = uint32(row), ecs.Tick(p.varint())
		o.Payload = p.bytes(image.MaxOrderBytes)
		if p.bad || !o.Kind.Valid() || int(o.Player) >= len(c.last) || row>>32 != 0 {
			p.bad = true
			return
		}
		e.Orders = append(e.Orders, o)
	}
}
