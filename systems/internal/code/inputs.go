package code

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
)

// AppendChange codes an input of size bytes against the predicted one: one bit if equal, else one bit per byte of the type
// and the bytes that differ.
func AppendChange(w *wire.BitWriter, expected, in *ecs.InputBytes, size int) {
	w.Bool(*expected != *in)
	if *expected == *in {
		return
	}
	for i := range size {
		if expected[i] == in[i] {
			w.Bool(false)
		} else {
			w.Bits(1|uint64(in[i])<<1, 9)
		}
	}
}

// WorstChange returns the most bits that AppendChange takes.
func WorstChange(size int) int { return 1 + 9*size }

// CheckTick returns an error for a game in which the inputs of one tick may not fit a datagram. bits is their maximum size.
// head is the size of the message before them, in bytes.
func CheckTick(strategy string, g *ecs.Game, head, bits int) error {
	if need := head + (bits+7)/8; need > systems.MaxDatagram {
		return fmt.Errorf("%s: %d players with inputs of %d bytes need %d bytes for one tick: a datagram holds %d",
			strategy, g.MaxPlayers, g.Input.Size(), need, systems.MaxDatagram)
	}
	return nil
}

// ReadChange is the inverse of AppendChange; in holds the predicted input and becomes the real one. changed reports whether
// they differ. ok is false for a code that AppendChange does not write, and for an input that no program could have stored.
func ReadChange(r *wire.BitReader, in *ecs.InputBytes, game *ecs.Game) (changed, ok bool) {
	if !r.Bool() {
		return false, true
	}
	for i := range game.Input.Size() {
		if !r.Bool() {
			continue
		}
		b := byte(r.Bits(8))
		if b == in[i] {
			return changed, false
		}
		in[i], changed = b, true
	}
	return changed, changed && game.Input.Valid(*in)
}

// Predicted reports whether the inputs of a tick, by player, are all those predicted from the inputs of the tick before.
func Predicted(before, inputs []ecs.InputBytes, game *ecs.Game) bool {
	for p := range inputs {
		if inputs[p] != game.Input.Predict(before[p]) {
			return false
		}
	}
	return true
}

// AppendInputs codes the inputs of a tick against those predicted from the inputs of the tick before.
func AppendInputs(w *wire.BitWriter, before, inputs []ecs.InputBytes, game *ecs.Game) {
	for p := range inputs {
		expected := game.Input.Predict(before[p])
		AppendChange(w, &expected, &inputs[p], game.Input.Size())
	}
}

// ReadInputs is the inverse of AppendInputs; inputs holds the predicted inputs and becomes the real ones.
func ReadInputs(r *wire.BitReader, inputs []ecs.InputBytes, game *ecs.Game) (changed, ok bool) {
	for p := range inputs {
		differs, ok := ReadChange(r, &inputs[p], game)
		if !ok {
			return changed, false
		}
		changed = changed || differs
	}
	return changed, true
}

// StoredBits returns the size of a stored code, which is what a BitWriter wrote and behind it a set bit that marks its end.
func StoredBits(stored []byte) int { return len(stored)*8 - 9 + bits.Len8(stored[len(stored)-1]) }

// AppendStored appends a stored code without the bit that marks its end.
func AppendStored(w *wire.BitWriter, stored []byte) {
	for n := StoredBits(stored); n > 0; n -= 64 {
		word := uint64(0)
		if len(stored) >= 8 {
			word, stored = binary.LittleEndian.Uint64(stored), stored[8:]
		} else {
			for i, b := range stored {
				word |= uint64(b) << (8 * i)
			}
		}
		now := min(n, 64)
		w.Bits(word&(1<<now-1), now)
	}
}
