package lockstep

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// syncHead opens a sync: the frames that follow, the number of complete frames after them, and the receiver's last operation
// that was stamped. The codes of the frames follow it as bits, behind the key if there is one.
//
// After a sync with frames first … last, nothing is stamped into a frame ≤ last + ahead any more. The frames after last come
// later.
type syncHead struct {
	first    ecs.Tick
	count    int // frames, in [0, maxFrames]
	ahead    ecs.Tick
	interval int    // frames to a sync from last + ahead on
	acked    uint32 // number of the receiver's last operation that was stamped; 0: none
	key      bool   // the inputs of frame first − 1 stand before the first frame
}

const (
	syncBytes = 32      // most bytes of a sync before its bits
	maxFrames = 1 << 17 // frames in one sync: what fits the largest one
	maxAhead  = 1 << 32 // frames; more than a year
)

func (h *syncHead) last() ecs.Tick { return h.first + ecs.Tick(h.count) - 1 }

func (h *syncHead) append(w *wire.Writer) {
	w.U8(kindSync)
	w.U32(uint32(h.first))
	w.Uvarint(uint64(h.count))
	w.Uvarint(uint64(h.ahead))
	w.U8(uint8(h.interval))
	w.U32(h.acked)
	w.Bool(h.key)
}

// read parses the head; near is the receiver's last complete frame.
func (h *syncHead) read(r *wire.Reader, near ecs.Tick) error {
	kind := r.U8()
	h.first = ecs.Tick(wire.Expand32(uint64(near), r.U32()))
	h.count = r.Count(maxFrames, 0)
	h.ahead = ecs.Tick(r.Uvarint())
	h.interval = int(r.U8())
	h.acked = r.U32()
	h.key = r.Bool()
	if r.Err() != nil || kind != kindSync || h.first == 0 || h.count > 8*r.Len() || h.ahead > maxAhead ||
		!slices.Contains(intervals, h.interval) {
		return ErrMessage
	}
	return nil
}

// stamped is one operation in a frame, sent as a message of its own with Config.RelayAtOnce. number counts the operations of the
// frame, from 0.
type stamped struct {
	tick   ecs.Tick
	number int
	player ecs.Player
	input  bool // it is a change of the player's input, to in; else it is an order of the player's
	in     ecs.InputBytes
	order  image.Order
}

const (
	maxNumber    = 1 << 12 // operations of one frame that go by themselves
	stampedInput = 3       // the kind of a change of an input, beside the kinds of orders that two bits hold
)

func (s *stamped) append(dst []byte, game *ecs.Game) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kindStamped)
	w.Uvarint(uint64(s.tick))
	w.Uvarint(uint64(s.number))
	bits := wire.NewBitWriter(w.Bytes(), w.Room())
	if s.input {
		bits.Bits(stampedInput, 2)
		bits.Bits(uint64(s.player), 6)
		var zero ecs.InputBytes
		code.AppendChange(&bits, &zero, &s.in, game)
	} else {
		appendOrder(&bits, &s.order)
	}
	return bits.Bytes()
}

func (s *stamped) read(message []byte, game *ecs.Game) error {
	r := wire.NewReader(message)
	kind := r.U8()
	s.tick, s.number = ecs.Tick(r.Uvarint()), r.Count(maxNumber-1, 0)
	if r.Err() != nil || kind != kindStamped || s.tick == 0 {
		return ErrMessage
	}
	bits := wire.NewBitReader(r.Rest())
	head, ok := bits.Bits(8), true
	s.player, s.input = ecs.Player(head>>2), head&3 == stampedInput
	s.in, s.order = ecs.InputBytes{}, image.Order{}
	if s.input {
		_, ok = code.ReadChange(&bits, &s.in, game)
		ok = ok && int(s.player) < game.MaxPlayers
	} else {
		s.order, ok = readOrder(&bits, head, game)
	}
	if !ok || bits.Close() != nil {
		return ErrMessage
	}
	return nil
}

func (s *stamped) apply(f *frame, game *ecs.Game) {
	if s.input {
		f.change(s.player, s.in, game)
	} else {
		f.orders = append(f.orders, s.order)
	}
}
