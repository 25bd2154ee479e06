package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// An encoded image is the whole state as bytes, for late join, checkpoints and recordings. Equal states have equal bytes,
// whatever their history:
//
//	format       1 byte, imageFormat
//	fingerprint  8 bytes, lowest first: ecs.Game.Fingerprint
//	tick         8 bytes, lowest first
//	per store    in the order of their numbers:
//	  count      uvarint: pages up to the last that is not zero
//	  which      ⌈count/8⌉ bytes: bit i is set if page i is not zero and follows
//	  pages      the pages that are not zero, upwards
//
// Pages of zeros are not stored, whether they were emptied or never written.
const imageFormat = 1

const imageHeaderBytes = 1 + 8 + 8

// imageSparseBytes bounds the pages of zeros that an encoded image needs before the last row in use, beyond its own length
// and the first block of each region.
const imageSparseBytes = 64 << 20

// Errors of Load. ErrImage wraps the place and the fault.
var (
	ErrImage            = errors.New("image: the image is damaged")
	ErrImageFormat      = errors.New("image: this build does not support the format of the image")
	ErrImageFingerprint = errors.New("image: the image is of another game or version")
)

// AppendImage appends the state as bytes and returns the extended slice. It panics for an empty snapshot. Rows repeat:
// compress the bytes before they are sent.
func (s *Snapshot) AppendImage(dst []byte) []byte {
	if s.image == nil {
		panic("image: AppendImage of an empty snapshot: save a world into it first")
	}
	dst = append(dst, imageFormat)
	dst = binary.LittleEndian.AppendUint64(dst, s.image.fingerprint)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.tick))
	for _, st := range s.image.stores {
		held := func(i int) bool {
			pg := s.pageOf(st.number, i)
			return pg != nil && !isZero(pg.mem)
		}
		count := len(st.pages)
		for count > 0 && !held(count-1) {
			count--
		}
		dst = binary.AppendUvarint(dst, uint64(count))
		which := len(dst)
		dst = append(dst, make([]byte, (count+7)/8)...)
		for i := range count {
			if held(i) {
				dst[which+i/8] |= 1 << (i % 8)
				dst = append(dst, s.pageOf(st.number, i).mem...)
				dst = append(dst, zeros[:st.pool.bytes-len(s.pageOf(st.number, i).mem)]...)
			}
		}
	}
	return dst
}

// isZero reports whether all bytes are zero. b is at most one page or row.
func isZero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }

// Load replaces the state by the one that AppendImage encoded, in a world of the same game. All of data is checked before
// the state changes: after an error the state is as before. Call it between ticks.
func (im *Image) Load(data []byte) error {
	in := &im.incoming
	in.image, in.whole = im, true
	defer in.release()
	if err := in.readImage(data); err != nil {
		return err
	}
	return in.accept(0, ErrImage)
}

// Copy replaces the state by the one in s, which may be of another world of the same game. It also copies that world's source
// of older states: see SetPast. It fails for a snapshot that is empty or of another game.
func (im *Image) Copy(s *Snapshot) error {
	if s.Empty() {
		return fmt.Errorf("%w: the snapshot is empty", ErrImage)
	}
	if err := im.Load(s.AppendImage(nil)); err != nil {
		return err
	}
	im.sight.past, im.sight.saved = s.image.sight.past, s.image.sight.saved
	return nil
}

// readImage reads an encoded image. Pages of the world that the image does not list become zeros.
func (in *incoming) readImage(data []byte) error {
	if len(data) < imageHeaderBytes {
		return fmt.Errorf("%w: %d bytes are less than its header", ErrImage, len(data))
	}
	if data[0] != imageFormat {
		return fmt.Errorf("%w: %d, want %d", ErrImageFormat, data[0], imageFormat)
	}
	if got := binary.LittleEndian.Uint64(data[1:]); got != in.image.fingerprint {
		return fmt.Errorf("%w: fingerprint %x, want %x", ErrImageFingerprint, got, in.image.fingerprint)
	}
	in.image.saveDirty() // marked pages have a base that equals them from here on
	in.from, in.to, in.rest = 0, Tick(binary.LittleEndian.Uint64(data[9:])), data[imageHeaderBytes:]
	for _, st := range in.image.stores {
		if err := in.readStore(st); err != nil {
			return fmt.Errorf("%w: %w", ErrImage, st.fault(err))
		}
	}
	if len(in.rest) > 0 {
		return fmt.Errorf("%w: %d bytes after its end", ErrImage, len(in.rest))
	}
	return nil
}

func (in *incoming) readStore(st *store) error {
	count, n := binary.Uvarint(in.rest)
	if n <= 0 || n > 1 && in.rest[n-1] == 0 {
		return errors.New("its page count is not a number in its shortest form")
	}
	if count > uint64(st.mostPages()) {
		return fmt.Errorf("%d pages, more than its %d", count, st.mostPages())
	}
	in.rest = in.rest[n:]
	pages, listed := int(count), (int(count)+7)/8
	if len(in.rest) < listed {
		return errors.New("cut off in its list of pages")
	}
	which := in.rest[:listed]
	in.rest = in.rest[listed:]
	if pages > 0 && bits.Len8(which[listed-1]) != (pages-1)%8+1 {
		return errors.New("its list of pages ends with a zero page or has extra bits")
	}
	for i := range max(pages, len(st.pages)) {
		var base *page
		if i < len(st.pages) {
			base = in.image.live[st.pages[i]].base
		}
		p := pagePair{store: st, index: i}
		if i < pages && which[i/8]>>(i%8)&1 != 0 {
			if len(in.rest) < st.pool.bytes {
				return errors.New("cut off in its pages")
			}
			mem := in.rest[:st.pool.bytes]
			in.rest = in.rest[st.pool.bytes:]
			if isZero(mem) {
				return errors.New("a stored page is zero")
			}
			p.now = base
			if base != nil && isContent(base.mem, mem) {
				base.refs++
			} else {
				p.now = &page{mem: mem} // publish copies it
			}
			in.added += len(mem)
		} else if base == nil {
			continue
		}
		in.pages = append(in.pages, p)
	}
	return nil
}
