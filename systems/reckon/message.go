package reckon

import (
	"errors"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
	"tendon/systems/state"
)

// The kinds of messages, the first byte of each, beside those of the clocks' exchange. Their layouts are in
// net/wire/STANDARD.md.
const (
	kindMove   = 1 // client → server, datagram: inputs, and where the avatars are
	kindUpdate = 2 // server → client, datagram: where everybody is, and the rest of the state
	kindOrder  = 3 // client → server, reliable: please carry this out
	kindEvents = 4 // server → client, reliable: what a tick emitted
)

// ErrMessage is returned for a message that does not follow the standard.
var ErrMessage = errors.New("reckon: malformed message")

const (
	// maxAvatars bounds the avatars of one player.
	maxAvatars = 4
	// maxHeld bounds the anchors that one message says are held.
	maxAcks = 16
	// maxNews bounds the records in one message.
	maxRecords = 127
	// moveBytes is the most that stands before the inputs of a message, in bytes.
	moveBytes = 1 + 4 + 9 + 1 + 1 + maxAvatars*(1+maxRecord) + 1 + maxAcks*6
	// newsBytes is the most that stands before the records of a message, in bytes.
	newsBytes = 1 + 4 + 1 + 10 + 10 + 6 + 1 + maxAvatars*(1+maxRecord) + 1
)

// claim is a record of an avatar, in the epoch that counts the server's words about where the avatar is.
type claim struct {
	epoch  uint8
	record Record
}

// held says that a client holds an anchor of the entity in a row.
type anchorAck struct {
	row    uint32
	anchor uint8
}

// moveMessage is what a client sends each tick: what it has heard, where its avatars are if it is time to tell, and what
// its player does in the ticks after received.
type moveMessage struct {
	received ecs.Tick // the newest tick of the server's that the client has heard of
	ack      state.Ack
	helpless bool // what the server sends has not been of use for long: only an image helps
	claims   []claim
	anchors  []anchorAck
	done     []ecs.InputBytes
}

// append writes the message, with as many of the inputs as fit a datagram, oldest first.
func (m *moveMessage) append(dst []byte, game *ecs.Game) []byte {
	w := wire.NewWriter(dst, systems.MaxDatagram)
	w.U8(kindMove)
	w.U32(uint32(m.received))
	m.ack.Append(&w)
	w.Bool(m.helpless)
	w.U8(uint8(len(m.claims)))
	for i := range m.claims {
		w.U8(m.claims[i].epoch)
		m.claims[i].record.append(&w)
	}
	w.U8(uint8(len(m.anchors)))
	for _, h := range m.anchors {
		appendRow(&w, h.row)
		w.U8(h.anchor)
	}
	return inputs.AppendWindow(w.Bytes(), w.Room(), m.done, game)
}

// read parses the message into m, whose slices are used again. near is the server's tick, stamp what the client's clock
// shows, as far as that is known.
func (m *moveMessage) read(message []byte, near ecs.Tick, stamp Stamp, game *ecs.Game) error {
	r := wire.NewReader(message)
	kind := r.U8()
	m.received = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	m.ack = state.ReadAck(&r)
	m.helpless = r.Bool()
	m.claims, m.anchors, m.done = m.claims[:0], m.anchors[:0], m.done[:0]
	for range r.Count(maxAvatars, 1) {
		var c claim
		c.epoch = r.U8()
		c.record.read(&r, stamp)
		if c.record.Anchor != 0 || c.record.Sets != 0 {
			r.Fail(errRecord)
		}
		m.claims = append(m.claims, c)
	}
	for range r.Count(maxAcks, 2) {
		h := anchorAck{readRow(&r), r.U8()}
		if h.anchor == 0 || h.anchor > maxAnchor {
			r.Fail(ErrMessage)
		}
		m.anchors = append(m.anchors, h)
	}
	if r.Err() != nil || kind != kindMove {
		return ErrMessage
	}
	ok := false
	if m.done, ok = inputs.ReadWindow(m.done, &r, game); !ok {
		return ErrMessage
	}
	return nil
}

// newsHead opens what a server tells: up to which tick its state is that of the match, and what it has to say of the
// receiver's inputs and avatars. Behind it stand records, and a body of state if there is one.
type updateHead struct {
	tick      ecs.Tick
	ready     bool   // the server knows the receiver's clock
	altered   uint64 // ticks so far in which another input of the receiver's was used than he sent
	events    uint64 // ticks from the last one whose events were sent to tick, plus 1; 0: none were yet
	hasMargin bool
	margin    inputs.Margin // of one of the receiver's inputs
	body      bool
	snaps     []claim // where the receiver's avatars are, on the server's word
}

const (
	headReady  = 1
	headMargin = 2
	headBody   = 4
)

// append writes the head. The place of the flags is returned, for whoever adds a body.
func (h *updateHead) append(w *wire.Writer) {
	w.U8(kindUpdate)
	w.U32(uint32(h.tick))
	flags := uint8(0)
	if h.ready {
		flags |= headReady
	}
	if h.hasMargin {
		flags |= headMargin
	}
	if h.body {
		flags |= headBody
	}
	w.U8(flags)
	w.Uvarint(h.altered)
	w.Uvarint(h.events)
	if h.hasMargin {
		w.U32(uint32(h.margin.Tick))
		w.U16(uint16(h.margin.Value))
	}
	w.U8(uint8(len(h.snaps)))
	for i := range h.snaps {
		w.U8(h.snaps[i].epoch)
		h.snaps[i].record.append(w)
	}
}

// read parses the head into h, whose slice is used again; near is the newest tick that was heard of, stamp what the
// server's clock shows, as far as that is known.
func (h *updateHead) read(r *wire.Reader, near ecs.Tick, stamp Stamp) error {
	kind := r.U8()
	h.tick = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	flags := r.U8()
	h.ready, h.hasMargin, h.body = flags&headReady != 0, flags&headMargin != 0, flags&headBody != 0
	h.altered, h.events = r.Uvarint(), r.Uvarint()
	h.margin = inputs.Margin{}
	if h.hasMargin {
		h.margin.Tick = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
		h.margin.Value = int16(r.U16())
	}
	h.snaps = h.snaps[:0]
	for range r.Count(maxAvatars, 1) {
		var c claim
		c.epoch = r.U8()
		c.record.read(r, stamp)
		if c.record.Anchor != 0 {
			r.Fail(errRecord)
		}
		h.snaps = append(h.snaps, c)
	}
	if r.Err() != nil || kind != kindUpdate || flags >= headBody*2 || h.events > uint64(h.tick) {
		return ErrMessage
	}
	return nil
}

// readRecords appends the records of a message to dst.
func readRecords(dst []Record, r *wire.Reader, stamp Stamp) ([]Record, error) {
	for range r.Count(maxRecords, 1) {
		var record Record
		record.read(r, stamp)
		dst = append(dst, record)
	}
	if r.Err() != nil {
		return dst, ErrMessage
	}
	return dst, nil
}

// appendRequest writes a player's wish for an order.
func appendRequest(dst []byte, target ecs.Entity, payload []byte) []byte {
	return code.AppendRequest(dst, kindOrder, target, payload)
}

// readRequest is the inverse of appendRequest; the payload aliases the message.
func readRequest(message []byte) (target ecs.Entity, payload []byte, err error) {
	target, payload, ok := code.ReadRequest(message, kindOrder)
	if !ok {
		return target, payload, ErrMessage
	}
	return target, payload, nil
}
