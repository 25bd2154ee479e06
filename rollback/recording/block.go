package recording

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// magic opens every recording; version follows it.
const (
	magic   = "TENDONRC"
	version = 1
)

// kind says what a block holds.
type kind uint8

const (
	kindHeader kind = 1
	kindTicks  kind = 2
	kindImage  kind = 3
)

// blockHeaderBytes is what stands before a block's payload.
const blockHeaderBytes = 1 + 4 + 4 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealBlock writes the header of the block whose payload is b[blockHeaderBytes:].
func sealBlock(b []byte, k kind) {
	payload := b[blockHeaderBytes:]
	b[0] = byte(k)
	binary.LittleEndian.PutUint32(b[1:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(b[5:], crc32.Checksum(payload, castagnoli))
	binary.LittleEndian.PutUint32(b[9:], crc32.Checksum(b[:9], castagnoli))
}

// blockFault says what is wrong with a block.
type blockFault uint8

const (
	faultNone blockFault = iota
	faultShort
	faultHeader
	faultPayload
)

// nextBlock takes the block at the front of rest apart; size is its length with its header, where that is known.
func nextBlock(rest []byte) (k kind, payload []byte, size int, fault blockFault) {
	if len(rest) < blockHeaderBytes {
		return 0, nil, len(rest), faultShort
	}
	if crc32.Checksum(rest[:9], castagnoli) != binary.LittleEndian.Uint32(rest[9:]) {
		return 0, nil, 0, faultHeader
	}
	length := binary.LittleEndian.Uint32(rest[1:])
	if uint64(length) > uint64(len(rest)-blockHeaderBytes) {
		return 0, nil, len(rest), faultShort
	}
	size = blockHeaderBytes + int(length)
	payload = rest[blockHeaderBytes:size]
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(rest[5:]) {
		return 0, nil, size, faultPayload
	}
	return kind(rest[0]), payload, size, faultNone
}

// parser takes values off the front of a payload. After the first failure bad is set and everything is zero.
type parser struct {
	rest []byte
	bad  bool
}

// take returns the next n bytes, nil if there are fewer.
func (p *parser) take(n int) []byte {
	if p.bad || n < 0 || n > len(p.rest) {
		p.bad, p.rest = true, nil
		return nil
	}
	b := p.rest[:n]
	p.rest = p.rest[n:]
	return b
}

func (p *parser) varint() uint64 {
	v, n := binary.Uvarint(p.rest)
	if n <= 0 || p.bad {
		p.bad, p.rest = true, nil
		return 0
	}
	p.take(n)
	return v
}

// small returns a varint that is an int of at most 31 bits.
func (p *parser) small() int {
	v := p.varint()
	if v > math.MaxInt32 {
		p.bad, p.rest = true, nil
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
func (p *parser) bytes(limit int) []byte {
	n := p.small()
	if n > limit {
		p.bad, p.rest = true, nil
	}
	return p.take(n)
}

func appendString[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}
