package inputs

import (
	"math/bits"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
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

// WindowDecoder reads windows, which AppendWindow wrote. A client sends each input until it is acknowledged, so most inputs of a
// window were in the last one too. Their codes are the same if the two inputs before them are, and are not read again. The zero
// value is ready.
type WindowDecoder struct{ last, next window }

// window is the inputs of successive ticks, with their codes.
type window struct {
	first  ecs.Tick
	inputs []ecs.InputBytes // the two before the window, then its own
	codes  []byte
	ends   []int // in bits: where the first code begins, then where each ends
}

// Read reads the rest of r, a window whose first input is that of tick first. The inputs are valid until the next Read. ok is false
// for bytes that AppendWindow does not write into a datagram.
func (d *WindowDecoder) Read(r *wire.Reader, first ecs.Tick, before code.Course, game *ecs.Game) (list []ecs.InputBytes, ok bool) {
	count, codes := int(r.U8()), r.Rest()
	if r.Err() != nil || count > MaxWindow || len(codes) > systems.MaxDatagram {
		return nil, false
	}
	w := &d.next
	w.first, w.inputs, w.ends = first, append(w.inputs[:0], before.Before, before.Last), append(w.ends[:0], 0)
	w.codes = append(w.codes[:0], codes...)
	b := wire.NewBitReader(w.codes)
	for size := b.Len(); len(w.inputs) < 2+count; {
		if d.repeat(&b, 2+count-len(w.inputs)) {
			continue
		}
		n := len(w.inputs)
		course := code.Course{Last: w.inputs[n-1], Before: w.inputs[n-2]}
		if _, ok := course.Read(&b, game); !ok {
			return nil, false
		}
		w.inputs, w.ends = append(w.inputs, course.Last), append(w.ends, size-b.Len())
	}
	if b.Close() != nil {
		return nil, false
	}
	d.last, d.next = d.next, d.last
	return d.last.inputs[2:], true
}

// repeat adds the next inputs, at most most, if the last window has them with the codes that b has. It reports whether there was one.
func (d *WindowDecoder) repeat(b *wire.BitReader, most int) bool {
	w, last := &d.next, &d.last
	n := len(w.inputs)
	at := int(w.first-last.first) + n - 2 // position in last.ends
	most = min(most, len(last.ends)-1-at)
	if at < 0 || most <= 0 || last.inputs[at] != w.inputs[n-2] || last.inputs[at+1] != w.inputs[n-1] {
		return false
	}
	here, there := *b, wire.NewBitReader(last.codes)
	there.Skip(last.ends[at])
	equal := 0
	for size := min(b.Len(), last.ends[at+most]-last.ends[at]); equal < size; {
		chunk := min(size-equal, 56)
		if x := here.Bits(chunk) ^ there.Bits(chunk); x != 0 {
			equal += bits.TrailingZeros64(x)
			break
		}
		equal += chunk
	}
	shift := w.ends[n-2] - last.ends[at]
	for i := at; i < at+most && last.ends[i+1]-last.ends[at] <= equal; i++ {
		w.inputs, w.ends = append(w.inputs, last.inputs[i+2]), append(w.ends, last.ends[i+1]+shift)
	}
	b.Skip(w.ends[len(w.ends)-1] - w.ends[n-2])
	return len(w.inputs) > n
}
