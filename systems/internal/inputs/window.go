package inputs

import (
	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems/internal/code"
)

// MaxWindow bounds the inputs in one message.
const MaxWindow = 180

// AppendWindow writes the count of inputs and then each against what follows from the one before, the first against
// none: as many as fit into limit bytes, oldest first. dst is what stands before them in the message.
func AppendWindow(dst []byte, limit int, list []ecs.InputBytes, game *ecs.Game) []byte {
	for count := min(len(list), MaxWindow); ; {
		w := wire.NewWriter(dst, limit)
		w.U8(uint8(count))
		bits := wire.NewBitWriter(w.Bytes(), w.Room())
		fits := 0
		var expected ecs.InputBytes
		for ; fits < count; fits++ {
			in := &list[fits]
			code.AppendChange(&bits, &expected, in, game.Input.Size())
			if bits.Err() != nil {
				break
			}
			expected = game.Input.Predict(*in)
		}
		if fits == count {
			return bits.Bytes()
		}
		count = fits
	}
}

// ReadWindow appends to dst the inputs that AppendWindow wrote, which are all that is left in r. ok is false for what
// AppendWindow does not write; dst is then of no use.
func ReadWindow(dst []ecs.InputBytes, r *wire.Reader, game *ecs.Game) (list []ecs.InputBytes, ok bool) {
	n := int(r.U8())
	if r.Err() != nil || n > MaxWindow {
		return dst, false
	}
	bits := wire.NewBitReader(r.Rest())
	var in ecs.InputBytes
	for range n {
		if !code.ReadChange(&bits, &in, game) {
			return dst, false
		}
		dst = append(dst, in)
		in = game.Input.Predict(in)
	}
	return dst, bits.Close() == nil
}
