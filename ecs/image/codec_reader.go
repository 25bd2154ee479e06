package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unsafe"
)

// imageReader checks an encoded image.
type imageReader struct {
	image  *Image
	rest   []byte
	tick   Tick
	stores []storedPages // by store number
	sparse int           // bytes of zero pages that the image needs
}

// storedPages are the pages of one store in an encoded image.
type storedPages struct {
	count int
	which []byte
	pages []byte
	bytes int // in a page
	// cursor: held is the number of pages below at that are not zero
	at, held int
}

func (p *imageReader) parse() error {
	if len(p.rest) < imageHeaderBytes {
		return fmt.Errorf("%w: %d bytes are less than its header", ErrImage, len(p.rest))
	}
	if p.rest[0] != imageFormat {
		return fmt.Errorf("%w: %d, want %d", ErrImageFormat, p.rest[0], imageFormat)
	}
	if got := binary.LittleEndian.Uint64(p.rest[1:]); got != p.image.fingerprint {
		return fmt.Errorf("%w: fingerprint %x, want %x", ErrImageFingerprint, got, p.image.fingerprint)
	}
	p.tick = Tick(binary.LittleEndian.Uint64(p.rest[9:]))
	p.rest = p.rest[imageHeaderBytes:]
	p.stores = make([]storedPages, len(p.image.stores))
	for i, st := range p.image.stores {
		if err := p.parseStore(&p.stores[i], st.info); err != nil {
			return fmt.Errorf("%w: column %q of owner %d: %w", ErrImage, st.info.column.name, st.info.owner, err)
		}
	}
	if len(p.rest) > 0 {
		return fmt.Errorf("%w: %d bytes after its end", ErrImage, len(p.rest))
	}
	return nil
}

// mostPages returns the largest number of pages that a store can have.
func (s *storeInfo) mostPages() int {
	switch {
	case s.bytes == 0 || s.column.single && s.isBits:
		return 0
	case s.column.single:
		return 1
	case s.isBits:
		return regionRows / (blockRows * bitsPageWords)
	}
	return regionRows >> s.column.shift
}

func (p *imageReader) parseStore(s *storedPages, info *storeInfo) error {
	count, n := binary.Uvarint(p.rest)
	if n <= 0 || n > 1 && p.rest[n-1] == 0 {
		return errors.New("its page count is not a number in its shortest form")
	}
	p.rest = p.rest[n:]
	if count > uint64(info.mostPages()) {
		return fmt.Errorf("%d pages, more than its %d", count, info.mostPages())
	}
	s.count, s.bytes = int(count), info.bytes
	if len(p.rest) < (s.count+7)/8 {
		return errors.New("cut off in its list of pages")
	}
	s.which, p.rest = p.rest[:(s.count+7)/8], p.rest[(s.count+7)/8:]
	if s.count > 0 && bits.Len8(s.which[len(s.which)-1]) != (s.count-1)%8+1 {
		return errors.New("its list of pages ends with a zero page or has extra bits")
	}
	held := 0
	for _, b := range s.which {
		held += bits.OnesCount8(b)
	}
	if len(p.rest)/max(1, s.bytes) < held {
		return errors.New("cut off in its pages")
	}
	s.pages, p.rest = p.rest[:held*s.bytes], p.rest[held*s.bytes:]
	for at := 0; at < len(s.pages); at += s.bytes {
		if isZero(s.pages[at : at+s.bytes]) {
			return errors.New("a stored page is zero")
		}
	}
	return nil
}

// page returns page i, nil for zeros. Ascending calls cost nothing.
func (s *storedPages) page(i int) []byte {
	if i >= s.count {
		return nil
	}
	if i < s.at {
		s.at, s.held = 0, 0
	}
	for ; s.at < i; s.at++ {
		s.held += int(s.which[s.at/8] >> (s.at % 8) & 1)
	}
	if s.which[i/8]>>(i%8)&1 == 0 {
		return nil
	}
	return s.pages[s.held*s.bytes : (s.held+1)*s.bytes]
}

// word returns presence word k.
func (s *storedPages) word(k int) uint64 {
	if pg := s.page(k / bitsPageWords); pg != nil {
		return binary.LittleEndian.Uint64(pg[k%bitsPageWords*8:])
	}
	return 0
}

// checkColumn checks the encoded rows of a column.
func (p *imageReader) checkColumn(c *Column) error {
	if c.info.single {
		return p.checkSingle(c)
	}
	for o := range c.regions {
		if err := p.checkRegion(c, &c.regions[o], Owner(o)); err != nil {
			return fmt.Errorf("owner %d: %w", o, err)
		}
	}
	return nil
}

func (p *imageReader) checkSingle(c *Column) error {
	if c.info.stride == 0 {
		return nil
	}
	row := p.stores[c.regions[0].data.info.number].page(0)
	if row == nil {
		row = zeros[:c.info.stride]
	}
	return p.image.checkSingle(c.info, row, p.tick)
}

// checkSingle checks the row of a resource or of an engine's column, in a state of this tick.
func (im *Image) checkSingle(info *columnInfo, row []byte, tick Tick) error {
	switch info.index {
	case columnCore:
		return im.checkCore(row, tick)
	case columnInputs:
		return im.checkInputs(row)
	}
	return faultIn(info.layout, row)
}

func (im *Image) checkCore(row []byte, tick Tick) error {
	if err := faultIn(im.columns[columnCore].info.layout, row); err != nil {
		return err
	}
	var c core
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&c)), unsafe.Sizeof(c)), row)
	if c.Tick != tick {
		return fmt.Errorf("tick %d, but %d in its header", c.Tick, tick)
	}
	if most := im.schema.MaxPlayers; bits.Len64(c.Players) > most {
		return fmt.Errorf("player %d in a game of %d", bits.Len64(c.Players)-1, most)
	}
	return nil
}

func (im *Image) checkInputs(row []byte) error {
	g := im.schema
	size := g.Input.Size()
	for i := range 2 * g.MaxPlayers {
		var in InputBytes
		copy(in[:], row[i*size:(i+1)*size])
		if !g.Input.Valid(in) {
			return fmt.Errorf("the input of player %d has bytes that no program could have stored", i%g.MaxPlayers)
		}
	}
	return nil
}

// checkRegion checks one owner's rows of a column: a row is stored for every presence bit, and no others.
func (p *imageReader) checkRegion(c *Column, r *region, o Owner) error {
	bitPages, data := &p.stores[r.bits.info.number], &p.stores[r.data.info.number]
	identity := &p.stores[p.image.identity().regions[o].bits.info.number]
	isIdentity := c.info.index == columnIdentity
	words := bitPages.count * bitsPageWords
	top := 0 // rows up to the last in use
	for k := range words {
		word := bitPages.word(k)
		if word == 0 {
			continue
		}
		if err := checkWord(word, identity.word(k), o, k); err != nil {
			return err
		}
		top = k*blockRows + bits.Len64(word)
	}
	if c.info.stride == 0 {
		p.sparse += bitPages.zeros()
		return nil
	}
	perPage := 1 << c.info.shift
	pages := (top + perPage - 1) / perPage
	if data.count > pages {
		return fmt.Errorf("%d pages of rows, but no presence beyond page %d", data.count, pages)
	}
	p.sparse += bitPages.zeros() + data.zeros() + (pages-data.count)*data.bytes
	for i := range pages {
		page := data.page(i)
		if page == nil && !isIdentity {
			continue // rows of zeros are rows of any component
		}
		if page == nil {
			page = zeros[:data.bytes]
		}
		if err := p.checkPage(c, page, i<<c.info.shift, o, bitPages); err != nil {
			return err
		}
	}
	return nil
}

// zeros returns the bytes of pages that the store has without content.
func (s *storedPages) zeros() int { return s.count*s.bytes - len(s.pages) }

// checkWord checks presence word k of an owner's rows. entities are the rows of the word that have an entity.
func checkWord(word, entities uint64, o Owner, k int) error {
	if stray := word &^ entities; stray != 0 {
		return fmt.Errorf("row %d has the component, but no entity is there", k*blockRows+bits.TrailingZeros64(stray))
	}
	if o == OwnedByWorld && k == 0 && word&1 != 0 {
		return errors.New("row 0, which is no entity, is in use")
	}
	return nil
}

// checkPage checks the rows of one page. first is the row number of its first row.
func (p *imageReader) checkPage(c *Column, page []byte, first int, o Owner, presence *storedPages) error {
	stride := int(c.info.stride)
	for at := 0; at < len(page); at += stride {
		i := first + at/stride
		present := presence.word(i/blockRows)>>(i%blockRows)&1 != 0
		if err := c.info.checkRow(page[at:at+stride], i, o, present, p.tick); err != nil {
			return err
		}
	}
	return nil
}

// checkRow checks row i of an owner in a state of this tick. present is the row's presence bit.
func (c *columnInfo) checkRow(row []byte, i int, o Owner, present bool, tick Tick) error {
	if !present {
		if !isZero(row) {
			return fmt.Errorf("row %d is not in use and not zero", i)
		}
		return nil
	}
	if err := faultIn(c.layout, row); err != nil {
		return fmt.Errorf("row %d: %w", i, err)
	}
	if c.index != columnIdentity {
		return nil
	}
	want, born := uint32(o)<<regionShift|uint32(i), Tick(binary.LittleEndian.Uint64(row[8:]))
	if got := binary.LittleEndian.Uint32(row); got != want {
		return fmt.Errorf("row %d has the number %d, want %d", i, got, want)
	}
	if born > tick {
		return fmt.Errorf("row %d is born in tick %d, after the image's %d", i, born, tick)
	}
	return nil
}

// faultIn returns an error for bytes that no row of the layout can have.
func faultIn(l *layout, row []byte) error {
	if path, ok := l.checkRow(row); !ok {
		return fmt.Errorf("%s has bytes that no program could have stored", path)
	}
	return nil
}
