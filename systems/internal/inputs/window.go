package inputs

import (
	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems/internal/code"
)

// MaxWindow bounds the inputs in one message.
const MaxWindow = 180

// AppendWindow appends the count of inputs and then each input, coded against the two before it. before precedes the first.
// It appends as many as fit into limit bytes, oldest first. dst holds the message so far.
func AppendWindow(dst []byte, limit int, before code.Course, list []ecs.InputBytes, game *ecs.Game) []byte {
	for count := min(len(list), MaxWindow); ; {
		w := wire.NewWriter(dst, limit)
		w.U8(uint8(count))
		bits := wire.NewBitWriter(w.Bytes(), w.Room())
		fits := 0
		course := before
		for ; fits < count; fits++ {
			if course.Append(&bits, &list[fits], game); bits.Err() != nil {
				break
			}
		}
		if fits == count {
			return bits.Bytes()
		}
		count = fits
	}
}

// ReadWindow reads the rest of r, which AppendWindow wrote, and appends the inputs to dst. ok is false for bytes that
// AppendWindow does not write; the list is then invalid.
func ReadWindow(dst []ecs.InputBytes, r *wire.Reader, before code.Course, game *ecs.Game) (list []ecs.InputBytes, ok bool) {
	n := int(r.U8())
	if r.Err() != nil || n > MaxWindow {
		return dst, false
	}
	bits := wire.NewBitReader(r.Rest())
	course := before
	for range n {
		if _, ok := course.Read(&bits, game); !ok {
			return dst, false
		}
		dst = append(dst, course.Last)
	}
	return dst, bits.Close() == nil
}
