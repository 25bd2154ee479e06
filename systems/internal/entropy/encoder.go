package entropy

import "math/bits"

// Encoder appends one code to a byte slice. It allocates only where the slice lacks capacity.
//
// The code is a number in [0, 1), written base 256: every value narrows the interval [low, low + width) that it lies
// in. Bytes that a carry may still change wait in last and full.
type Encoder struct {
	out   []byte
	start int
	interval
	last  byte // the last byte that a carry can change
	full  int  // bytes 0xFF behind it
	begun bool // last holds a byte
}

// interval is where the code lies. Functions take and return it in registers, which is faster than memory.
type interval struct {
	low   uint64 // below 2^33: the bit above 32 is a carry
	width uint32 // at least 2^24 between values
}

// minWidth is the least width of the interval between two values.
const minWidth = 1 << 24

// chunkBits is how many bits without a model are coded at once.
const chunkBits = 16

// Reset begins a code that is appended to dst.
func (e *Encoder) Reset(dst []byte) {
	*e = Encoder{out: dst, start: len(dst), interval: interval{width: 1<<32 - 1}}
}

// Bit codes a bit by a model, which learns.
func (e *Encoder) Bit(m *Model, set bool) { e.interval = e.bit(e.interval, m, number(set)) }

func (e *Encoder) bit(at interval, m *Model, bit uint32) interval {
	bound := at.width >> probabilityBits * m.odds()
	at.low += uint64(bound &^ -bit) // without a branch, as Decoder.bit
	at.width = bound&-bit + (at.width-bound)&^-bit
	*m = m.learnBit(bit)
	for at.width < minWidth {
		at = e.shift(at)
	}
	return at
}

// Bits codes the low n bits of v as they are, n in [0, 64].
func (e *Encoder) Bits(v uint64, n int) { e.interval = e.bits(e.interval, v, n) }

func (e *Encoder) bits(at interval, v uint64, n int) interval {
	for n > 0 {
		k := min(n, chunkBits)
		n -= k
		at.width >>= k
		at.low += uint64(at.width) * (v >> n & (1<<k - 1))
		for at.width < minWidth {
			at = e.shift(at)
		}
	}
	return at
}

// Number codes v by the models of m.
func (e *Encoder) Number(m *Number, v uint64) {
	at := e.bit(e.interval, &m.some, number(v != 0))
	if v != 0 {
		at = e.notZero(at, m, v)
	}
	e.interval = at
}

// Integer codes a number with a sign by the models of m.
func (e *Encoder) Integer(m *Number, v int64) {
	at := e.bit(e.interval, &m.some, number(v != 0))
	if v != 0 {
		at = e.bit(at, &m.minus, number(v < 0))
		at = e.notZero(at, m, uint64(max(v, -v)))
	}
	e.interval = at
}

// NotZero codes a number that is known not to be 0.
func (e *Encoder) NotZero(m *Number, v uint64) { e.interval = e.notZero(e.interval, m, v) }

func (e *Encoder) notZero(at interval, m *Number, v uint64) interval {
	n := bits.Len64(v)
	for k := 1; k <= longest; k++ { // as bit for each length, with branches that are mostly predicted
		model, more := m.longer[k-1], n > k
		bound := at.width >> probabilityBits * model.odds()
		if more {
			at.width = bound
		} else {
			at.low += uint64(bound)
			at.width -= bound
		}
		m.longer[k-1] = model.learn(more)
		for at.width < minWidth {
			at = e.shift(at)
		}
		if !more {
			break
		}
	}
	if n > longest {
		at = e.bits(at, uint64(n-longest-1), restBits)
	}
	if n > 1 {
		at = e.bit(at, &m.second, uint32(v>>(n-2)&1))
		at = e.bits(at, v, n-2)
	}
	return at
}

// shift moves the highest byte of low out of the interval.
func (e *Encoder) shift(at interval) interval {
	if at.low < 0xFF<<24 || at.low >= 1<<32 {
		carry := byte(at.low >> 32)
		if e.begun {
			e.out = append(e.out, e.last+carry)
		}
		for ; e.full > 0; e.full-- {
			e.out = append(e.out, 0xFF+carry)
		}
		e.begun, e.last = true, byte(at.low>>24)
	} else {
		e.full++
	}
	return interval{low: at.low & 0xFFFFFF << 8, width: at.width << 8}
}

// Len returns how many bytes the code would have if it were finished now.
func (e *Encoder) Len() int {
	n := len(e.out) - e.start + e.full + 1
	if e.begun {
		n++
	}
	return n
}

// Information returns the information in the code so far, in 1/256 bit. It grows with every value; differences are what values cost.
func (e *Encoder) Information() uint64 {
	n := len(e.out) - e.start + e.full
	if e.begun {
		n++
	}
	whole := bits.Len32(e.width) - 1
	part := uint64(e.width) << (32 - whole) & (1<<32 - 1) >> 24 // the 8 bits below the highest
	part += part * (256 - part) * 88 >> 16                      // about the logarithm
	return uint64(n)<<11 + 32<<8 - uint64(whole)<<8 - part
}

// Finish ends the code and returns the slice. One byte more than was shifted out is enough: the interval is so wide
// that it holds a number whose other bytes are zero.
func (e *Encoder) Finish() []byte {
	e.low = (e.low + minWidth - 1) &^ (minWidth - 1)
	e.shift(e.shift(e.interval))
	return e.out
}

// Mark returns the present place in the code, to which Rewind returns.
func (e *Encoder) Mark() Encoder { return *e }

// Rewind removes the code since the mark. The caller restores the models.
func (e *Encoder) Rewind(mark Encoder) {
	mark.out = e.out[:len(mark.out)]
	*e = mark
}
