package entropy

import "math/bits"

// Encoder appends one code to a byte slice. It allocates only where the slice lacks capacity.
//
// The code is a number in [0, 1), written base 256: every value narrows the interval [low, low + width) that it lies
// in. Bytes that a carry may still change wait in last and full.
type Encoder struct {
	out   []byte
	start int
	low   uint64 // below 2^33: the bit above 32 is a carry
	width uint32 // at least 2^24 between values
	last  byte   // the last byte that a carry can change
	full  int    // bytes 0xFF behind it
	begun bool   // last holds a byte
}

// minWidth is the least width of the interval between two values.
const minWidth = 1 << 24

// chunkBits is how many bits without a model are coded at once.
const chunkBits = 16

// Reset begins a code that is appended to dst.
func (e *Encoder) Reset(dst []byte) {
	*e = Encoder{out: dst, start: len(dst), width: 1<<32 - 1}
}

// Bit codes a bit by a model, which learns.
func (e *Encoder) Bit(m *Model, set bool) {
	bound, bit := e.width>>probabilityBits*m.odds(), number(set) // without a branch, as Decoder.Bit
	e.low += uint64(bound &^ -bit)
	e.width = bound&-bit + (e.width-bound)&^-bit
	*m = m.learnBit(bit)
	for e.width < minWidth {
		e.shift()
		e.width <<= 8
	}
}

// Bits codes the low n bits of v as they are, n in [0, 64].
func (e *Encoder) Bits(v uint64, n int) {
	for n > 0 {
		k := min(n, chunkBits)
		n -= k
		e.width >>= k
		e.low += uint64(e.width) * (v >> n & (1<<k - 1))
		for e.width < minWidth {
			e.shift()
			e.width <<= 8
		}
	}
}

// Number codes v by the models of m.
func (e *Encoder) Number(m *Number, v uint64) {
	e.Bit(&m.some, v != 0)
	if v != 0 {
		e.NotZero(m, v)
	}
}

// NotZero codes a number that is known not to be 0.
func (e *Encoder) NotZero(m *Number, v uint64) {
	n := bits.Len64(v)
	low, width := e.low, e.width // as Bit for each length, in local variables
	for k := 1; k <= longest; k++ {
		model, more := m.longer[k-1], n > k
		bound := width >> probabilityBits * model.odds()
		if more {
			width = bound
		} else {
			low += uint64(bound)
			width -= bound
		}
		m.longer[k-1] = model.learn(more)
		for width < minWidth {
			e.low = low
			e.shift()
			low, width = e.low, width<<8
		}
		if !more {
			break
		}
	}
	e.low, e.width = low, width
	if n > longest {
		e.Bits(uint64(n-longest-1), restBits)
	}
	if n > 1 {
		e.Bit(&m.second, v>>(n-2)&1 != 0)
		e.Bits(v, n-2)
	}
}

// Integer codes a number with a sign by the models of m.
func (e *Encoder) Integer(m *Number, v int64) {
	e.Bit(&m.some, v != 0)
	if v == 0 {
		return
	}
	e.Bit(&m.minus, v < 0)
	e.NotZero(m, uint64(max(v, -v)))
}

// shift moves the highest byte of low out of the interval.
func (e *Encoder) shift() {
	if e.low < 0xFF<<24 || e.low >= 1<<32 {
		carry := byte(e.low >> 32)
		if e.begun {
			e.out = append(e.out, e.last+carry)
		}
		for ; e.full > 0; e.full-- {
			e.out = append(e.out, 0xFF+carry)
		}
		e.begun, e.last = true, byte(e.low>>24)
	} else {
		e.full++
	}
	e.low = e.low & 0xFFFFFF << 8
}

// Len returns how many bytes the code would have if it were finished now.
func (e *Encoder) Len() int {
	n := len(e.out) - e.start + e.full + 1
	if e.begun {
		n++
	}
	return n
}

// Finish ends the code and returns the slice. One byte more than was shifted out is enough: the interval is so wide
// that it holds a number whose other bytes are zero.
func (e *Encoder) Finish() []byte {
	e.low = (e.low + minWidth - 1) &^ (minWidth - 1)
	e.shift()
	e.shift()
	return e.out
}

// Mark returns the present place in the code, to which Rewind returns.
func (e *Encoder) Mark() Encoder { return *e }

// Rewind removes the code since the mark. The caller restores the models.
func (e *Encoder) Rewind(mark Encoder) {
	mark.out = e.out[:len(mark.out)]
	*e = mark
}
