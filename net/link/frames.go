package link

import (
	"bytes"
	"encoding/binary"

	"tendon/net/wire"
)

// frames is a first-in first-out buffer of messages, each preceded by its length as a uvarint. Its users bound its size.
// Returned slices are valid until the next push, Write or drop.
type frames struct{ bytes.Buffer }

// keepBytes is the capacity that an idle buffer may keep. A link is small again after it has carried an image.
const keepBytes = 4 << 10

func framedSize(n int) int { return n + wire.UvarintSize(uint64(n)) }

func (f *frames) push(message []byte) {
	f.Grow(framedSize(len(message)))
	f.Write(append(binary.AppendUvarint(f.AvailableBuffer(), uint64(len(message))), message...))
}

// message removes the message at the front, if it is whole. A length that is not canonical, zero or above MaxMessage is
// ErrStream.
func (f *frames) message() (message []byte, ok bool, err error) {
	in := f.Bytes()
	length, n := binary.Uvarint(in)
	switch {
	case n == 0 && len(in) < 3:
		return nil, false, nil
	case n <= 0 || length == 0 || length > MaxMessage || framedSize(int(length)) != n+int(length):
		return nil, false, ErrStream
	case len(in)-n < int(length):
		return nil, false, nil
	}
	end := n + int(length)
	return f.Next(end)[n:end:end], true, nil
}

// drop releases the memory of an empty buffer if it is large.
func (f *frames) drop() {
	if f.Len() == 0 && f.Cap() > keepBytes {
		f.Buffer = bytes.Buffer{}
	}
}
