package reckon

import (
	"errors"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
	"tendon/systems/motion"
	"tendon/systems/state"
)

// The kinds of messages, the first byte of each, beside those of the clocks' exchange. Their layouts are in
// net/wire/STANDARD.md.
const (
	kindMove   = 1 // client → server, datagram: inputs, and records of the avatars
	kindUpdate = 2 // server → client, datagram: records, and the rest of the state
	kindOrder  = 3 // client → server, reliable: a requested order
	kindEvents = 4 // server → client, reliable: the events of a tick
)

// ErrMessage is returned for a message that does not follow the standard.
var ErrMessage = errors.New("reckon: malformed message")

const (
	// maxAvatars bounds the avatars of one player.
	maxAvatars = 4
	// maxAcks bounds the acknowledged anchors of one message.
	maxAcks = 16
	// maxRecords bounds the records of one message.
	maxRecords = 127
	// moveBytes bounds the part of a message before the inputs, in bytes.
	moveBytes = 1 + 4 + 9 + 1 + 1 + maxAvatars*(1+motion.MaxRecord) + 1 + maxAcks*6
	// updateBytes bounds the part of a message before the records, in bytes.
	updateBytes = 1 + 4 + 1 + 10 + 10 + 6 + 1 + maxAvatars*(1+motion.MaxRecord) + 1
)

// claim is a record of an avatar. epoch counts the server's corrections of the avatar's position, modulo 256.
type claim struct {
	epoch  uint8
	record motion.Record
}

func appendClaims(w *wire.Writer, claims []claim) {
	w.U8(uint8(len(claims)))
	for i := range claims {
		w.U8(claims[i].epoch)
		claims[i].record.Append(w)
	}
}

// readClaims appends the claims of a message to dst. Their records must be absolute.
func readClaims(dst []claim, r *wire.Reader, stamp motion.Stamp) []claim {
	for range r.Count(maxAvatars, 1) {
		c := claim{epoch: r.U8()}
		c.record.Read(r, stamp)
		if c.record.Anchor != 0 {
			r.Fail(motion.ErrRecord)
		}
		dst = append(dst, c)
	}
	return dst
}

// anchorAck acknowledges an anchor of the entity in a row.
type anchorAck struct {
	row    uint32
	anchor uint8
}

// moveMessage is the message of a client in each tick. It has acknowledgements, the records of avatars that are due or
// repeated, and the player's inputs of the ticks after received.
type moveMessage struct {
	received ecs.Tick // newest tick received from the server
	ack      state.Ack
	helpless bool // the bodies of state cannot be used: the client needs an image
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
	appendClaims(&w, m.claims)
	w.U8(uint8(len(m.anchors)))
	for _, h := range m.anchors {
		motion.AppendRow(&w, h.row)
		w.U8(h.anchor)
	}
	return inputs.AppendWindow(w.Bytes(), w.Room(), code.Course{}, m.done, game)
}

// read parses the message into m, whose slices are reused. near is the server's tick, stamp the client's time as far as it
// is known. The inputs are valid until the next message that d decodes.
func (m *moveMessage) read(message []byte, near ecs.Tick, stamp motion.Stamp, d *inputs.WindowDecoder, game *ecs.Game) error {
	r := wire.NewReader(message)
	kind := r.U8()
	m.received = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	m.ack = state.ReadAck(&r)
	m.helpless = r.Bool()
	m.claims = readClaims(m.claims[:0], &r, stamp)
	for i := range m.claims {
		if m.claims[i].record.Sets != 0 {
			r.Fail(motion.ErrRecord)
		}
	}
	m.anchors = m.anchors[:0]
	for range r.Count(maxAcks, 2) {
		h := anchorAck{motion.ReadRow(&r), r.U8()}
		if h.anchor == 0 || h.anchor > motion.MaxAnchor {
			r.Fail(ErrMessage)
		}
		m.anchors = append(m.anchors, h)
	}
	if r.Err() != nil || kind != kindMove {
		return ErrMessage
	}
	ok := false
	if m.done, ok = d.Read(&r, m.received+1, code.Course{}, game); !ok {
		return ErrMessage
	}
	return nil
}

// updateHead begins a message of the server: the tick of the match, and what concerns the receiver's inputs and avatars.
// Records follow it, and a body of state if there is one.
type updateHead struct {
	tick    ecs.Tick
	flags   uint8
	altered uint64        // ticks so far in which another input was used than the receiver sent
	events  uint64        // ticks from the newest tick whose events were sent to tick, plus 1; 0: none
	margin  inputs.Margin // with headMargin: of one of the receiver's inputs
	snaps   []claim       // corrected positions of the receiver's avatars
}

// The flags of a head.
const (
	headReady  = 1 // the server has an estimate of the receiver's clock
	headMargin = 2
	headBody   = 4 // a body of state follows the records
)

func (h *updateHead) has(flag uint8) bool { return h.flags&flag != 0 }

func (h *updateHead) append(w *wire.Writer) {
	w.U8(kindUpdate)
	w.U32(uint32(h.tick))
	w.U8(h.flags)
	w.Uvarint(h.altered)
	w.Uvarint(h.events)
	if h.has(headMargin) {
		h.margin.Append(w)
	}
	appendClaims(w, h.snaps)
}

// read parses the head into h, whose slice is reused. near is the newest tick received, stamp the server's time as far as
// it is known.
func (h *updateHead) read(r *wire.Reader, near ecs.Tick, stamp motion.Stamp) error {
	kind := r.U8()
	h.tick = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	h.flags = r.U8()
	h.altered, h.events = r.Uvarint(), r.Uvarint()
	h.margin = inputs.Margin{}
	if h.has(headMargin) {
		h.margin = inputs.ReadMargin(r, near)
	}
	h.snaps = readClaims(h.snaps[:0], r, stamp)
	if r.Err() != nil || kind != kindUpdate || h.flags >= headBody*2 || h.events > uint64(h.tick) {
		return ErrMessage
	}
	return nil
}

func readRecords(dst []motion.Record, r *wire.Reader, stamp motion.Stamp) ([]motion.Record, error) {
	for range r.Count(maxRecords, 1) {
		var record motion.Record
		record.Read(r, stamp)
		dst = append(dst, record)
	}
	if r.Err() != nil {
		return dst, ErrMessage
	}
	return dst, nil
}
