package entropy

import "errors"

// ErrCode reports bytes that no Encoder has written.
var ErrCode = errors.New("entropy: the code is damaged, or longer or shorter than its values")

// Decoder takes values off one code in the order in which an Encoder was given them.
type Decoder struct {
	code []byte
	at   int // bytes read; beyond the code's end they are zero
	place
	bad bool
}

// place is where the code's number lies in the interval. As interval, it is kept in registers.
type place struct {
	width  uint32
	offset uint32 // below width unless the code is damaged
}

// lookahead is how many bytes the decoder has read beyond those that the encoder had shifted out by then.
const lookahead = 4

// Reset begins to decode.
func (d *Decoder) Reset(code []byte) {
	*d = Decoder{code: code}
	for range lookahead {
		d.place = d.shift(d.place)
	}
	d.width = 1<<32 - 1
}

// shift moves the highest byte out of the interval.
func (d *Decoder) shift(p place) place {
	p.offset <<= 8
	if d.at < len(d.code) {
		p.offset |= uint32(d.code[d.at])
	}
	d.at++
	p.width <<= 8
	return p
}

// Bit returns a bit that was coded by the same model.
func (d *Decoder) Bit(m *Model) (set bool) {
	p, bit := d.bit(d.place, m)
	d.place = p
	return bit != 0
}

func (d *Decoder) bit(p place, m *Model) (_ place, bit uint32) {
	bound := p.width >> probabilityBits * m.odds()
	bit = number(p.offset < bound) // without a branch, since such bits are often hard to predict
	p.offset -= bound &^ -bit
	p.width = bound&-bit + (p.width-bound)&^-bit
	*m = m.learnBit(bit)
	for p.width < minWidth {
		p = d.shift(p)
	}
	return p, bit
}

// Bits returns n bits that were coded as they are, n in [0, 64].
func (d *Decoder) Bits(n int) (v uint64) {
	d.place, v = d.bits(d.place, n)
	return v
}

func (d *Decoder) bits(p place, n int) (_ place, v uint64) {
	for n > 0 {
		k := min(n, chunkBits)
		n -= k
		p.width >>= k
		part := p.offset / p.width
		if part >= 1<<k {
			d.bad, part = true, 1<<k-1
		}
		p.offset -= part * p.width
		v = v<<k | uint64(part)
		for p.width < minWidth {
			p = d.shift(p)
		}
	}
	return p, v
}

// Number returns a number that was coded by the same models.
func (d *Decoder) Number(m *Number) (v uint64) {
	p, some := d.bit(d.place, &m.some)
	if some != 0 {
		p, v = d.notZero(p, m)
	}
	d.place = p
	return v
}

// Integer returns a number that was coded by the same models.
func (d *Decoder) Integer(m *Number) (v int64) {
	p, some := d.bit(d.place, &m.some)
	if some != 0 {
		var minus uint32
		var size uint64
		p, minus = d.bit(p, &m.minus)
		p, size = d.notZero(p, m)
		v = int64(size) ^ -int64(minus) + int64(minus)
	}
	d.place = p
	return v
}

// NotZero returns a number that was coded by NotZero.
func (d *Decoder) NotZero(m *Number) (v uint64) {
	d.place, v = d.notZero(d.place, m)
	return v
}

func (d *Decoder) notZero(p place, m *Number) (_ place, v uint64) {
	n := 1
	for n <= longest { // as bit for each length, with branches that are mostly predicted
		model := m.longer[n-1]
		bound := p.width >> probabilityBits * model.odds()
		more := p.offset < bound
		if more {
			p.width = bound
		} else {
			p.offset -= bound
			p.width -= bound
		}
		m.longer[n-1] = model.learn(more)
		for p.width < minWidth {
			p = d.shift(p)
		}
		if !more {
			break
		}
		n++
	}
	if n > longest {
		p, v = d.bits(p, restBits)
		if n += int(v); n > 64 {
			d.bad, n = true, 64
		}
	}
	if n == 1 {
		return p, 1
	}
	p, second := d.bit(p, &m.second)
	p, v = d.bits(p, n-2)
	return p, uint64(2|second)<<(n-2) | v
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
