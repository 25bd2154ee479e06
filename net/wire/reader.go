package wire

import (
	"encoding/binary"
	"errors"
)

// A Reader takes values off the front of a byte slice. It never reads past the slice, never allocates and never panics,
// for any bytes. After its first error every method returns a zero value and reads nothing.
type Reader struct {
	buf []byte // not read yet
	err error  // the first failure
}

// The errors of this package. They are returned as they are, so that refusing a packet does not allocate.
var (
	// ErrShort reports bytes that end before the value does.
	ErrShort = errors.New("wire: short: the bytes end before the value does")
	// ErrTooLong reports a length or count above its bound, or a writer at its limit.
	ErrTooLong = errors.New("wire: too long: a length or count is above its bound")
	// ErrNotCanonical reports a padded varint, a boolean above 1, set padding bits, an empty part or an unknown channel.
	ErrNotCanonical = errors.New("wire: not canonical: the value has a shorter or another encoding")
	// ErrTrailing reports bytes left over after the last value.
	ErrTrailing = errors.New("wire: trailing: bytes are left after the last value")
)

// NewReader returns a reader over buf. Slices that it returns alias buf.
func NewReader(buf []byte) Reader { return Reader{buf: buf} }

// Err returns the first failure, or nil.
func (r *Reader) Err() error { return r.err }

// Len returns how many bytes are left. It is zero after a failure.
func (r *Reader) Len() int { return len(r.buf) }

// Close returns the first failure, or [ErrTrailing] if bytes are left.
func (r *Reader) Close() error {
	if r.err == nil && len(r.buf) > 0 {
		r.fail(ErrTrailing)
	}
	return r.err
}

// Fail makes err the reader's failure unless it has one already, for the decoder's own rules.
func (r *Reader) Fail(err error) {
	if err == nil {
		panic("wire: Reader.Fail(nil): pass the error that describes the broken rule")
	}
	r.fail(err)
}

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
		r.buf = nil
	}
}

// Bytes takes the next n bytes and returns them, aliasing the input. A negative n is an error.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.buf) {
		r.fail(ErrShort)
		return nil
	}
	b := r.buf[:n:n]
	r.buf = r.buf[n:]
	return b
}

// Rest takes everything that is left, aliasing the input.
func (r *Reader) Rest() []byte { return r.Bytes(len(r.buf)) }

// zeros is read after a failure.
var zeros [8]byte

func (r *Reader) fixed(n int) []byte {
	if b := r.Bytes(n); b != nil {
		return b
	}
	return zeros[:n]
}

// U8 reads one byte.
func (r *Reader) U8() uint8 { return r.fixed(1)[0] }

// U16 reads two bytes, little endian.
func (r *Reader) U16() uint16 { return binary.LittleEndian.Uint16(r.fixed(2)) }

// U32 reads four bytes, little endian.
func (r *Reader) U32() uint32 { return binary.LittleEndian.Uint32(r.fixed(4)) }

// U64 reads eight bytes, little endian.
func (r *Reader) U64() uint64 { return binary.LittleEndian.Uint64(r.fixed(8)) }

// Bool reads one byte that must be 0 or 1.
func (r *Reader) Bool() bool {
	v := r.U8()
	if v > 1 {
		r.fail(ErrNotCanonical)
		return false
	}
	return v == 1
}

// Uvarint reads an unsigned base-128 number of 1 to 10 bytes, in its shortest encoding only.
func (r *Reader) Uvarint() uint64 {
	if len(r.buf) > 0 && r.buf[0] < 0x80 {
		v := r.buf[0]
		r.buf = r.buf[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.buf)
	switch {
	case n == 0:
		r.fail(ErrShort)
		return 0
	case n < 0 || r.buf[n-1] == 0: // above 64 bits, or padded
		r.fail(ErrNotCanonical)
		return 0
	}
	r.buf = r.buf[n:]
	return v
}

// Varint reads a signed number: zig-zag over [Reader.Uvarint].
func (r *Reader) Varint() int64 {
	v := r.Uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// Blob reads a length, as [Reader.Uvarint], of at most limit, and that many bytes, aliasing the input.
func (r *Reader) Blob(limit int) []byte { return r.Bytes(r.Count(limit, 1)) }

// Count reads the number of elements that follow. It must be at most limit, and at least minSize bytes must be left for
// each of them, so the input bounds an allocation. A minSize of zero is for elements of less than a byte.
func (r *Reader) Count(limit, minSize int) int {
	if limit < 0 || minSize < 0 {
		panic("wire: Reader.Count: limit and minSize must not be negative")
	}
	n := r.Uvarint()
	if n > uint64(limit) {
		r.fail(ErrTooLong)
		return 0
	}
	if minSize > 0 && n > uint64(len(r.buf)/minSize) {
		r.fail(ErrShort)
		return 0
	}
	return int(n)
}
