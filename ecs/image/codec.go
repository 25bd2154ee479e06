package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// The image as bytes, for late join, checkpoints and recordings. Equal states give equal bytes, whatever their
// history:
//
//	format       1 byte, imageFormat
//	fingerprint  8 bytes, lowest first: Game.Fingerprint
//	tick         8 bytes, lowest first
//	per store    in order of their numbers:
//	  count      uvarint: pages up to the last that is not zero
//	  which      ⌈count/8⌉ bytes: bit i says that page i is not zero, and follows
//	  pages      the pages that are not zero, upwards
//
// Pages that were emptied and pages that never were count the same: as zero.
const imageFormat = 1

const imageHeaderBytes = 1 + 8 + 8

// imageSparseBytes bounds the memory that an image may ask for beyond its own length and the first block of each
// region: pages of zeros that lie before the last row in use.
const imageSparseBytes = 64 << 20

// Errors of LoadImage. Those about content are ErrImage with the place and the fault.
var (
	ErrImage            = errors.New("ecs: the image is damaged")
	ErrImageFormat      = errors.New("ecs: the image has a format that this build does not know")
	ErrImageFingerprint = errors.New("ecs: the image is of another game or of another version of it")
)

// AppendImage appends the state as bytes and returns the extended slice. Compress what is sent: rows repeat.
func (s *Snapshot) AppendImage(dst []byte) []byte {
	if s.image == nil {
		panic("ecs: AppendImage of an empty snapshot: save a world into it first")
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

// Load makes the world's state the one that data holds, as AppendImage wrote it for a world of the same game.
// Everything is checked before anything is changed: on an error the world is as it was. Call it between ticks.
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
		return fmt.Errorf("%w: its %d bytes ask for %d bytes of empty pages, more than %d", ErrImage, len(data), p.sparse, imageSparseBytes)
	}
	p.publish()
	im.afterRestore()
	return nil
}

// publish makes the live pages those of the image.
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

// grow gives a region memory for every row that the image has in it.
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
