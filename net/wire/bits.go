package wire

import "encoding/binary"

// A BitWriter appends values bit by bit, the least significant bit first, into bytes that are filled from their least
// significant bit. The last byte is padded with zero bits. Its limit works as that of a [Writer].
type BitWriter struct {
	buf  []byte
	end  int
	used int // bits used of the last byte, in [0, 8); 0 means: start a new one
	err  error
}

// NewBitWriter returns a writer that appends at most limit bytes to dst, beginning in a new byte.
func NewBitWriter(dst []byte, limit int) BitWriter {
	if limit < 0 {
		panic("wire: NewBitWriter: limit must not be negative; it counts the bytes that may be appended")
	}
	return BitWriter{buf: dst, end: len(dst) + limit}
}

// Bytes returns the slice with everything written so far; the unused bits of its last byte are zero.
func (w *BitWriter) Bytes() []byte { return w.buf }

// Len returns how many bits are in Bytes, without the unused ones.
func (w *BitWriter) Len() int { return len(w.buf)*8 - (8-w.used)&7 }

// Err returns [ErrTooLong] after an overflow, else nil.
func (w *BitWriter) Err() error { return w.err }

// Bits writes the low n bits of v, n in [0, 64], all or none of them. Set bits above n panic.
func (w *BitWriter) Bits(v uint64, n int) {
	if n < 0 || n > 64 {
		panic("wire: BitWriter.Bits: n must be in [0, 64]")
	}
	if n < 64 && v>>n != 0 {
		panic("wire: BitWriter.Bits: v has bits set above n; mask it or pass a larger n")
	}
	free := (8 - w.used) & 7
	if w.err == nil && len(w.buf)+(n-free+7)/8 > w.end {
		w.err = ErrTooLong
	}
	if w.err != nil {
		return
	}
	used := w.used
	w.used = (used + n) & 7
	if used > 0 {
		w.buf[len(w.buf)-1] |= byte(v << used)
		v >>= 8 - used
		n -= 8 - used
	}
	for ; n > 0; n -= 8 {
		w.buf = append(w.buf, byte(v))
		v >>= 8
	}
}

// Bool writes one bit.
func (w *BitWriter) Bool(v bool) {
	bit := uint64(0)
	if v {
		bit = 1
	}
	if w.used == 0 || w.err != nil {
		w.Bits(bit, 1)
		return
	}
	w.buf[len(w.buf)-1] |= byte(bit << w.used) // the byte was begun, so there is room
	w.used = (w.used + 1) & 7
}

// Copy writes the next n bits of r.
func (w *BitWriter) Copy(r *BitReader, n int) {
	for ; n > 56; n -= 56 {
		w.Bits(r.Bits(56), 56)
	}
	w.Bits(r.Bits(n), n)
}

// A BitReader takes values off a byte slice in the order in which a [BitWriter] wrote them. It never reads past the
// slice, never allocates, and its first error sticks.
type BitReader struct {
	buf  []byte // what is left; buf[0] is the byte being read
	used int    // bits of buf[0] already read, in [0, 8)
	err  error
}

// NewBitReader returns a reader over buf, beginning at its first bit.
func NewBitReader(buf []byte) BitReader { return BitReader{buf: buf} }

// Err returns the first failure, or nil.
func (r *BitReader) Err() error { return r.err }

func (r *BitReader) fail(err error) {
	if r.err == nil {
		r.err = err
		r.buf, r.used = nil, 0
	}
}

// Len returns how many bits are left, padding included.
func (r *BitReader) Len() int { return len(r.buf)*8 - r.used }

// Bits reads n bits, n in [0, 64].
func (r *BitReader) Bits(n int) uint64 {
	if n < 0 || n > 64 {
		panic("wire: BitReader.Bits: n must be in [0, 64]; check widths that come off the wire first")
	}
	if n > r.Len() {
		r.fail(ErrShort)
		return 0
	}
	if len(r.buf) >= 8 && n <= 56 {
		v := binary.LittleEndian.Uint64(r.buf) >> r.used & (1<<n - 1)
		r.used += n
		r.buf, r.used = r.buf[r.used>>3:], r.used&7
		return v
	}
	var v uint64
	for at := 0; at < n; {
		take := min(8-r.used, n-at)
		chunk := uint64(r.buf[0]>>r.used) & (1<<take - 1)
		v |= chunk << at
		at += take
		r.used += take
		if r.used == 8 {
			r.buf, r.used = r.buf[1:], 0
		}
	}
	return v
}

// Bool reads one bit.
func (r *BitReader) Bool() bool {
	if len(r.buf) == 0 {
		r.fail(ErrShort)
		return false
	}
	v := r.buf[0]>>r.used&1 == 1
	if r.used++; r.used == 8 {
		r.buf, r.used = r.buf[1:], 0
	}
	return v
}

// Skip skips n ≥ 0 bits.
func (r *BitReader) Skip(n int) {
	if n > r.Len() {
		r.fail(ErrShort)
		return
	}
	r.used += n
	r.buf, r.used = r.buf[r.used>>3:], r.used&7
}

// Rest skips to the next whole byte, refusing padding bits that are set, and takes the bytes that follow, aliasing the
// input. So a message returns from bits to bytes: NewReader(bits.Rest()), with both errors checked.
func (r *BitReader) Rest() []byte {
	if r.used > 0 {
		if r.buf[0]>>r.used != 0 {
			r.fail(ErrNotCanonical)
			return nil
		}
		r.buf, r.used = r.buf[1:], 0
	}
	rest := r.buf
	r.buf = nil
	return rest
}

// Close returns the first failure, [ErrNotCanonical] if a padding bit is set, or [ErrTrailing] if whole bytes are left.
func (r *BitReader) Close() error {
	if len(r.Rest()) > 0 {
		r.fail(ErrTrailing)
	}
	return r.err
}
