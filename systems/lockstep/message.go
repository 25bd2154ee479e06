package lockstep

import (
	"errors"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// The kinds of messages, the first byte of each. Their layouts are in net/wire/STANDARD.md.
const (
	kindOps     = 1 // client → server, datagram: operations, and the client's progress
	kindSync    = 2 // server → client, datagram: frames that are complete
	kindStamped = 3 // server → client, reliable: one operation, stamped into a frame
	kindHash    = 4 // client → server, reliable: checksum of a state
	kindResult  = 5 // client → server, reliable: the result of the match
)

// ErrMessage is returned for a message that does not follow the standard.
var ErrMessage = errors.New("lockstep: malformed message")

const (
	maxOps  = 64  // operations in one message
	maxLead = 255 // frames
	shares  = 10000
)

// checkGame refuses a game of which one frame's inputs may not fit a datagram.
func checkGame(g *ecs.Game) error {
	return code.CheckTick("lockstep", g, syncBytes, worstInputs(g))
}

// op is an operation of a player: a new input or an order.
type op struct {
	isOrder bool
	in      ecs.InputBytes
	number  uint64 // of an order: see systems.Refusal
	target  ecs.Entity
	payload []byte
	sent    systems.Time // on a client: when it was sent first, 0: not yet
}

// opsMessage is the message of a client in each tick: its progress, and the operations that the server has not acknowledged.
type opsMessage struct {
	received ecs.Tick // the last frame that it holds
	executed ecs.Tick // ≤ received
	live     bool     // it has caught up and plays
	lead     int      // its operations are complete up to frame executed + lead, in [0, maxLead]
	stalled  int      // share of the last seconds' ticks that it could not compute, in 1/10000
	first    uint32   // number of the first operation
	ops      []op
}

// append writes the message with as many operations as fit a datagram, oldest first, and returns how many.
func (m *opsMessage) append(dst []byte, game *ecs.Game) (message []byte, written int) {
	for count := min(len(m.ops), maxOps); ; {
		w := wire.NewWriter(dst, systems.MaxDatagram)
		w.U8(kindOps)
		w.U32(uint32(m.received))
		w.Uvarint(uint64(m.received - m.executed))
		w.Bool(m.live)
		w.U8(uint8(m.lead))
		w.U16(uint16(m.stalled))
		w.U8(uint8(count))
		if count > 0 {
			w.U32(m.first)
		}
		bits := wire.NewBitWriter(w.Bytes(), w.Room())
		fits := 0
		var expected ecs.InputBytes
		for ; fits < count; fits++ {
			o := &m.ops[fits]
			bits.Bool(o.isOrder)
			if o.isOrder {
				appendNumber(&bits, o.number)
				appendAction(&bits, o.target, o.payload)
			} else {
				code.AppendChange(&bits, &expected, &o.in, game)
				expected = o.in
			}
			if bits.Err() != nil {
				break
			}
		}
		if fits == count {
			return bits.Bytes(), count
		}
		count = fits
	}
}

// read parses an operations message into m, whose slices are used again. near is the server's frame.
func (m *opsMessage) read(message []byte, near ecs.Tick, game *ecs.Game) error {
	r := wire.NewReader(message)
	kind := r.U8()
	m.received = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	behind := r.Uvarint()
	m.executed = m.received - ecs.Tick(behind)
	m.live, m.lead, m.stalled = r.Bool(), int(r.U8()), int(r.U16())
	count := int(r.U8())
	m.first = 0
	if count > 0 {
		m.first = r.U32()
	}
	if r.Err() != nil || kind != kindOps || behind > uint64(m.received) || m.stalled > shares || count > maxOps {
		return ErrMessage
	}
	m.ops = m.ops[:0]
	bits := wire.NewBitReader(r.Rest())
	var in ecs.InputBytes
	for range count {
		o, ok := op{isOrder: bits.Bool()}, false
		if o.isOrder {
			if o.number, ok = readNumber(&bits); !ok || o.number == 0 {
				return ErrMessage
			}
			o.target, o.payload, ok = readAction(&bits)
		} else {
			_, ok = code.ReadChange(&bits, &in, game)
			o.in = in
		}
		if !ok {
			return ErrMessage
		}
		m.ops = append(m.ops, o)
	}
	if bits.Close() != nil {
		return ErrMessage
	}
	return nil
}

// resultMessage is a player's claim of a result: the frame in which the match ended, the checksum of that state, and
// the bytes of Game.Result.
type resultMessage struct {
	tick   ecs.Tick
	sum    image.Checksum
	result []byte
}

func (m *resultMessage) append(dst []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kindResult)
	w.Uvarint(uint64(m.tick))
	w.U64(uint64(m.sum))
	w.Blob(m.result)
	return w.Bytes()
}

// read parses a result; its bytes alias the message.
func (m *resultMessage) read(message []byte) error {
	r := wire.NewReader(message)
	kind := r.U8()
	m.tick, m.sum, m.result = ecs.Tick(r.Uvarint()), image.Checksum(r.U64()), r.Blob(image.MaxResultBytes)
	if r.Close() != nil || kind != kindResult || m.tick == 0 {
		return ErrMessage
	}
	return nil
}
