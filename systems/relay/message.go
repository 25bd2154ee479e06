package relay

import (
	"errors"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
)

// The kinds of messages, the first byte of each. Their layouts are in net/wire/STANDARD.md.
const (
	kindInput   = 1 // client → server, datagram
	kindConfirm = 2 // server → client, datagram
	kindOrder   = 3 // client → server, reliable: please stamp this
	kindStamped = 4 // server → client, reliable: stamped into a tick
	kindHash    = 5 // client → server, reliable
)

// ErrMessage is returned for a message that does not follow the standard.
var ErrMessage = errors.New("relay: malformed message")

const (
	maxInputs   = 180 // inputs in one message
	maxConfirms = 255 // ticks in one message
)

// appendChange codes an input against what it was expected to be: one bit if equal, else one bit per byte of the
// type and the bytes that differ.
func appendChange(w *wire.BitWriter, expected, in *ecs.InputBytes, size int) {
	if *expected == *in {
		w.Bool(false)
		return
	}
	w.Bool(true)
	for i := range size {
		if expected[i] == in[i] {
			w.Bool(false)
			continue
		}
		w.Bits(1|uint64(in[i])<<1, 9)
	}
}

// readChange is the inverse of appendChange; in holds the expected input and becomes the real one.
func readChange(r *wire.BitReader, in *ecs.InputBytes, size int) {
	if !r.Bool() {
		return
	}
	for i := range size {
		if r.Bool() {
			in[i] = byte(r.Bits(8))
		}
	}
}

// inputMessage is what a client sends each tick: how far it has confirmed, and its inputs of consecutive ticks.
type inputMessage struct {
	received ecs.Tick
	first    ecs.Tick
	inputs   []ecs.InputBytes
}

func (m *inputMessage) append(dst []byte, game *ecs.Game) []byte {
	w := wire.NewWriter(dst, systems.MaxDatagram)
	w.U8(kindInput)
	w.U32(uint32(m.received))
	w.U32(uint32(m.first))
	w.U8(uint8(len(m.inputs)))
	bits := wire.NewBitWriter(w.Bytes(), w.Room())
	var expected ecs.InputBytes
	for i := range m.inputs {
		appendChange(&bits, &expected, &m.inputs[i], game.InputSize())
		expected = game.PredictInput(m.inputs[i])
	}
	return bits.Bytes()
}

// readInput parses an input message into m, whose slice is used again. near is the server's tick.
func (m *inputMessage) read(message []byte, near ecs.Tick, game *ecs.Game) error {
	r := wire.NewReader(message)
	r.U8()
	m.received = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	m.first = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	n := int(r.U8())
	if r.Err() != nil || n > maxInputs {
		return ErrMessage
	}
	m.inputs = m.inputs[:0]
	bits := wire.NewBitReader(r.Rest())
	var in ecs.InputBytes
	for range n {
		readChange(&bits, &in, game.InputSize())
		game.CleanInput(&in)
		m.inputs = append(m.inputs, in)
		in = game.PredictInput(in)
	}
	return bits.Close()
}

// confirmHead opens a confirmation: the first tick, how many follow, the server's tick, and the margin of one of the
// receiver's inputs in 1/64 of a tick.
type confirmHead struct {
	first      ecs.Tick
	count      int
	server     ecs.Tick
	hasMargin  bool
	marginTick ecs.Tick
	margin     int16
}

func (h *confirmHead) append(w *wire.Writer) {
	w.U8(kindConfirm)
	w.U32(uint32(h.first))
	w.U8(uint8(h.count))
	w.U32(uint32(h.server))
	w.Bool(h.hasMargin)
	if h.hasMargin {
		w.U32(uint32(h.marginTick))
		w.U16(uint16(h.margin))
	}
}

func (h *confirmHead) read(r *wire.Reader, near ecs.Tick) {
	r.U8()
	h.first = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	h.count = int(r.U8())
	h.server = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	if h.hasMargin = r.Bool(); h.hasMargin {
		h.marginTick = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
		h.margin = int16(r.U16())
	}
}

// finalTick is the input set of one tick as a confirmation carries it.
type finalTick struct {
	inputs []ecs.InputBytes
	late   ecs.PlayerSet
	orders rollback.OrderDigest
}

// append codes the tick against the one before: one bit if every input was as predicted, nobody was late and there
// are no orders.
func (t *finalTick) append(w *wire.BitWriter, before []ecs.InputBytes, game *ecs.Game) {
	plain := t.late == 0 && t.orders == 0
	for p := 0; plain && p < len(t.inputs); p++ {
		plain = t.inputs[p] == game.PredictInput(before[p])
	}
	w.Bool(!plain)
	if plain {
		return
	}
	for p := range t.inputs {
		expected := game.PredictInput(before[p])
		appendChange(w, &expected, &t.inputs[p], game.InputSize())
	}
	w.Bool(t.late != 0)
	if t.late != 0 {
		w.Bits(uint64(t.late), len(t.inputs))
	}
	w.Bool(t.orders != 0)
	if t.orders != 0 {
		w.Bits(uint64(t.orders), 32)
	}
}

// read is the inverse of append; t.inputs holds the inputs of the tick before and becomes this tick's.
func (t *finalTick) read(r *wire.BitReader, game *ecs.Game) {
	for p := range t.inputs {
		t.inputs[p] = game.PredictInput(t.inputs[p])
	}
	t.late, t.orders = 0, 0
	if !r.Bool() {
		return
	}
	for p := range t.inputs {
		readChange(r, &t.inputs[p], game.InputSize())
		game.CleanInput(&t.inputs[p])
	}
	if r.Bool() {
		t.late = ecs.PlayerSet(r.Bits(len(t.inputs)))
	}
	if r.Bool() {
		t.orders = rollback.OrderDigest(r.Bits(32))
	}
}

// appendOrder writes an order's body.
func appendOrder(w *wire.Writer, o ecs.Order) {
	w.U8(uint8(o.Kind))
	w.U8(uint8(o.Player))
	w.Uvarint(uint64(o.Entity.Row))
	w.Uvarint(uint64(o.Entity.Born))
	w.Blob(o.Payload)
}

// readOrder reads an order's body; the payload aliases the message.
func readOrder(r *wire.Reader) (o ecs.Order) {
	o.Kind, o.Player = ecs.OrderKind(r.U8()), ecs.Player(r.U8())
	row := r.Uvarint()
	o.Entity = ecs.Entity{Row: uint32(row), Born: ecs.Tick(r.Uvarint())}
	o.Payload = r.Blob(ecs.MaxOrderBytes)
	if !o.Kind.Valid() || row > 1<<32-1 || o.Player >= ecs.MaxPlayers {
		r.Fail(ErrMessage)
	}
	return o
}

// hashMessage is a client's checksum of a confirmed tick.
type hashMessage struct {
	tick ecs.Tick
	sum  ecs.Checksum
}

func (m *hashMessage) append(dst []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kindHash)
	w.Uvarint(uint64(m.tick))
	w.U64(uint64(m.sum))
	return w.Bytes()
}

func (m *hashMessage) read(message []byte) error {
	r := wire.NewReader(message)
	r.U8()
	m.tick, m.sum = ecs.Tick(r.Uvarint()), ecs.Checksum(r.U64())
	return r.Close()
}
