package journal

import (
	"encoding/binary"
	"fmt"
)

// parser takes values off the front of bytes that a stranger may have chosen. After the first failure why says what is
// wrong and everything that is taken is zero.
type parser struct {
	rest []byte
	why  string
}

func (p *parser) fail(why string) {
	if p.why == "" {
		p.why, p.rest = why, nil
	}
}

// err returns what is wrong, as ErrMalformed, or nil.
func (p *parser) err() error {
	if p.why == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrMalformed, p.why)
}

// take returns the next n bytes, nil if there are fewer.
func (p *parser) take(n int) []byte {
	if n < 0 || n > len(p.rest) {
		p.fail("it is cut off")
		return nil
	}
	b := p.rest[:n]
	p.rest = p.rest[n:]
	return b
}

// varint returns a number, which must stand in its shortest form: what can be written in one way only can be hashed.
func (p *parser) varint() uint64 {
	v, n := binary.Uvarint(p.rest)
	switch {
	case n <= 0:
		p.fail("a number is cut off or too large")
		return 0
	case n > 1 && p.rest[n-1] == 0:
		p.fail("a number is not in its shortest form")
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

// upTo returns a varint of at most limit.
func (p *parser) upTo(limit int) int {
	v := p.varint()
	if v > uint64(limit) {
		p.fail("a number is larger than it may be")
		return 0
	}
	return int(v)
}

func (p *parser) byte() byte {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *parser) uint64() uint64 {
	if b := p.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// bytes returns a varint of at most limit, then so many bytes.
func (p *parser) bytes(limit int) []byte { return p.take(p.upTo(limit)) }

func appendString[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}
