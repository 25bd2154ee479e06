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
)

// checkGame refuses a game of which one tick's inputs may not fit a datagram.
func checkGame(g *ecs.Game) error { return code.CheckTick("relay", g, headBytes, worstTick(g)) }

// worstTick returns the most bits that a final tick takes.
func worstTick(g *ecs.Game) int {
	return 1 + g.MaxPlayers*code.WorstChange(g.Input.Size()) + 1 + g.MaxPlayers + 1 + 32
}

// inputMessage is what a client sends each tick: how far its input sets are final, and its inputs of the ticks that
// follow.
type inputMessage struct {
	received ecs.Tick
	inputs   []ecs.InputBytes
}

// append writes the message with as many of the inputs as fit a datagram, oldest first.
func (m *inputMessage) append(dst []byte, game *ecs.Game) []byte {
	w := wire.NewWriter(dst, systems.MaxDatagram)
	w.U8(kindInput)
	w.U32(uint32(m.received))
	return inputs.AppendWindow(w.Bytes(), w.Room(), m.inputs, game)
}

// read parses an input message into m, whose slice is used again. near is the server's tick.
func (m *inputMessage) read(message []byte, near ecs.Tick, game *ecs.Game) error {
	r := wire.NewReader(message)
	kind := r.U8()
	m.received = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	if r.Err() != nil || kind != kindInput {
		return ErrMessage
	}
	var ok bool
	if m.inputs, ok = inputs.ReadWindow(m.inputs[:0], &r, game); !ok {
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
	if r.Close() != nil || kind != kindStamped || s.tick == 0 || s.number >= maxOrdersPerTick ||
		!s.order.Kind.Shared() || int(s.order.Player) >= game.MaxPlayers {
		return ErrMessage
	}
	return nil
}

// confirmHead opens a confirmation: the first tick, how many there are, how many more the server has computed, and
// the margin of one of the receiver's inputs.
type confirmHead struct {
	first     ecs.Tick
	count     int
	more      ecs.Tick
	hasMargin bool
	margin    inputs.Margin
}

func (h *confirmHead) last() ecs.Tick { return h.first + ecs.Tick(h.count) - 1 }

func (h *confirmHead) append(w *wire.Writer) {
	w.U8(kindConfirm)
	w.U32(uint32(h.first))
	w.U8(uint8(h.count))
	w.Uvarint(uint64(h.more))
	w.Bool(h.hasMargin)
	if h.hasMargin {
		h.margin.Append(w)
	}
}

// read parses the head; near is the receiver's last final tick.
func (h *confirmHead) read(r *wire.Reader, near ecs.Tick) error {
	kind := r.U8()
	h.first = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	h.count = int(r.U8())
	h.more = ecs.Tick(r.Uvarint())
	if h.hasMargin = r.Bool(); h.hasMargin {
		h.margin = inputs.ReadMargin(r, near)
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

// append codes the tick against the one before: one bit if every input was as predicted, nothing was altered and
// there are no orders.
func (t *finalTick) append(w *wire.BitWriter, before []ecs.InputBytes, game *ecs.Game) {
	plain := t.altered == 0 && t.orders == 0 && code.Predicted(before, t.inputs, game)
	w.Bool(!plain)
	if plain {
		return
	}
	code.AppendInputs(w, before, t.inputs, game)
	w.Bool(t.altered != 0)
	if t.altered != 0 {
		w.Bits(uint64(t.altered), len(t.inputs))
	}
	w.Bool(t.orders != 0)
	if t.orders != 0 {
		w.Bits(uint64(t.orders), 32)
	}
}

// read is the inverse of append; t.inputs holds the inputs of the tick before and becomes this tick's. ok is false for bits
// that append does not write, and may be true where r has failed.
func (t *finalTick) read(r *wire.BitReader, game *ecs.Game) (ok bool) {
	for p := range t.inputs {
		t.inputs[p] = game.Input.Predict(t.inputs[p])
	}
	t.altered, t.orders = 0, 0
	if !r.Bool() {
		return true
	}
	differs, ok := code.ReadInputs(r, t.inputs, game)
	if !ok {
		return false
	}
	if r.Bool() {
		if t.altered = image.PlayerSet(r.Bits(len(t.inputs))); t.altered == 0 {
			return false
		}
	}
	if r.Bool() {
		if t.orders = uint32(r.Bits(32)); t.orders == 0 {
			return false
		}
	}
	return differs || t.altered != 0 || t.orders != 0
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

// add codes tick f, whose predecessor's inputs were before.
func (c *codes) add(f ecs.Tick, t *finalTick, before []ecs.InputBytes, game *ecs.Game) {
	w := wire.NewBitWriter(c.scratch[:0], cap(c.scratch))
	t.append(&w, before, game)
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
