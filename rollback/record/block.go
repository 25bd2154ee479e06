package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"tendon/ecs"
)

// A record is magic, version and blocks. No byte of a block is used before both of its checksums were compared. The
// second checksum depends on the block's offset, so a block that was moved, doubled or left out is found.

// magic opens every record; version follows it.
const (
	magic   = "TENDONRD"
	version = 3
	// startVersion is the version of a file whose header describes its start: the digest, and the strategy that a change chose.
	startVersion = 4
	// oldestVersion is the oldest version that is read. Its images have no past.
	oldestVersion = 2
	// oldRecording and oldJournal open files of the formats before this one.
	oldRecording = "TENDONRC"
	oldJournal   = "TENDONJL"
)

const (
	// openingBytes is the offset of the first block, which holds the header.
	openingBytes = len(magic) + 1
	// maxBlockBytes bounds a block's payload, so that its length is a varint of at most 4 bytes.
	maxBlockBytes = 1<<28 - 1
	// sumBytes is the size of a block's two checksums.
	sumBytes = 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBlock appends the block of a payload of [1, maxBlockBytes] bytes. offset is the block's place in the file.
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

// incomplete is the fault of a block that ends after the file.
const incomplete = "a block is not complete"

// blockHead reads the head of the block at data[at:]. Its payload is data[from:to], which may reach beyond data. fault
// describes the damage of the head; "" is none.
func blockHead(data []byte, at int) (from, to int, fault string) {
	length, n := binary.Uvarint(data[at:min(len(data), at+4)])
	if n == 0 && len(data)-at < 4 || n > 0 && len(data)-at < n+sumBytes {
		return 0, 0, incomplete
	}
	if n <= 0 || length == 0 || n > 1 && data[at+n-1] == 0 ||
		crc32.Update(0, castagnoli, data[at:at+n]) != binary.LittleEndian.Uint32(data[at+n:]) {
		return 0, 0, "a block's length has the wrong checksum"
	}
	from = at + n + sumBytes
	return from, from + int(length), ""
}

// nextBlock returns the payload of the block at data[at:] and the offset of the next one.
func nextBlock(data []byte, at int) (payload []byte, next int, fault string) {
	from, to, fault := blockHead(data, at)
	if fault == "" && to > len(data) {
		fault = incomplete
	}
	if fault != "" {
		return nil, 0, fault
	}
	head, sum := binary.LittleEndian.Uint32(data[from-8:]), binary.LittleEndian.Uint32(data[from-4:])
	if payload = data[from:to]; payloadSum(head, uint64(at), payload) != sum {
		return nil, 0, "a block has the wrong checksum"
	}
	return payload, to, ""
}

// Errors about the content of a record.
var (
	ErrTorn    = errors.New("record: the end was cut off while it was written")
	ErrCorrupt = errors.New("record: damaged")
)

// DamageError is the place where a record is torn or damaged.
type DamageError struct {
	Kind   error    // ErrTorn or ErrCorrupt
	Offset int      // of the damage, in bytes: everything before it is whole
	Bytes  int      // from there to the end of the file
	Last   ecs.Tick // the last tick before it
	Why    string
}

// Error returns the place of the damage and the part that is whole. A torn record is opened without its end, and a damaged
// one only after the file is cut at the damage.
func (e *DamageError) Error() string {
	place := fmt.Sprintf("%v: %s at byte %d", e.Kind, e.Why, e.Offset)
	switch {
	case e.Offset <= openingBytes:
		return place + "; none of it can be read"
	case e.Kind == ErrCorrupt:
		return fmt.Sprintf("%s; to read only the ticks to %d, cut a copy to its first %d bytes", place, e.Last, e.Offset)
	}
	end := fmt.Sprintf("the last %d bytes are", e.Bytes)
	if e.Bytes == 1 {
		end = "the last byte is"
	}
	return fmt.Sprintf("%s; %s left out, ticks to %d are whole", place, end, e.Last)
}

// Unwrap returns ErrTorn or ErrCorrupt.
func (e *DamageError) Unwrap() error { return e.Kind }

// damageAt describes the block at data[at:], in which nextBlock found a fault. It is torn if it is the last block, and
// corrupt if others follow.
func damageAt(data []byte, at int, fault string) *DamageError {
	e := &DamageError{Kind: ErrTorn, Offset: at, Bytes: len(data) - at, Why: fault}
	if blockBehind(data, at) {
		e.Kind = ErrCorrupt
	}
	return e
}

// blockBehind reports whether a block follows the one at data[at:]. If the length of that one is certain, the search
// begins behind its end: bytes that a player put into an order then never pass for a block.
func blockBehind(data []byte, at int) bool {
	behind := at + 1
	if _, to, fault := blockHead(data, at); fault == "" {
		behind = to
	}
	for ; behind < len(data); behind++ {
		if _, to, fault := blockHead(data, behind); fault == "" && to <= len(data) {
			return true
		}
	}
	return false
}
