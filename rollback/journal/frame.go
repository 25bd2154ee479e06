package journal

import (
	"encoding/binary"
	"hash/crc32"
)

// A journal is magic, version and frames. A frame is whole or it is not there: nothing of it is believed before both
// of its checksums were compared. They depend on where in the file the frame begins, so that a frame is taken for one
// nowhere else, whatever players write into their orders.

// magic opens every journal; version follows it.
const (
	magic   = "TENDONJL"
	version = 1
)

// openingBytes is where the first frame, the header's, begins.
const openingBytes = len(magic) + 1

const (
	// maxFrameBytes is the most that a frame's payload can be, so that its length is a varint of at most 4 bytes.
	maxFrameBytes = 1<<28 - 1
	// sumBytes is the size of a frame's two checksums.
	sumBytes = 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends the frame of a payload of [1, maxFrameBytes] bytes. offset is where in the file it will begin.
func appendFrame(dst []byte, offset uint64, payload []byte) []byte {
	from := len(dst)
	dst = binary.AppendUvarint(dst, uint64(len(payload)))
	head := headSum(offset, dst[from:])
	dst = binary.LittleEndian.AppendUint32(dst, head)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Update(head, castagnoli, payload))
	return append(dst, payload...)
}

// headSum is the checksum of a frame's length, which begins at offset.
func headSum(offset uint64, length []byte) uint32 {
	return crc32.Update(uint32(offset^offset>>32), castagnoli, length)
}

// fault says what is wrong with a frame; "" is nothing.
type fault string

const (
	faultNone    fault = ""
	faultShort   fault = "a block is not complete"
	faultHead    fault = "a block's length has the wrong checksum"
	faultPayload fault = "a block has the wrong checksum"
)

// frameHead reads the head of the frame at data[at:]: where its payload lies and the checksum that the payload's goes
// on from.
func frameHead(data []byte, at int) (from, to int, head uint32, f fault) {
	length, n := binary.Uvarint(data[at:min(len(data), at+4)])
	if n == 0 && len(data)-at < 4 || n > 0 && len(data)-at < n+sumBytes {
		return 0, 0, 0, faultShort
	}
	if n <= 0 || length == 0 || n > 1 && data[at+n-1] == 0 {
		return 0, 0, 0, faultHead
	}
	head = headSum(uint64(at), data[at:at+n])
	if head != binary.LittleEndian.Uint32(data[at+n:]) {
		return 0, 0, 0, faultHead
	}
	from = at + n + sumBytes
	if length > uint64(len(data)-from) {
		return 0, 0, 0, faultShort
	}
	return from, from + int(length), head, faultNone
}

// nextFrame returns the payload of the frame at data[at:] and where the next one begins.
func nextFrame(data []byte, at int) (payload []byte, next int, f fault) {
	from, to, head, f := frameHead(data, at)
	if f != faultNone {
		return nil, 0, f
	}
	payload = data[from:to]
	if crc32.Update(head, castagnoli, payload) != binary.LittleEndian.Uint32(data[from-4:]) {
		return nil, 0, faultPayload
	}
	return payload, to, faultNone
}

// searchFactor bounds the work of frameBehind: so many times the bytes that it looks through are hashed.
const searchFactor = 8

// frameBehind reports whether a whole frame begins anywhere behind at, where there is none. If not, what was written
// last stood at at and was torn; if so, at is in the midst of a journal, which is damaged.
func frameBehind(data []byte, at int) bool {
	budget := searchFactor * (len(data) - at)
	for at++; at < len(data); at++ {
		from, to, _, f := frameHead(data, at)
		if f != faultNone {
			continue
		}
		if _, _, f := nextFrame(data, at); f == faultNone {
			return true
		}
		if budget -= to - from; budget < 0 {
			return true // not by accident: somebody made these bytes
		}
	}
	return false
}
