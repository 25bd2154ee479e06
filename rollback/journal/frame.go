package journal

import (
	"encoding/binary"
	"hash/crc32"
)

// A journal is magic, version and frames. A frame is whole or it is not there: nothing of it is believed before both
// of its checksums were compared. The second depends on where in the file the frame begins, so that a frame counts
// nowhere else: one that was moved, doubled or left out is found.

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
	head := crc32.Update(0, castagnoli, dst[from:])
	dst = binary.LittleEndian.AppendUint32(dst, head)
	dst = binary.LittleEndian.AppendUint32(dst, payloadSum(head, offset, payload))
	return append(dst, payload...)
}

// payloadSum is the second checksum of a frame that begins at offset.
func payloadSum(head uint32, offset uint64, payload []byte) uint32 {
	return crc32.Update(head^uint32(offset^offset>>32), castagnoli, payload)
}

// fault says what is wrong with a frame; "" is nothing.
type fault string

const (
	faultNone    fault = ""
	faultShort   fault = "a block is not complete"
	faultHead    fault = "a block's length has the wrong checksum"
	faultPayload fault = "a block has the wrong checksum"
)

// frameHead reads the head of the frame at data[at:]: where its payload lies, which may be beyond the end of data.
func frameHead(data []byte, at int) (from, to int, f fault) {
	length, n := binary.Uvarint(data[at:min(len(data), at+4)])
	if n == 0 && len(data)-at < 4 || n > 0 && len(data)-at < n+sumBytes {
		return 0, 0, faultShort
	}
	if n <= 0 || length == 0 || n > 1 && data[at+n-1] == 0 ||
		crc32.Update(0, castagnoli, data[at:at+n]) != binary.LittleEndian.Uint32(data[at+n:]) {
		return 0, 0, faultHead
	}
	from = at + n + sumBytes
	return from, from + int(length), faultNone
}

// nextFrame returns the payload of the frame at data[at:] and where the next one begins.
func nextFrame(data []byte, at int) (payload []byte, next int, f fault) {
	from, to, f := frameHead(data, at)
	if f != faultNone {
		return nil, 0, f
	}
	if to > len(data) {
		return nil, 0, faultShort
	}
	head, sum := binary.LittleEndian.Uint32(data[from-8:]), binary.LittleEndian.Uint32(data[from-4:])
	if payload = data[from:to]; payloadSum(head, uint64(at), payload) != sum {
		return nil, 0, faultPayload
	}
	return payload, to, faultNone
}

// damageAt describes the frame at data[at:], which nextFrame found a fault in. It is torn if it is the last, and
// damaged if others follow it.
func damageAt(data []byte, at int, f fault) *DamageError {
	e := &DamageError{Kind: ErrTorn, Offset: at, Bytes: len(data) - at, Why: string(f)}
	if frameBehind(data, at) {
		e.Kind = ErrCorrupt
	}
	return e
}

// frameBehind reports whether there is a frame behind the one at data[at:]. Where the length of that one is certain it
// is looked for behind its end only, so that what players wrote into orders does not pass for it.
func frameBehind(data []byte, at int) bool {
	behind := at + 1
	if _, to, f := frameHead(data, at); f == faultNone {
		behind = to
	}
	for ; behind < len(data); behind++ {
		if _, to, f := frameHead(data, behind); f == faultNone && to <= len(data) {
			return true
		}
	}
	return false
}
