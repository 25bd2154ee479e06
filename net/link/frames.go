package link

import (
	"encoding/binary"
	"slices"

	"tendon/net/wire"
)

// frames is a first-in first-out buffer of messages, each preceded by its length as a uvarint. Its users bound its size.
// Returned slices are valid until the next push, extend or drop.
type frames struct {
	buf  []byte
	head int // buf[head:] is the content
}

// keepBytes is the capacity that an idle buffer may keep. A link is small again after it has carried an image.
const keepBytes = 4 << 10

func framedSize(n int) int { return n + wire.UvarintSize(uint64(n)) }

func (f *frames) size() int { return len(f.buf) - f.head }

func (f *frames) push(message []byte) {
	f.makeRoom(framedSize(len(message)))
	f.buf = binary.AppendUvarint(f.buf, uint64(len(message)))
	f.buf = append(f.buf, message...)
}

// extend appends n bytes for the caller to fill, a piece of framed messages.
func (f *frames) extend(n int) []byte {
	f.makeRoom(n)
	at := len(f.buf)
	f.buf = slices.Grow(f.buf, n)[:at+n]
	return f.buf[at:]
}

// makeRoom moves the content to the front if n more bytes do not fit after it.
func (f *frames) makeRoom(n int) {
	if f.head == len(f.buf) {
		f.buf, f.head = f.buf[:0], 0
	} else if f.head > 0 && len(f.buf)+n > cap(f.buf) {
		f.buf = f.buf[:copy(f.buf, f.buf[f.head:])]
		f.head = 0
	}
}

// take removes up to n bytes from the front, regardless of messages.
func (f *frames) take(n int) []byte {
	n = min(n, f.size())
	f.head += n
	return f.buf[f.head-n : f.head]
}

// message removes the message at the front, if it is whole. A length that is not canonical, zero or above MaxMessage is
// ErrStream.
func (f *frames) message() (message []byte, ok bool, err error) {
	in := f.buf[f.head:]
	length, n := binary.Uvarint(in)
	switch {
	case n == 0 && len(in) < 3:
		return nil, false, nil
	case n <= 0 || length == 0 || length > MaxMessage || framedSize(int(length)) != n+int(length):
		return nil, false, ErrStream
	case len(in)-n < int(length):
		return nil, false, nil
	}
	f.head += n + int(length)
	return in[n : n+int(length) : n+int(length)], true, nil
}

// drop releases the memory of an empty buffer.
func (f *frames) drop() {
	if f.head == len(f.buf) {
		f.buf, f.head = trim(f.buf), 0
	}
}

// trim empties b, and releases it if it is large.
func trim(b []byte) []byte {
	if cap(b) > keepBytes {
		return nil
	}
	return b[:0]
}
