package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
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
	r := NewReader(s)
	dst = slices.Grow(dst, s.mostImageBytes())
	for b := r.next(); b != nil; b = r.next() {
		dst = append(dst, b...)
	}
	return dst
}

// mostImageBytes returns the size of the encoded image, and more if pages were emptied.
func (s *Snapshot) mostImageBytes() int {
	n := imageHeaderBytes
	for _, st := range s.image.stores {
		n += binary.MaxVarintLen16 + (len(st.pages)+7)/8
	}
	for number, pg := range s.table {
		if pg != nil {
			n += s.image.live[number].store.pool.bytes
		}
	}
	return n
}

// Reader reads a state as the bytes of AppendImage, without an allocation for the whole.
type Reader struct {
	from    *Snapshot
	store   int    // index of the next page's store; −1 before the header
	page    int    // index of the next page in its store
	count   int    // pages of that store up to the last that is not zero
	padding int    // zeros that follow rest
	rest    []byte // to be returned by Read
	scratch []byte
}

// NewReader returns a reader of the state in s, which must be held until the last byte was read. It panics for an empty
// snapshot.
func NewReader(s *Snapshot) *Reader {
	if s.Empty() {
		panic("image: the state of an empty snapshot: save a world into it first")
	}
	return &Reader{from: s, store: -1}
}

// Read reads the next len(p) bytes, fewer at the end. Then it returns io.EOF.
func (r *Reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.rest) == 0 {
			if r.rest = r.next(); r.rest == nil {
				break
			}
		}
		copied := copy(p[n:], r.rest)
		n, r.rest = n+copied, r.rest[copied:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// next returns the next bytes, nil at the end. They are valid until the next call.
func (r *Reader) next() []byte {
	s := r.from
	switch {
	case r.padding > 0:
		b := zeros[:r.padding]
		r.padding = 0
		return b
	case r.store < 0:
		r.scratch = append(r.scratch[:0], imageFormat)
		r.scratch = binary.LittleEndian.AppendUint64(r.scratch, s.image.fingerprint)
		r.scratch = binary.LittleEndian.AppendUint64(r.scratch, uint64(s.tick))
		r.list(0)
		return r.scratch
	}
	for ; r.page < r.count; r.page++ {
		if st := s.image.stores[r.store]; s.hasPage(st, r.page) {
			content := s.pageOf(st.number, r.page).mem
			r.page, r.padding = r.page+1, st.pool.bytes-len(content)
			return content
		}
	}
	if r.store+1 == len(s.image.stores) {
		return nil
	}
	r.scratch = r.scratch[:0]
	r.list(r.store + 1)
	return r.scratch
}

// list appends the list of a store's pages to scratch, and makes its first page the next.
func (r *Reader) list(store int) {
	s, st := r.from, r.from.image.stores[store]
	r.store, r.page, r.count = store, 0, len(st.pages)
	for r.count > 0 && !s.hasPage(st, r.count-1) {
		r.count--
	}
	r.scratch = binary.AppendUvarint(r.scratch, uint64(r.count))
	which := len(r.scratch)
	r.scratch = append(r.scratch, make([]byte, (r.count+7)/8)...)
	for i := range r.count {
		if s.hasPage(st, i) {
			r.scratch[which+i/8] |= 1 << (i % 8)
		}
	}
}

// hasPage reports whether page i of a store is not zero.
func (s *Snapshot) hasPage(st *store, i int) bool {
	pg := s.pageOf(st.number, i)
	return pg != nil && !isZero(pg.mem)
}

// isZero reports whether all bytes are zero. b is at most one page or row.
func isZero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }

// Load replaces the state by the one that AppendImage encoded, in a world of the same game. All of data is checked before
// the state changes: after an error the state is as before. Call it between ticks.
func (im *Image) Load(data []byte) error { return im.load(data, nil) }

// LoadOwned is Load for data that the caller does not use again. If most of data is new, its memory becomes that of pages,
// unless the image has unused pages. After an error it is not kept.
func (im *Image) LoadOwned(data []byte) error { return im.load(data, data) }

func (im *Image) load(data, owned []byte) error {
	in := &im.incoming
	in.image, in.whole, in.owned = im, true, owned
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
	if err := im.LoadOwned(s.AppendImage(nil)); err != nil {
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
	in.image.saveDirty(&Snapshot{}) // marked pages have a base that equals them from here on
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
			long := st.pool.isLong(mem)
			if (!long || st.pool.short == nil) && isZero(mem) {
				return errors.New("a stored page is zero")
			}
			p.now = base
			if base != nil && isContent(base.mem, mem) {
				base.refs++
			} else {
				p.now = &page{mem: mem} // publish copies or moves it
				if long {
					in.long += len(mem)
				}
			}
			in.added += len(mem)
		} else if base == nil {
			continue
		}
		in.pages = append(in.pages, p)
	}
	return nil
}
