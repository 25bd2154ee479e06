package relay

import (
	"errors"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
)

// The kinds of messages, the first byte of each. Their layouts are in net/wire/STANDARD.md.
const (
	kindInput   = 1 // client → server, datagram
	kindConfirm = 2 // server → client, datagram
	kindOrder   = 3 // client → server, reliable: a requested order
	kindStamped = 4 // server → client, reliable and datagram: stamped into a tick
	kindHash    = 5 // client → server, reliable
)

// ErrMessage is returned for a message that does not follow the standard.
var ErrMessage = errors.New("relay: malformed message")

const (
	maxConfirms      = 255 // ticks in one message
	maxOrdersPerTick = 255 // the server stamps orders beyond into the next tick
	headBytes        = 16  // most bytes before the bits of an input message or a confirmation
	recentTicks      = 256 // whose inputs the server keeps
)

// checkGame refuses a game of which one tick's inputs may not fit a datagram.
func checkGame(g *ecs.Game) error { return code.CheckTick("relay", g, headBytes, worstTick(g)) }

// worstTick returns the most bits that a final tick takes.
func worstTick(g *ecs.Game) int {
	return 1 + 1 + g.MaxPlayers + 1 + 32 + g.MaxPlayers*code.WorstChange(g)
}

// inputMessage is what a client sends each tick: how far its input sets are final, and its inputs of the ticks that
// follow.
type inputMessage struct {
	received ecs.Tick
	inputs   []ecs.InputBytes
}

// append writes the message with as many of the inputs as fit a datagram, oldest first. before are the client's inputs of
// received and of the tick before.
func (m *inputMessage) append(dst []byte, before code.Course, game *ecs.Game) []byte {
	w := wire.NewWriter(dst, systems.MaxDatagram)
	w.U8(kindInput)
	w.U16(uint16(m.received))
	return inputs.AppendWindow(w.Bytes(), w.Room(), before, m.inputs, game)
}

// readHead parses a message up to the inputs. near is the last tick that the sender acknowledged.
func (m *inputMessage) readHead(r *wire.Reader, near ecs.Tick) error {
	kind := r.U8()
	m.received = ecs.Tick(wire.Expand16(uint64(near), r.U16()))
	if r.Err() != nil || kind != kindInput {
		return ErrMessage
	}
	return nil
}

// readInputs parses the inputs behind the head with the decoder of the sender. The inputs are valid until d decodes a message again.
func (m *inputMessage) readInputs(r *wire.Reader, d *inputs.WindowDecoder, before code.Course, game *ecs.Game) error {
	var ok bool
	if m.inputs, ok = d.Read(r, m.received+1, before, game); !ok {
		return ErrMessage
	}
	return nil
}

// stampedOrder is an order in its tick. number counts the orders of the tick, from 0: with the tick it names the
// order, so that one which is sent again is known.
type stampedOrder struct {
	tick   ecs.Tick
	number int
	order  image.Order
}

func (s *stampedOrder) append(dst []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kindStamped)
	w.Uvarint(uint64(s.tick))
	w.U8(uint8(s.number))
	w.U8(uint8(s.order.Kind))
	w.U8(uint8(s.order.Player))
	code.AppendAction(&w, s.order.Entity, s.order.Payload)
	return w.Bytes()
}

// read parses a stamped order; its payload aliases the message.
func (s *stampedOrder) read(message []byte, game *ecs.Game) error {
	r := wire.NewReader(message)
	kind := r.U8()
	s.tick, s.number = ecs.Tick(r.Uvarint()), int(r.U8())
	s.order.Kind, s.order.Player = image.OrderKind(r.U8()), ecs.Player(r.U8())
	s.order.Entity, s.order.Payload = code.ReadAction(&r)
	if r.Close() != nil || kind != kindStamped || s.tick == 0 || s.number >= maxOrdersPerTick || !code.ValidOrder(&s.order, game) {
		return ErrMessage
	}
	return nil
}

// confirmHead is the head of a confirmation of count ticks. The server has computed more ticks after them. margin is that of one of
// the receiver's inputs. withoutOwn is set if the receiver's own inputs are left out.
type confirmHead struct {
	first      ecs.Tick
	count      int
	more       ecs.Tick
	withoutOwn bool
	hasMargin  bool
	margin     inputs.Margin
}

func (h *confirmHead) last() ecs.Tick { return h.first + ecs.Tick(h.count) - 1 }

// The flags of a confirmation.
const (
	flagMargin = 1 << iota
	flagWithoutOwn
	flagBits = iota
)

func (h *confirmHead) append(w *wire.Writer) {
	w.U8(kindConfirm)
	w.U16(uint16(h.first))
	w.U8(uint8(h.count))
	flags := uint64(h.more) << flagBits
	if h.hasMargin {
		flags |= flagMargin
	}
	if h.withoutOwn {
		flags |= flagWithoutOwn
	}
	w.Uvarint(flags)
	if h.hasMargin {
		w.Varint(int64(h.margin.Tick - h.first))
		w.Varint(int64(h.margin.Value))
	}
}

// read parses the head; near is the receiver's last final tick.
func (h *confirmHead) read(r *wire.Reader, near ecs.Tick) error {
	kind := r.U8()
	h.first = ecs.Tick(wire.Expand16(uint64(near), r.U16()))
	h.count = int(r.U8())
	flags := r.Uvarint()
	h.more, h.hasMargin, h.withoutOwn = ecs.Tick(flags>>flagBits), flags&flagMargin != 0, flags&flagWithoutOwn != 0
	if h.hasMargin {
		tick, value := r.Varint(), r.Varint()
		if h.margin = (inputs.Margin{Tick: h.first + ecs.Tick(tick), Value: int16(value)}); int64(h.margin.Value) != value {
			return ErrMessage
		}
	}
	if r.Err() != nil || kind != kindConfirm || h.first == 0 || h.count == 0 || h.more > backlog || h.last() < h.first {
		return ErrMessage
	}
	return nil
}

// finalTick is the input set of one tick in a confirmation. altered holds the players whose input differs from the one that
// they sent: it was missing, a late press was merged in, or the game refused it.
type finalTick struct {
	inputs  []ecs.InputBytes
	altered image.PlayerSet
	orders  uint32 // digest, 0 for none
}

// append codes the tick against the two before, and advances before. It codes one bit if every input was as predicted, nothing was
// altered and there are no orders. ends receives where the code of each player's input begins, and where the last ends, in bits of
// w. Optional.
func (t *finalTick) append(w *wire.BitWriter, before []code.Course, game *ecs.Game, ends []uint16) {
	plain := t.altered == 0 && t.orders == 0
	for p := 0; plain && p < len(before); p++ {
		plain = t.inputs[p] == game.Input.Predict(before[p].Last)
	}
	w.Bool(!plain)
	if plain {
		for p := range before {
			before[p].Next(t.inputs[p])
		}
		return
	}
	w.Bool(t.altered != 0)
	if t.altered != 0 {
		w.Bits(uint64(t.altered), len(t.inputs))
	}
	w.Bool(t.orders != 0)
	if t.orders != 0 {
		w.Bits(uint64(t.orders), 32)
	}
	if ends != nil {
		ends[0] = uint16(w.Len())
	}
	for p := range before {
		before[p].Append(w, &t.inputs[p], game)
		if ends != nil {
			ends[p+1] = uint16(w.Len())
		}
	}
}

// ownInput is an input of the receiver, which the sender left out if it was not altered. A negative seat stands for none. given is
// false if the receiver does not have it.
type ownInput struct {
	seat  int
	in    ecs.InputBytes
	given bool
}

// read is the inverse of append. The inputs are then the last ones of before. ok is false for bits that append does not write, and
// where own is left out and not given. It may be true where r has failed.
func (t *finalTick) read(r *wire.BitReader, before []code.Course, game *ecs.Game, own ownInput) (ok bool) {
	t.altered, t.orders = 0, 0
	if !r.Bool() {
		for p := range before {
			before[p].Next(game.Input.Predict(before[p].Last))
		}
		return true
	}
	if r.Bool() {
		if t.altered = image.PlayerSet(r.Bits(len(before))); t.altered == 0 {
			return false
		}
	}
	if r.Bool() {
		if t.orders = uint32(r.Bits(32)); t.orders == 0 {
			return false
		}
	}
	special := t.altered != 0 || t.orders != 0
	for p := range before {
		c := &before[p]
		if p == own.seat && !t.altered.Has(ecs.Player(p)) {
			if !own.given {
				return false
			}
			special = special || own.in != game.Input.Predict(c.Last)
			c.Next(own.in)
			continue
		}
		changed, ok := c.Read(r, game)
		if !ok {
			return false
		}
		special = special || changed
	}
	return special
}

// codes keeps the last backlog ticks as they stand in a confirmation, as stored codes. A tick is coded against the one
// before it, which is the same for every peer, so it is coded once and copied to each.
type codes struct {
	rollback.Ring[[]byte]
	scratch []byte // as large as any code
	unused  []byte // memory for codes
}

// The memory of a code is a multiple of codeStep bytes, since few ticks need as much as the largest one. It is allocated from
// chunks of codeChunk bytes or more.
const (
	codeStep  = 32
	codeChunk = 128 * codeStep
)

func newCodes(g *ecs.Game) codes {
	return codes{Ring: rollback.NewRing[[]byte](backlog), scratch: make([]byte, 0, worstTick(g)/8+1)}
}

// add codes tick f; before and ends are as in finalTick.append.
func (c *codes) add(f ecs.Tick, t *finalTick, before []code.Course, game *ecs.Game, ends []uint16) {
	w := wire.NewBitWriter(c.scratch[:0], cap(c.scratch))
	t.append(&w, before, game, ends)
	w.Bool(true)
	slot, _ := c.Slot(f)
	if n := (len(w.Bytes()) + codeStep - 1) / codeStep * codeStep; cap(*slot) < n {
		if len(c.unused) < n {
			c.unused = make([]byte, max(codeChunk, n))
		}
		*slot, c.unused = c.unused[:0:n], c.unused[n:]
	}
	*slot = append((*slot)[:0], w.Bytes()...)
}
