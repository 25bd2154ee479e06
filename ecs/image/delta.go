package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

// A delta is the difference of two states as bytes, for clients that do not simulate:
//
//	format    1 byte, deltaFormat
//	base      uvarint: tick of the base, the older state
//	ticks     uvarint: number of ticks from the base to the new state
//	checksum  8 bytes, lowest first: Snapshot.Checksum of the new state
//	per page that differs, ascending by store and index:
//	  place   uvarint: 2·(stores since the last page's) + 1 if an index follows. Without one it is the store's page 0
//	  index   uvarint: pages since the last one of the store, not counting it; of a new store since page 1
//	  words   per word of 8 bytes that differs, upwards, then deltaEnd
//
// A word that differs is a byte, skip<<5 | shift<<3 | length−1, and length bytes. As numbers, the new word is the
// old word plus z << 16·shift. The bytes are z, lowest first, with its sign in the lowest bit: 0, −1, 1, −2.
//
// skip is the number of equal words between this word and the last. From 7 on, it is 7, and a uvarint of the rest
// follows the byte. If the size of a page is not a multiple of 8, its last 8 bytes are padded with zeros.
//
// Words are subtracted instead of combined by exclusive or: a value that moves a little then differs in a few low
// bytes, also across a carry or zero. Compress long deltas: moving entities have no pattern, but spawned ones do.
const deltaFormat = 1

// deltaEnd ends a page. A length of 8 with a shift of 3 is not a word.
const deltaEnd = 3<<3 | 7

// skipMost is the value of skip from which on a uvarint follows.
const skipMost = 7

// AppendDelta appends the difference from the state base to s and returns the extended slice. ApplyDelta turns base
// into exactly s. s must not be older than base. Both are of the same game, of one world or of two. Pages that both
// share cost one comparison of pointers.
func (s *Snapshot) AppendDelta(dst []byte, base *Snapshot) []byte {
	if s.Empty() || base.Empty() || s.image.fingerprint != base.image.fingerprint || s.tick < base.tick {
		panic("image: AppendDelta of snapshots that are empty, of different games or in the wrong order: call it on the newer one")
	}
	dst = append(dst, deltaFormat)
	dst = binary.AppendUvarint(dst, uint64(base.tick))
	dst = binary.AppendUvarint(dst, uint64(s.tick-base.tick))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.Checksum()))
	last, next := 0, 0 // store of the last page that differs, and the index after it
	for p := range apart(base, s, 0, len(s.image.stores)) {
		if p.number != last {
			next = 0
		}
		place := len(dst)
		if p.number != last && p.index == 0 {
			dst = binary.AppendUvarint(dst, uint64(p.number-last)<<1)
		} else {
			dst = binary.AppendUvarint(dst, uint64(p.number-last)<<1|1)
			dst = binary.AppendUvarint(dst, uint64(p.index-max(next, 1)))
		}
		words := len(dst)
		if dst = appendWords(dst, p.old.content(p.bytes), p.now.content(p.bytes)); len(dst) == words {
			dst = dst[:place] // two pages with the same content
			continue
		}
		dst = append(dst, deltaEnd)
		last, next = p.number, p.index+1
	}
	return dst
}

// stretchBytes is the number of bytes that are compared at once before their words: most of a page that differs is
// equal.
const stretchBytes = 128

// appendWords appends the words in which two pages of the same size differ.
func appendWords(dst, old, now []byte) []byte {
	skip, at := 0, 0
	for whole := len(now) &^ 7; at < whole; {
		end := min(at+stretchBytes, whole)
		if bytes.Equal(old[at:end], now[at:end]) {
			skip += (end - at) / 8
			at = end
			continue
		}
		for ; at < end; at += 8 {
			was, is := binary.LittleEndian.Uint64(old[at:]), binary.LittleEndian.Uint64(now[at:])
			if was == is {
				skip++
				continue
			}
			dst = appendWord(dst, skip, is-was)
			skip = 0
		}
	}
	if was, is := partWord(old[at:]), partWord(now[at:]); was != is {
		dst = appendWord(dst, skip, is-was)
	}
	return dst
}

// partWord returns fewer than 8 bytes as a word.
func partWord(b []byte) (word uint64) {
	for i := range b {
		word |= uint64(b[i]) << (8 * i)
	}
	return word
}

// appendWord appends a word that follows skip equal words and has grown by by, which is not 0.
func appendWord(dst []byte, skip int, by uint64) []byte {
	shift := bits.TrailingZeros64(by) / 16
	by = uint64(int64(by) >> (16 * shift))
	z := by<<1 ^ uint64(int64(by)>>63)
	length := (bits.Len64(z) + 7) / 8
	dst = append(dst, byte(min(skip, skipMost)<<5|shift<<3|length-1))
	if skip >= skipMost {
		dst = binary.AppendUvarint(dst, uint64(skip-skipMost))
	}
	dst = binary.LittleEndian.AppendUint64(dst, z)
	return dst[:len(dst)-8+length]
}

var errCutOff = errors.New("cut off in its words")

// applyWords applies the words at the start of b to a page and returns the bytes after them.
func applyWords(page, b []byte) (rest []byte, err error) {
	at := 0
	for {
		if len(b) == 0 {
			return nil, errCutOff
		}
		head := b[0]
		b = b[1:]
		if head == deltaEnd {
			return b, nil
		}
		if skip := uint64(head >> 5); skip < skipMost {
			at += 8 * int(skip)
		} else {
			more, n := binary.Uvarint(b)
			if n <= 0 || more >= uint64(len(page)) {
				return nil, errors.New("a word beyond its page")
			}
			b = b[n:]
			at += 8 * int(skipMost+more)
		}
		length, shift := int(head&7)+1, head>>3&3
		if at >= len(page) {
			return nil, errors.New("a word beyond its page")
		}
		if len(b) < length {
			return nil, errCutOff
		}
		z := partWord(b[:length])
		b = b[length:]
		by := (z>>1 ^ -(z & 1)) << (16 * shift)
		if at+8 <= len(page) {
			binary.LittleEndian.PutUint64(page[at:], binary.LittleEndian.Uint64(page[at:])+by)
		} else {
			part := partWord(page[at:]) + by
			for i := range page[at:] {
				page[at+i] = byte(part >> (8 * i))
			}
		}
		at += 8
	}
}
