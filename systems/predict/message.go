package predict

import (
	"errors"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
	"tendon/systems/state"
)

// The kinds of messages, the first byte of each. Their layouts are in net/wire/STANDARD.md.
const (
	kindInput    = 1 // client → server, datagram
	kindSnapshot = 2 // server → client, datagram
	kindOrder    = 3 // client → server, reliable: a requested order
	kindEvents   = 4 // server → client, reliable: the events of a tick
)

// ErrMessage is returned for a message that does not follow the standard.
var ErrMessage = errors.New("predict: malformed message")

const (
	maxBack   = inputs.Window/2 - 1 // ticks before the received one of which inputs are sent again
	headBytes = 32                  // most bytes before the body of a snapshot
)

// inputMessage is the message of a client in each tick: the newest state that it holds, and the inputs of the ticks that
// follow. It includes earlier inputs that the server lacks, since a late press still counts.
type inputMessage struct {
	received ecs.Tick
	ack      state.Ack
	need     uint8
	delay    uint8 // from receiving remote entities to showing them, in ticks
	back     uint8 // ticks from the first of done to received + 1
	done     []inputs.Entry
}

// append writes the message with as many of the inputs as fit a datagram, oldest first.
func (m *inputMessage) append(dst []byte, game *ecs.Game) []byte {
	w := wire.NewWriter(dst, systems.MaxDatagram)
	w.U8(kindInput)
	w.U32(uint32(m.received))
	m.ack.Append(&w)
	w.U8(m.need)
	w.U8(m.delay)
	w.U8(m.back)
	head := w.Bytes()
	for count := min(len(m.done), inputs.MaxWindow); ; {
		w := wire.NewWriter(head, w.Room())
		w.U8(uint8(count))
		bits := wire.NewBitWriter(w.Bytes(), w.Room())
		fits := 0
		var course code.Course
		for expected := (inputs.Entry{}); fits < count && bits.Err() == nil; fits++ {
			e := &m.done[fits]
			course.Append(&bits, &e.In, game)
			appendView(&bits, expected.View, e.View)
			expected = e.Next(game)
		}
		if bits.Err() == nil {
			return bits.Bytes()
		}
		count = fits - 1
	}
}

// The needs of a client.
const (
	needsNothing  = iota
	needsImage    // the snapshots cannot be used
	needsMeasures // the clock has not settled
)

// read parses an input message into m, whose slice is used again. near is the server's tick.
func (m *inputMessage) read(message []byte, near ecs.Tick, game *ecs.Game) error {
	r := wire.NewReader(message)
	kind := r.U8()
	m.received = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	m.ack = state.ReadAck(&r)
	m.need, m.delay, m.back = r.U8(), r.U8(), r.U8()
	count := int(r.U8())
	if r.Err() != nil || kind != kindInput || m.need > needsMeasures || count > inputs.MaxWindow || int(m.back) > maxBack || ecs.Tick(m.back) > m.received {
		return ErrMessage
	}
	bits := wire.NewBitReader(r.Rest())
	m.done = m.done[:0]
	var course code.Course
	var e inputs.Entry
	for range count {
		if _, ok := course.Read(&bits, game); !ok || !readView(&bits, &e.View, near) {
			return ErrMessage
		}
		e.In = course.Last
		m.done = append(m.done, e)
		e = e.Next(game)
	}
	if bits.Close() != nil {
		return ErrMessage
	}
	return nil
}

// snapshotHead begins a snapshot. The body behind it leads to a state in which all inputs of its tick and before are
// consumed.
type snapshotHead struct {
	altered   uint64 // ticks so far in which another input was used than the receiver sent
	lacks     uint64 // ticks from the oldest missing input that is still of use to the state's tick, plus 1; 0: none
	events    uint64 // ticks from the newest tick whose events were sent to the state's, plus 1; 0: none
	hasMargin bool
	margin    inputs.Margin // of one of the receiver's inputs
}

func (h *snapshotHead) append(w *wire.Writer) {
	w.U8(kindSnapshot)
	w.Uvarint(h.altered)
	w.Uvarint(h.lacks)
	w.Uvarint(h.events)
	w.Bool(h.hasMargin)
	if h.hasMargin {
		h.margin.Append(w)
	}
}

// read parses the head; near is the tick of the newest state that the receiver holds.
func (h *snapshotHead) read(r *wire.Reader, near ecs.Tick) error {
	kind := r.U8()
	h.altered, h.lacks, h.events = r.Uvarint(), r.Uvarint(), r.Uvarint()
	if h.hasMargin, h.margin = r.Bool(), (inputs.Margin{}); h.hasMargin {
		h.margin = inputs.ReadMargin(r, near)
	}
	if r.Err() != nil || kind != kindSnapshot || h.lacks > maxBack {
		return ErrMessage
	}
	return nil
}

// A view stamp is the moment of the remote entities that a player saw while giving an input: see image.ViewStamp. In an
// input message each is coded against the expected one, which is a tick later than that of the tick before.
//
//	[same]   (1 bit)   1: it is the expected one
//	if not:
//	[near]   (1 bit)   1: it differs by a few parts of a tick
//	  [off]  (6 bits)  if near: the difference in 256ths of a tick, in [−32, 31], two's complement, not 0
//	  [tick] (32 bits) if not: low bits of the tick, nearest to the server's; 0 stands for none
//	  [part] (8 bits)

const (
	nearBits = 6
	nearMost = 1<<(nearBits-1) - 1 // 256ths of a tick
	partUnit = 256                 // parts of a tick
)

func parts(v image.ViewStamp) int64 { return int64(v.Tick)*partUnit + int64(v.Part) }

func appendView(w *wire.BitWriter, expected, v image.ViewStamp) {
	if v.Tick == 0 {
		v = image.ViewStamp{}
	}
	w.Bool(v == expected)
	if v == expected {
		return
	}
	off := parts(v) - parts(expected)
	near := v.Tick != 0 && expected.Tick != 0 && off >= -nearMost-1 && off <= nearMost
	w.Bool(near)
	if near {
		w.Bits(uint64(off)&(1<<nearBits-1), nearBits)
		return
	}
	w.Bits(uint64(uint32(v.Tick)), 32)
	w.Bits(uint64(v.Part), 8)
}

// readView is the inverse of appendView; v holds the expected view and becomes the real one. ok is false for a malformed
// view.
func readView(r *wire.BitReader, v *image.ViewStamp, near ecs.Tick) (ok bool) {
	if r.Bool() {
		return true
	}
	expected := *v
	if r.Bool() {
		off := int64(r.Bits(nearBits)<<(64-nearBits)) >> (64 - nearBits)
		at := parts(expected) + off
		*v = image.ViewStamp{Tick: ecs.Tick(at / partUnit), Part: uint8(at % partUnit)}
		return off != 0 && expected.Tick != 0 && at >= partUnit
	}
	low, part := uint32(r.Bits(32)), uint8(r.Bits(8))
	*v = image.ViewStamp{}
	if low == 0 {
		return part == 0 && expected.Tick != 0
	}
	v.Tick, v.Part = ecs.Tick(wire.Expand32(uint64(near), low)), part
	off := parts(*v) - parts(expected)
	return expected.Tick == 0 || off < -nearMost-1 || off > nearMost
}
