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

// WindowDecoder reads windows, which AppendWindow wrote. A client sends each input until it is acknowledged. So most inputs were in
// the last window, and the decoder does not decode these again. The zero value is ready.
type WindowDecoder struct{ last, next window }

// window holds the inputs of successive ticks, with their codes.
type window struct {
	first  ecs.Tick
	inputs []ecs.InputBytes // the two before the window, then its own
	codes  []byte
	ends   []int // in bits: where the first code begins, then where each ends
}

// Read reads the rest of r, a window whose first input is that of tick first. The inputs are valid until the next Read. ok is false
// for bytes that AppendWindow does not write.
func (d *WindowDecoder) Read(r *wire.Reader, first ecs.Tick, before code.Course, game *ecs.Game) (list []ecs.InputBytes, ok bool) {
	count, codes := int(r.U8()), r.Rest()
	if r.Err() != nil || count > MaxWindow {
		return nil, false
	}
	w := &d.next
	w.first, w.inputs, w.ends = first, append(w.inputs[:0], before.Before, before.Last), append(w.ends[:0], 0)
	for b := wire.NewBitReader(codes); ; {
		n := len(w.inputs)
		if n == 2+count {
			if b.Close() != nil {
				return nil, false
			}
			break
		}
		in, ok := d.repeated(&b)
		if !ok {
			course := code.Course{Last: w.inputs[n-1], Before: w.inputs[n-2]}
			if _, ok := course.Read(&b, game); !ok {
				return nil, false
			}
			in = course.Last
		}
		w.inputs, w.ends = append(w.inputs, in), append(w.ends, 8*len(codes)-b.Len())
	}
	w.codes = append(w.codes[:0], codes...)
	d.last, d.next = d.next, d.last
	return d.last.inputs[2:], true
}

// repeated returns the next input and skips its code. ok is false unless the last window has that code for the same tick, after the
// same two inputs.
func (d *WindowDecoder) repeated(b *wire.BitReader) (in ecs.InputBytes, ok bool) {
	w, last := &d.next, &d.last
	n := len(w.inputs)
	at := int(w.first-last.first) + n - 2 // in last.ends
	if at < 0 || at >= len(last.ends)-1 || last.inputs[at] != w.inputs[n-2] || last.inputs[at+1] != w.inputs[n-1] {
		return in, false
	}
	here, there := *b, wire.NewBitReader(last.codes)
	there.Skip(last.ends[at])
	for left := last.ends[at+1] - last.ends[at]; left > 0; left -= 56 {
		if bits := min(left, 56); here.Bits(bits) != there.Bits(bits) {
			return in, false
		}
	}
	if here.Err() != nil {
		return in, false
	}
	*b = here
	return last.inputs[at+2], true
}
