package wire

import "encoding/binary"

// A Writer appends values to a byte slice up to a limit. The first value that does not fit, and all after it, are not
// written.
type Writer struct {
	buf  []byte
	end  int // len(buf) may not pass this
	base int // len(buf) at the start
	err  error
}

// NewWriter returns a writer that appends at most limit bytes to dst.
func NewWriter(dst []byte, limit int) Writer {
	if limit < 0 {
		panic("wire: NewWriter: limit must not be negative; it counts the bytes that may be appended")
	}
	return Writer{buf: dst, end: len(dst) + limit, base: len(dst)}
}

// Bytes returns the slice with everything written so far.
func (w *Writer) Bytes() []byte { return w.buf }

// Len returns how many bytes were written.
func (w *Writer) Len() int { return len(w.buf) - w.base }

// Room returns how many more bytes fit; it is zero after an overflow.
func (w *Writer) Room() int {
	if w.err != nil {
		return 0
	}
	return w.end - len(w.buf)
}

// Err returns [ErrTooLong] after an overflow, else nil.
func (w *Writer) Err() error { return w.err }

// fits reports whether n more bytes may be written and records it if not.
func (w *Writer) fits(n int) bool {
	if w.err == nil && n > w.end-len(w.buf) {
		w.err = ErrTooLong
	}
	return w.err == nil
}

// U8 writes one byte.
func (w *Writer) U8(v uint8) {
	if w.fits(1) {
		w.buf = append(w.buf, v)
	}
}

// U16 writes two bytes, little endian.
func (w *Writer) U16(v uint16) {
	if w.fits(2) {
		w.buf = binary.LittleEndian.AppendUint16(w.buf, v)
	}
}

// U32 writes four bytes, little endian.
func (w *Writer) U32(v uint32) {
	if w.fits(4) {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, v)
	}
}

// U64 writes eight bytes, little endian.
func (w *Writer) U64(v uint64) {
	if w.fits(8) {
		w.buf = binary.LittleEndian.AppendUint64(w.buf, v)
	}
}

// Bool writes one byte, 0 or 1.
func (w *Writer) Bool(v bool) {
	if v {
		w.U8(1)
	} else {
		w.U8(0)
	}
}

// Uvarint writes the shortest base-128 encoding, 1 to 10 bytes.
func (w *Writer) Uvarint(v uint64) {
	if w.fits(UvarintSize(v)) {
		w.buf = binary.AppendUvarint(w.buf, v)
	}
}

// Varint writes a signed number: zig-zag over [Writer.Uvarint].
func (w *Writer) Varint(v int64) { w.Uvarint(uint64(v)<<1 ^ uint64(v>>63)) }

// Raw writes b with no length before it.
func (w *Writer) Raw(b []byte) {
	if w.fits(len(b)) {
		w.buf = append(w.buf, b...)
	}
}

// Blob writes the length of b and b: both or neither.
func (w *Writer) Blob(b []byte) {
	if w.fits(UvarintSize(uint64(len(b))) + len(b)) {
		w.buf = binary.AppendUvarint(w.buf, uint64(len(b)))
		w.buf = append(w.buf, b...)
	}
}

// UvarintSize returns how many bytes [Writer.Uvarint] takes for v: 1 to 10.
func UvarintSize(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}
