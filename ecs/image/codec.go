package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// An encoded image is the whole state as bytes, for late join, checkpoints and recordings. Equal states have equal
// bytes, whatever their history:
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

// imageSparseBytes bounds the pages of zeros that an encoded image needs before the last row in use, beyond its own
// length and the first block of each region.
const imageSparseBytes = 64 << 20

// Errors of Load. ErrImage wraps the place and the fault.
var (
	ErrImage            = errors.New("image: the image is damaged")
	ErrImageFormat      = errors.New("image: this build does not support the format of the image")
	ErrImageFingerprint = errors.New("image: the image is of another game or version")
)

// AppendImage appends the state as bytes and returns the extended slice. It panics for an empty snapshot. Rows
// repeat: compress the bytes before they are sent.
func (s *Snapshot) AppendImage(dst []byte) []byte {
	if s.image == nil {
		panic("image: AppendImage of an empty snapshot: save a world into it first")
	}
	dst = append(dst, imageFormat)
	dst = binary.LittleEndian.AppendUint64(dst, s.image.fingerprint)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.tick))
	for _, st := range s.image.stores {
		count := len(st.pages)
		for count > 0 && s.zeroPage(st, count-1) {
			count--
		}
		dst = binary.AppendUvarint(dst, uint64(count))
		which := len(dst)
		for range (count + 7) / 8 {
			dst = append(dst, 0)
		}
		for i := range count {
			if !s.zeroPage(st, i) {
				dst[which+i/8] |= 1 << (i % 8)
				dst = append(dst, s.page(st, i)...)
			}
		}
	}
	return dst
}

// page returns the content of page i of a store, nil for zeros.
func (s *Snapshot) page(st *store, i int) []byte {
	if pg := s.pageOf(st.info.number, i); pg != nil {
		return pg.mem
	}
	return nil
}

func (s *Snapshot) zeroPage(st *store, i int) bool { return isZero(s.page(st, i)) }

// isZero reports whether all bytes are zero. b is at most one page or row.
func isZero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }

// Load replaces the state by the one that AppendImage encoded, in a world of the same game. All of data is checked
// before the state changes: after an error the state is as before. Call it between ticks.
func (im *Image) Load(data []byte) error {
	p := imageReader{image: im, rest: data}
	if err := p.parse(); err != nil {
		return err
	}
	for i := range im.columns {
		c := &im.columns[i]
		if err := p.checkColumn(c); err != nil {
			return fmt.Errorf("%w: column %q: %w", ErrImage, c.info.name, err)
		}
	}
	if p.sparse > imageSparseBytes {
		return fmt.Errorf("%w: its %d bytes need %d bytes of empty pages, more than %d", ErrImage, len(data), p.sparse, imageSparseBytes)
	}
	p.publish()
	im.afterRestore()
	return nil
}

// publish copies the encoded pages into the live pages.
func (p *imageReader) publish() {
	im := p.image
	for i := range im.columns {
		c := &im.columns[i]
		for o := range c.regions {
			r := &c.regions[o]
			if !c.info.single {
				p.grow(c, r)
			}
			p.copyStore(&r.bits)
			p.copyStore(&r.data)
		}
	}
}

// grow gives a region memory for every row that the encoded image has in it.
func (p *imageReader) grow(c *Column, r *region) {
	presence := &p.stores[r.bits.info.number]
	for k := presence.count*bitsPageWords - 1; k >= 0; k-- {
		if word := presence.word(k); word != 0 {
			top := uint32(k*blockRows + bits.Len64(word) - 1)
			p.image.growBits(r, top)
			p.image.growData(r, c.info, top)
			return
		}
	}
}

func (p *imageReader) copyStore(st *store) {
	im, stored := p.image, &p.stores[st.info.number]
	for i, number := range st.pages {
		want := stored.page(i)
		if want == nil {
			want = zeros[:st.info.bytes]
		}
		if live := &im.live[number]; !bytes.Equal(live.mem, want) {
			im.mark(number)
			copy(live.mem, want)
		}
	}
}
