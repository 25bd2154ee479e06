package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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
// A word that differs is a byte, skip<<5 | shift<<3 | length−1, and length bytes. As numbers, the new word is the old word
// plus z << 16·shift. The bytes are z, lowest first, with its sign in the lowest bit: 0, −1, 1, −2.
//
// skip is the number of equal words between this word and the last. From 7 on, it is 7, and a uvarint of the rest follows
// the byte. If the size of a page is not a multiple of 8, its last 8 bytes are padded with zeros.
//
// Words are subtracted instead of combined by exclusive or: a value that moves a little then differs in a few low bytes,
// also across a carry or zero. Compress long deltas: moving entities have no pattern, but spawned ones do.
const deltaFormat = 1

// deltaEnd ends a page. A length of 8 with a shift of 3 is not a word.
const deltaEnd = 3<<3 | 7

// skipMost is the value of skip from which on a uvarint follows.
const skipMost = 7

// Errors of ApplyDelta. ErrDelta wraps the place and the fault.
var (
	ErrDelta       = errors.New("image: the delta is damaged")
	ErrDeltaFormat = errors.New("image: this build does not support the format of the delta")
	ErrDeltaBase   = errors.New("image: the delta has another base than this state")
)

// AppendDelta appends the difference from the state base to s and returns the extended slice. ApplyDelta turns base into
// exactly s. s must not be older than base. Both are of the same game, of one world or of two. Pages that both share cost
// one comparison of pointers.
func (s *Snapshot) AppendDelta(dst []byte, base *Snapshot) []byte {
	if s.Empty() || base.Empty() || s.image.fingerprint != base.image.fingerprint || s.tick < base.tick {
		panic("image: AppendDelta of snapshots that are empty, of different games or in the wrong order: call it on the newer one")
	}
	dst = append(dst, deltaFormat)
	dst = binary.AppendUvarint(dst, uint64(base.tick))
	dst = binary.AppendUvarint(dst, uint64(s.tick-base.tick))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.Checksum()))
	last, next := 0, 0 // store of the last page that differs, and the index after it
	for p := range apart(base, s, s.image.stores) {
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
		old, now := p.contents()
		if len(old) == len(now) {
			dst = appendWords(dst, old, now)
		} else {
			dst = appendUneven(dst, old, now)
		}
		if len(dst) == words {
			dst = dst[:place] // two pages with the same content
			continue
		}
		dst = append(dst, deltaEnd)
		last, next = p.number, p.index+1
	}
	return dst
}

// stretchBytes is the number of bytes that are compared at once before their words: most of a page that differs is equal.
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

// appendUneven is appendWords for two pages whose starts have different sizes.
func appendUneven(dst, old, now []byte) []byte {
	var wide [pageBytes]byte
	return appendWords(dst, extend(old, len(now), &wide), extend(now, len(old), &wide))
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

// DeltaTicks returns the ticks of a delta's base and of its new state. ok is false for bytes that are not a delta.
func DeltaTicks(delta []byte) (base, tick Tick, ok bool) {
	var in incoming
	err := in.readHeader(delta)
	return in.from, in.to, err == nil
}

// ApplyDelta turns the state, which must be the base of AppendDelta, into the newer one. All is checked before the state
// changes: after an error the state is as before. As for Load, at most 64 MiB of pages may be empty. Call it between ticks.
//
// Afterwards the world has no events, and derived data is built again when it is next used.
func (im *Image) ApplyDelta(delta []byte) error {
	in := &im.incoming
	in.image = im
	defer in.release()
	if err := in.readHeader(delta); err != nil {
		return err
	}
	if in.from != im.Tick() {
		return fmt.Errorf("%w: its base is tick %d, the world is in tick %d", ErrDeltaBase, in.from, im.Tick())
	}
	im.saveDirty(&Snapshot{}) // marked pages have a base that equals them from here on
	if err := in.readPages(); err != nil {
		return fmt.Errorf("%w: %w", ErrDelta, err)
	}
	SectionChecksum.Enter(im.observer)
	sum, empty := in.result()
	SectionChecksum.Leave(im.observer)
	if sum != in.checksum {
		return fmt.Errorf("%w: the result has checksum %x, not %x", ErrDeltaBase, uint64(sum), uint64(in.checksum))
	}
	return in.accept(empty, ErrDelta)
}

func (in *incoming) readHeader(delta []byte) error {
	if len(delta) == 0 || delta[0] != deltaFormat {
		return ErrDeltaFormat
	}
	in.reader = reader{rest: delta[1:]}
	from := in.uvarint(math.MaxUint64)
	ticks := in.uvarint(math.MaxUint64 - from)
	if in.failed || len(in.rest) < 8 {
		return fmt.Errorf("%w: its header is cut off or its ticks overflow", ErrDelta)
	}
	in.from, in.to = Tick(from), Tick(from+ticks)
	in.checksum, in.rest = Checksum(binary.LittleEndian.Uint64(in.rest)), in.rest[8:]
	return nil
}

// readPages makes the pages of the new state. Each page of the image occurs at most once. Pages that the image does not
// have may take imageSparseBytes.
func (in *incoming) readPages() error {
	stores := in.image.stores
	number, next := uint64(0), uint64(0)
	for len(in.rest) > 0 {
		place := in.uvarint(math.MaxUint64)
		if in.failed || place>>1 >= uint64(len(stores))-number {
			return errors.New("a page of a store that does not exist")
		}
		if place>>1 > 0 {
			number, next = number+place>>1, 0
		} else if place == 0 && next > 0 {
			return errors.New("a page before the last one")
		}
		st, index := stores[number], uint64(0)
		if place&1 != 0 {
			index = max(next, 1) + in.uvarint(regionRows)
			if in.failed {
				return errors.New("a page number that is cut off or too large")
			}
		}
		if err := in.readPage(st, int(index)); err != nil {
			return st.fault(fmt.Errorf("page %d: %w", index, err))
		}
		next = index + 1
	}
	return nil
}

func (in *incoming) readPage(st *store, index int) (err error) {
	if index >= st.mostPages() {
		return fmt.Errorf("the store has at most %d", st.mostPages())
	}
	p := pagePair{store: st, index: index, now: st.pool.allocate()}
	isNew := index >= len(st.pages)
	if !isNew {
		p.old = in.image.live[st.pages[index]].base
	}
	clear(p.now.mem[copy(p.now.mem, p.old.content()):])
	in.pages = append(in.pages, p)
	if in.rest, err = applyWords(p.now.mem, in.rest); err != nil || !isNew {
		return err
	}
	if isZero(p.now.mem) {
		return errors.New("a page that the world does not have is zero")
	}
	if in.added += st.pool.bytes; in.added > imageSparseBytes {
		return fmt.Errorf("more than %d bytes of pages that the world does not have", imageSparseBytes)
	}
	return nil
}

// result returns the checksum of the new state, and how many bytes of pages are empty in the old one.
func (in *incoming) result() (sum Checksum, empty int) {
	live := in.image.live
	for i := range live {
		p := &live[i]
		share := p.base.checksum(p.salt)
		sum += Checksum(share)
		if share == 0 {
			empty += cap(p.mem)
		}
	}
	for i := range in.pages {
		p := &in.pages[i]
		salt := p.salt(p.index)
		sum += Checksum(p.now.checksum(salt)) - Checksum(p.old.checksum(salt))
	}
	return sum, empty
}
