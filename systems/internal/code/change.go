package code

import (
	"tendon/ecs"
	"tendon/net/wire"
)

// AppendChange codes an input of size bytes against the predicted one: one bit if equal, else one bit per byte of the type
// and the bytes that differ. It returns the number of bits.
func AppendChange(w *wire.BitWriter, expected, in *ecs.InputBytes, size int) (bits int) {
	if *expected == *in {
		w.Bool(false)
		return 1
	}
	w.Bool(true)
	bits = 1 + size
	for i := range size {
		if expected[i] == in[i] {
			w.Bool(false)
			continue
		}
		w.Bits(1|uint64(in[i])<<1, 9)
		bits += 8
	}
	return bits
}

// WorstChange returns the most bits that AppendChange takes.
func WorstChange(size int) int { return 1 + 9*size }

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
