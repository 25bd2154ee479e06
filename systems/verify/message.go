package verify

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
	kindAsk   = 1 // client → server
	kindState = 2 // server → client
	kindPiece = 3 // server → client, reliable: a piece of a State
)

// ErrMessage is returned for a message that does not follow the standard.
var ErrMessage = errors.New("verify: malformed message")

const (
	maxOutstanding = 64       // commands in one message, and rejections
	maxOrders      = 255      // in one tick: as many as a journal's code of a tick can count
	maxHistory     = 4096     // ticks between a State's base and its tick, and those with events
	maxState       = 4 << 20  // bytes of a State that comes in pieces
	pieceBytes     = 32 << 10 // bytes of a State in one piece
	maxAnswers     = 256      // that wait for Client.Answers; beyond, all of them are dropped
	maxLeap        = 1 << 32  // numbers that a client may leave out
)

// askMessage is what a client sends: the newest state it holds, and commands that it has no answer to.
type askMessage struct {
	held  ecs.Tick
	lost  bool   // a State could not be used: only an image helps
	first uint64 // all numbers before it were answered, or given up
	skip  int    // commands from first on that are not in this message
	asked []Command
}

// append writes the message with the commands that fit room bytes, and returns how many that are.
func (m *askMessage) append(dst []byte, room int, game *ecs.Game) (message []byte, fits int) {
	w := wire.NewWriter(dst, room)
	w.U8(kindAsk)
	w.U32(uint32(m.held))
	w.Bool(m.lost)
	w.Uvarint(m.first)
	w.U8(uint8(m.skip))
	count := len(w.Bytes())
	w.U8(0)
	for i := range m.asked {
		whole := len(w.Bytes())
		m.asked[i].append(&w, game)
		if w.Err() != nil {
			return w.Bytes()[:whole], fits
		}
		fits++
		w.Bytes()[count] = uint8(fits)
	}
	return w.Bytes(), fits
}

// read parses a message into m, whose slice is reused; orders alias the message. near is the server's tick.
func (m *askMessage) read(message []byte, near ecs.Tick, game *ecs.Game) error {
	r := wire.NewReader(message)
	kind := r.U8()
	m.held = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	m.lost = r.Bool()
	m.first = r.Uvarint()
	m.skip = int(r.U8())
	n := int(r.U8())
	if r.Err() != nil || kind != kindAsk || m.first == 0 || m.skip+n > maxOutstanding || m.first+maxOutstanding < m.first {
		return ErrMessage
	}
	m.asked = m.asked[:0]
	for i := range n {
		c := Command{Number: m.first + uint64(m.skip+i)}
		if c.read(&r, game) != nil {
			return ErrMessage
		}
		m.asked = append(m.asked, c)
	}
	if r.Close() != nil {
		return ErrMessage
	}
	return nil
}

func (c *Command) append(w *wire.Writer, game *ecs.Game) {
	w.U8(uint8(c.Kind))
	if c.Kind == CommandInput {
		w.Raw(c.Input[:game.Input.Size()])
		return
	}
	w.Uvarint(c.Given)
	code.AppendAction(w, c.Target, c.Order)
}

func (c *Command) read(r *wire.Reader, game *ecs.Game) error {
	switch c.Kind = CommandKind(r.U8()); c.Kind {
	case CommandInput:
		copy(c.Input[:], r.Bytes(game.Input.Size()))
		if !game.Input.Valid(c.Input) {
			r.Fail(ErrMessage)
		}
	case CommandOrder:
		if c.Given = r.Uvarint(); c.Given == 0 {
			r.Fail(ErrMessage)
		}
		c.Target, c.Order = code.ReadAction(r)
	default:
		r.Fail(ErrMessage)
	}
	return r.Err()
}

// rejection is a command that the server did not accept.
type rejection struct {
	number uint64
	reason Reason
}

// stateMessage is the message of the server. It contains answers to the client's commands, the events of the new ticks,
// and the delta from the state of tick base to that of tick.
type stateMessage struct {
	answered uint64 // the last command that was decided on; 0: none
	rejected []rejection
	happened [][]byte // the events of each tick in (base, tick] that has any, ascending, as World.AppendEvents writes them
	base     ecs.Tick
	tick     ecs.Tick
	delta    []byte // as Snapshot.AppendDelta writes it
}

// append writes the message, or returns nil if it is too large for any channel.
func (m *stateMessage) append(dst []byte) []byte {
	w := wire.NewWriter(dst, maxState)
	w.U8(kindState)
	w.Uvarint(m.answered)
	w.U8(uint8(len(m.rejected)))
	for i := range m.rejected {
		w.Uvarint(m.answered - m.rejected[i].number)
		w.U8(uint8(m.rejected[i].reason))
	}
	w.Uvarint(uint64(len(m.happened)))
	for _, events := range m.happened {
		w.Blob(events)
	}
	w.Raw(m.delta)
	if w.Err() != nil {
		return nil
	}
	return w.Bytes()
}

// read parses a message into m, whose slices are reused. Events and delta alias the message; ecs checks their content.
func (m *stateMessage) read(message []byte) error {
	r := wire.NewReader(message)
	kind := r.U8()
	m.answered = r.Uvarint()
	m.rejected, m.happened = m.rejected[:0], m.happened[:0]
	for i := range int(r.U8()) {
		back := r.Uvarint()
		j := rejection{m.answered - back, Reason(r.U8())}
		if back >= m.answered || j.reason == Accepted || j.reason > ReasonAbsent || i == maxOutstanding ||
			i > 0 && j.number <= m.rejected[i-1].number {
			return ErrMessage
		}
		m.rejected = append(m.rejected, j)
	}
	for range r.Count(maxHistory, 1) {
		m.happened = append(m.happened, r.Blob(maxState))
	}
	m.delta = r.Rest()
	var ok bool
	if m.base, m.tick, ok = image.DeltaTicks(m.delta); !ok || r.Err() != nil || kind != kindState || m.tick-m.base > maxHistory {
		return ErrMessage
	}
	last := m.base
	for _, events := range m.happened {
		r := wire.NewReader(events)
		f := ecs.Tick(r.Uvarint())
		if r.Err() != nil || f <= last || f > m.tick {
			return ErrMessage
		}
		last = f
	}
	return nil
}

// appendPiece writes a piece of a State; more says that others follow.
func appendPiece(dst []byte, more bool, piece []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kindPiece)
	w.Bool(more)
	w.Raw(piece)
	return w.Bytes()
}

// readPiece is the inverse of appendPiece; the piece aliases the message.
func readPiece(message []byte) (more bool, piece []byte, err error) {
	r := wire.NewReader(message)
	kind := r.U8()
	more = r.Bool()
	piece = r.Rest()
	if r.Err() != nil || kind != kindPiece || len(piece) == 0 || len(piece) > pieceBytes {
		return false, nil, ErrMessage
	}
	return more, piece, nil
}
