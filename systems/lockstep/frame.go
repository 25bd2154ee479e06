package lockstep

import (
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
	text   []byte // payloads of orders that were read

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

// finish ends the frame: who leaves in it does nothing.
func (f *frame) finish() {
	for i := range f.orders {
		if o := &f.orders[i]; o.Kind == image.OrderLeave {
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

// worstInputs returns the most bits that the inputs of a frame take.
func worstInputs(g *ecs.Game) int { return 3 + g.MaxPlayers*code.WorstChange(g.Input.Size()) }

// append codes the frame: one bit if all is as expected and there are no orders.
func (f *frame) append(w *wire.BitWriter, before []ecs.InputBytes, game *ecs.Game) {
	plain := len(f.orders) == 0
	for p := 0; plain && p < len(f.inputs); p++ {
		plain = f.inputs[p] == game.Input.Predict(before[p])
	}
	w.Bool(!plain)
	if plain {
		return
	}
	w.Bool(false) // not by digest
	for p := range f.inputs {
		expected := game.Input.Predict(before[p])
		code.AppendChange(w, &expected, &f.inputs[p], game.Input.Size())
	}
	w.Bool(len(f.orders) > 0)
	if len(f.orders) == 0 {
		return
	}
	w.Bits(uint64(len(f.orders)-1), 6)
	for i := range f.orders {
		appendOrder(w, &f.orders[i])
	}
}

// coded is what the code of a frame turned out to be.
type coded uint8

const (
	codedWhole  coded = iota
	codedDigest       // the operations come by themselves; the digest of the whole code is known
	codedWrong        // no frame's code
)

// read is the inverse of append: f becomes the frame after the one with the inputs of before, which may be f.inputs. It
// may return codedWhole where r has failed. After codedDigest, f.inputs are what was expected.
func (f *frame) read(r *wire.BitReader, before []ecs.InputBytes, game *ecs.Game) (c coded, digest uint32) {
	f.follow(before, game)
	if !r.Bool() {
		return codedWhole, 0
	}
	if r.Bool() {
		return codedDigest, uint32(r.Bits(32))
	}
	differs := false
	for p := range f.inputs {
		changed, ok := code.ReadChange(r, &f.inputs[p], game)
		if !ok {
			return codedWrong, 0
		}
		differs = differs || changed
	}
	if !r.Bool() {
		if !differs {
			return codedWrong, 0
		}
		return codedWhole, 0
	}
	f.text = f.text[:0]
	for range 1 + r.Bits(6) {
		if !f.readOrder(r, game) {
			return codedWrong, 0
		}
	}
	return codedWhole, 0
}

func appendOrder(w *wire.BitWriter, o *image.Order) {
	w.Bits(uint64(o.Kind), 2)
	w.Bits(uint64(o.Player), 6)
	if o.Kind == image.OrderGame {
		appendAction(w, o.Entity, o.Payload)
	}
}

// readOrder reads an order into f.orders, its payload into f.text.
func (f *frame) readOrder(r *wire.BitReader, game *ecs.Game) (ok bool) {
	o := image.Order{Kind: image.OrderKind(r.Bits(2)), Player: ecs.Player(r.Bits(6))}
	if !o.Kind.Shared() || int(o.Player) >= game.MaxPlayers {
		return false
	}
	if o.Kind == image.OrderGame {
		from := len(f.text)
		if o.Entity, f.text, ok = readAction(r, f.text); !ok || len(f.text) > maxOrderPayload {
			return false
		}
		o.Payload = f.text[from:len(f.text):len(f.text)]
	}
	f.orders = append(f.orders, o)
	return true
}

// appendAction writes an entity and a payload into bits.
func appendAction(w *wire.BitWriter, target ecs.Entity, payload []byte) {
	w.Bits(uint64(target.Row), 32)
	appendNumber(w, uint64(target.Born))
	w.Bits(uint64(len(payload)), 11)
	for _, b := range payload {
		w.Bits(uint64(b), 8)
	}
}

// readAction is the inverse of appendAction; the payload is appended to text.
func readAction(r *wire.BitReader, text []byte) (target ecs.Entity, all []byte, ok bool) {
	target.Row = uint32(r.Bits(32))
	born, ok := readNumber(r)
	target.Born = ecs.Tick(born)
	n := int(r.Bits(11))
	if !ok || n > image.MaxOrderBytes || n*8 > r.Len() {
		return target, text, false
	}
	for range n {
		text = append(text, byte(r.Bits(8)))
	}
	return target, text, true
}

// appendNumber writes a number as its length in bytes, [0, 8], in four bits, and as many bytes.
func appendNumber(w *wire.BitWriter, v uint64) {
	n := 0
	for rest := v; rest > 0; rest >>= 8 {
		n++
	}
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
