package lockstep

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems/internal/code"
)

// frame contains the inputs and orders of one tick: the input of every player before validation, and the orders as they
// arrived. It is coded against the inputs of the frame before, which are the same on every peer. Every peer validates
// the inputs when it executes the frame.
type frame struct {
	inputs []ecs.InputBytes
	orders []image.Order

	touched image.PlayerSet // whose input an operation has changed in this frame
}

// The most orders that are stamped into one frame. Later ones go into the next.
const (
	maxOrders       = 64
	maxOrderPayload = 8 << 10 // bytes of all payloads
)

func newFrame(game *ecs.Game) frame {
	return frame{inputs: make([]ecs.InputBytes, game.MaxPlayers)}
}

// follow makes f the frame after the one whose inputs are before, without any operation yet. before may be f.inputs.
func (f *frame) follow(before []ecs.InputBytes, game *ecs.Game) {
	for p := range f.inputs {
		f.inputs[p] = game.Input.Predict(before[p])
	}
	f.orders, f.touched = f.orders[:0], 0
}

// change lets a player's input become in. Of two changes in one frame the later one holds, with the presses of both.
func (f *frame) change(p ecs.Player, in ecs.InputBytes, game *ecs.Game) {
	if f.touched.Has(p) {
		in = game.Input.MergeLate(f.inputs[p], in)
	}
	f.inputs[p] = in
	f.touched |= 1 << p
}

// finish ends the frame. A player who leaves in it has no input.
func (f *frame) finish() {
	for _, o := range f.orders {
		if o.Kind == image.OrderLeave {
			f.inputs[o.Player] = ecs.InputBytes{}
		}
	}
}

// validate puts the inputs into another slice, with zero in place of those that the game refuses in the state of w.
func (f *frame) validate(w *ecs.World, into []ecs.InputBytes) {
	copy(into, f.inputs)
	validate := w.Game().Validate
	if validate == nil {
		return
	}
	for p := range w.Players().All() {
		if !validate(w, p, into[p]) {
			into[p] = ecs.InputBytes{}
		}
	}
}

func worstInputs(g *ecs.Game) int { return 3 + g.MaxPlayers*code.WorstChange(g) }

// append codes the frame: one bit if all is as expected and there are no orders.
func (f *frame) append(w *wire.BitWriter, before []ecs.InputBytes, game *ecs.Game) {
	plain := len(f.orders) == 0 && code.Predicted(before, f.inputs, game)
	w.Bool(!plain)
	if plain {
		return
	}
	w.Bool(false) // not by digest
	code.AppendInputs(w, before, f.inputs, game)
	w.Bool(len(f.orders) > 0)
	if len(f.orders) > 0 {
		w.Bits(uint64(len(f.orders)-1), 6)
	}
	for i := range f.orders {
		appendOrder(w, &f.orders[i])
	}
}

// read is the inverse of append: f becomes the frame after the one with the inputs of before, which may be f.inputs. ok is
// false for bits that append does not write, and may be true where r has failed. whole is false for a frame of which only
// the digest was sent; its inputs are then the predicted ones.
func (f *frame) read(r *wire.BitReader, before []ecs.InputBytes, game *ecs.Game) (digest uint32, whole, ok bool) {
	f.follow(before, game)
	if !r.Bool() {
		return 0, true, true
	}
	if r.Bool() {
		return uint32(r.Bits(32)), false, true
	}
	differs, ok := code.ReadInputs(r, f.inputs, game)
	if !ok {
		return 0, false, false
	}
	if !r.Bool() {
		return 0, true, differs
	}
	payloads := 0
	for range 1 + r.Bits(6) {
		o, ok := readOrder(r, r.Bits(8), game)
		if payloads += len(o.Payload); !ok || payloads > maxOrderPayload {
			return 0, false, false
		}
		f.orders = append(f.orders, o)
	}
	return 0, true, true
}

const rareKind = 3 // replaces a kind that does not fit two bits: the kind then follows the player

// rare reports whether a kind of order is not one of those that two bits hold. A frame with such an order is always sent
// whole.
func rare(k image.OrderKind) bool { return k >= rareKind }

// hasAction reports whether orders of a kind have an entity and a payload.
func hasAction(k image.OrderKind) bool { return k != image.OrderLeave }

func appendOrder(w *wire.BitWriter, o *image.Order) {
	w.Bits(min(uint64(o.Kind), rareKind), 2)
	w.Bits(uint64(o.Player), 6)
	if rare(o.Kind) {
		w.Bits(uint64(o.Kind), 8)
	}
	if hasAction(o.Kind) {
		appendAction(w, o.Entity, o.Payload)
	}
}

// readOrder reads an order after its head, which is the first two bits of the kind and the player.
func readOrder(r *wire.BitReader, head uint64, game *ecs.Game) (o image.Order, ok bool) {
	o = image.Order{Kind: image.OrderKind(head & 3), Player: ecs.Player(head >> 2)}
	if o.Kind == rareKind {
		if o.Kind = image.OrderKind(r.Bits(8)); !rare(o.Kind) {
			return o, false
		}
	}
	if ok = true; hasAction(o.Kind) {
		o.Entity, o.Payload, ok = readAction(r)
	}
	return o, ok && code.ValidOrder(&o, game)
}

func appendAction(w *wire.BitWriter, target ecs.Entity, payload []byte) {
	w.Bits(uint64(target.Row), 32)
	appendNumber(w, uint64(target.Born))
	w.Bits(uint64(len(payload)), 11)
	for _, b := range payload {
		w.Bits(uint64(b), 8)
	}
}

// readAction is the inverse of appendAction.
func readAction(r *wire.BitReader) (target ecs.Entity, payload []byte, ok bool) {
	target.Row = uint32(r.Bits(32))
	born, ok := readNumber(r)
	target.Born = ecs.Tick(born)
	n := int(r.Bits(11))
	if !ok || n > image.MaxOrderBytes || n*8 > r.Len() {
		return target, nil, false
	}
	payload = make([]byte, n)
	for i := range payload {
		payload[i] = byte(r.Bits(8))
	}
	return target, payload, true
}

// appendNumber writes a number as its length in bytes, [0, 8], in four bits, and as many bytes.
func appendNumber(w *wire.BitWriter, v uint64) {
	n := (bits.Len64(v) + 7) / 8
	w.Bits(uint64(n), 4)
	w.Bits(v, 8*n)
}

func readNumber(r *wire.BitReader) (v uint64, ok bool) {
	n := int(r.Bits(4))
	if n > 8 {
		return 0, false
	}
	v = r.Bits(8 * n)
	return v, n == 0 || v>>(8*(n-1)) != 0
}
