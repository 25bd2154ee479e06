package journal

import (
	"encoding/binary"
	"hash/crc32"
)

// A journal is magic, version and blocks. A block is whole or it is not there: nothing of it is believed before both
// of its checksums were compared. The second depends on where in the file the block begins, so that a block counts
// nowhere else: one that was moved, doubled or left out is found.

// magic opens every journal; version follows it.
const (
	magic   = "TENDONJL"
	version = 1
)

// openingBytes is where the first block, the header's, begins.
const openingBytes = len(magic) + 1

const (
	// maxBlockBytes is the most that a block's payload can be, so that its length is a varint of at most 4 bytes.
	maxBlockBytes = 1<<28 - 1
	// sumBytes is the size of a block's two checksums.
	sumBytes = 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBlock appends the block of a payload of [1, maxBlockBytes] bytes. offset is where in the file it will begin.
func appendBlock(dst []byte, offset uint64, payload []byte) []byte {
	from := len(dst)
	dst = binary.AppendUvarint(dst, uint64(len(payload)))
	head := crc32.Update(0, castagnoli, dst[from:])
	dst = binary.LittleEndian.AppendUint32(dst, head)
	dst = binary.LittleEndian.AppendUint32(dst, payloadSum(head, offset, payload))
	return append(dst, payload...)
}

// payloadSum is the second checksum of a block that begins at offset.
func payloadSum(head uint32, offset uint64, payload []byte) uint32 {
	return crc32.Update(head^uint32(offset^offset>>32), castagnoli, payload)
}

// fault says what is wrong with a block; "" is nothing.
type fault string

const (
	faultNone    fault = ""
	faultShort   fault = "a block is not complete"
	faultHead    fault = "a block's length has the wrong checksum"
	faultPayload fault = "a block has the wrong checksum"
)

// blockHead reads the head of the block at data[at:]: where its payload lies, which may be beyond the end of data.
func blockHead(data []byte, at int) (from, to int, f fault) {
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

// nextBlock returns the payload of the block at data[at:] and where the next one begins.
func nextBlock(data []byte, at int) (payload []byte, next int, f fault) {
	from, to, f := blockHead(data, at)
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

// damageAt describes the block at data[at:], which nextBlock found a fault in. It is torn if it is the last, and
// damaged if others follow it.
func damageAt(data []byte, at int, f fault) *DamageError {
	e := &DamageError{Kind: ErrTorn, Offset: at, Bytes: len(data) - at, Why: string(f)}
	if blockBehind(data, at) {
		e.Kind = ErrCorrupt
	}
	return e
}

// blockBehind reports whether there is a block behind the one at data[at:]. Where the length of that one is certain it
// is looked for behind its end only, so that what players wrote into orders does not pass for it.
func blockBehind(data []byte, at int) bool {
	behind := at + 1
	if _, to, f := blockHead(data, at); f == faultNone {
		behind = to
	}
	for ; behind < len(data); behind++ {
		if _, to, f := blockHead(data, behind); f == faultNone && to <= len(data) {
			return true
		}
	}
	return false
}
