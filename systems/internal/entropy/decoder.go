package entropy

import "errors"

// ErrCode reports bytes that no Encoder has written.
var ErrCode = errors.New("entropy: the code is damaged, or longer or shorter than its values")

// Decoder takes values off one code in the order in which an Encoder was given them.
type Decoder struct {
	code   []byte
	at     int // bytes read; beyond the code's end they are zero
	width  uint32
	offset uint32 // of the code's number in the interval, below width unless the code is damaged
	bad    bool
}

// lookahead is how many bytes the decoder has read beyond those that the encoder had shifted out by then.
const lookahead = 4

// Reset begins to decode.
func (d *Decoder) Reset(code []byte) {
	*d = Decoder{code: code, width: 1<<32 - 1}
	for range lookahead {
		d.shift()
	}
}

func (d *Decoder) shift() {
	d.offset <<= 8
	if d.at < len(d.code) {
		d.offset |= uint32(d.code[d.at])
	}
	d.at++
}

// Bit returns a bit that was coded by the same model.
func (d *Decoder) Bit(m *Model) (set bool) {
	bound := d.width >> probabilityBits * m.odds()
	set = d.offset < bound
	bit := number(set) // without a branch, since such bits are often hard to predict
	d.offset -= bound &^ -bit
	d.width = bound&-bit + (d.width-bound)&^-bit
	*m = m.learnBit(bit)
	for d.width < minWidth {
		d.shift()
		d.width <<= 8
	}
	return set
}

// Bits returns n bits that were coded as they are, n in [0, 64].
func (d *Decoder) Bits(n int) (v uint64) {
	for n > 0 {
		k := min(n, chunkBits)
		n -= k
		d.width >>= k
		part := d.offset / d.width
		if part >= 1<<k {
			d.bad, part = true, 1<<k-1
		}
		d.offset -= part * d.width
		v = v<<k | uint64(part)
		for d.width < minWidth {
			d.shift()
			d.width <<= 8
		}
	}
	return v
}

// Number returns a number that was coded by the same models.
func (d *Decoder) Number(m *Number) uint64 {
	if !d.Bit(&m.some) {
		return 0
	}
	return d.NotZero(m)
}

// NotZero returns a number that was coded by NotZero.
func (d *Decoder) NotZero(m *Number) uint64 {
	n, width, offset := 1, d.width, d.offset // as Bit for each length, in local variables
	for n <= longest {
		model := m.longer[n-1]
		bound := width >> probabilityBits * model.odds()
		more := offset < bound
		if more {
			width = bound
		} else {
			offset -= bound
			width -= bound
		}
		m.longer[n-1] = model.learn(more)
		for width < minWidth {
			d.offset = offset
			d.shift()
			offset, width = d.offset, width<<8
		}
		if !more {
			break
		}
		n++
	}
	d.width, d.offset = width, offset
	if n > longest {
		if n += int(d.Bits(restBits)); n > 64 {
			d.bad, n = true, 64
		}
	}
	if n == 1 {
		return 1
	}
	v := uint64(2)
	if d.Bit(&m.second) {
		v = 3
	}
	return v<<(n-2) | d.Bits(n-2)
}

// Integer returns a number that was coded by the same models.
func (d *Decoder) Integer(m *Number) int64 {
	if !d.Bit(&m.some) {
		return 0
	}
	minus := -int64(number(d.Bit(&m.minus)))
	return int64(d.NotZero(m)) ^ minus - minus
}

// Exhausted reports whether more was decoded than the code can hold: what follows are made-up values.
func (d *Decoder) Exhausted() bool { return d.bad || d.at >= len(d.code)+lookahead }

// Close reports whether the code ends where its values do.
func (d *Decoder) Close() error {
	if d.bad || d.at != len(d.code)+lookahead-1 {
		return ErrCode
	}
	return nil
}
