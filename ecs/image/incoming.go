package image

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"
)

// reader reads numbers from bytes. After an error it returns zeros, and failed is set.
type reader struct {
	rest   []byte
	failed bool
}

// uvarint reads a number. It fails if the number is cut off or larger than most.
func (r *reader) uvarint(most uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > most || r.failed {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// incoming is an encoded image or delta while it is read and checked: the pages in which the new state differs. It is
// scratch of the image and holds no page between calls.
type incoming struct {
	reader
	image    *Image
	whole    bool // an encoded image: the old state is empty, and pages alias the bytes that were read
	from, to Tick
	checksum Checksum
	pages    []newPage // ascending by store and index
	found    int       // position in pages of the page that was found last
	added    int       // bytes of pages that the old state does not have
}

// newPage is a page of the new state. In a delta now has one reference.
type newPage struct {
	store *store
	index int
	old   *page // nil for zeros
	now   *page
}

// release frees the pages that were not published.
func (in *incoming) release() {
	for i := range in.pages {
		if !in.whole {
			in.pages[i].now.release()
		}
	}
	clear(in.pages)
	in.pages, in.reader, in.added = in.pages[:0], reader{}, 0
}

func (s *storeInfo) mostPages() int {
	switch {
	case s.bytes == 0 || s.column.single && s.isBits:
		return 0
	case s.column.single:
		return 1
	case s.isBits:
		return regionRows / (BlockRows * bitsPageWords)
	}
	return regionRows >> s.column.shift
}

func (s *storeInfo) fault(err error) error {
	return fmt.Errorf("column %q of owner %d: %w", s.column.name, s.owner, err)
}

// check checks the pages that differ; the others are correct. empty is the number of bytes of pages that are empty in the
// old state.
func (in *incoming) check(empty int) error {
	if in.from != in.to && (len(in.pages) == 0 || in.pages[0].store.info.column.index != columnCore) {
		return fmt.Errorf("%d ticks, but the same one in the state", in.to-in.from)
	}
	for i := range in.pages {
		p := &in.pages[i]
		var err error
		switch info := p.store.info; {
		case info.isBits:
			err = in.checkPresence(p)
		case info.column.index == columnCore:
			err = in.checkCore(p.now.mem)
		case info.column.index == columnInputs:
			err = in.checkInputs(p.now.mem)
		case info.column.single:
			err = info.column.layout.check(p.now.mem)
		default:
			err = in.checkRows(p)
		}
		if err != nil {
			return p.store.info.fault(err)
		}
	}
	if grown := in.growth(); grown > 0 && empty+grown-in.added > imageSparseBytes {
		return fmt.Errorf("%d bytes of pages are needed, which leaves more than %d bytes of pages empty", grown, imageSparseBytes)
	}
	return nil
}

func (in *incoming) checkCore(row []byte) error {
	if err := in.image.columns[columnCore].info.layout.check(row); err != nil {
		return err
	}
	var c core
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&c)), unsafe.Sizeof(c)), row)
	if c.Tick != in.to {
		return fmt.Errorf("tick %d, but %d in its header", c.Tick, in.to)
	}
	if n, most := bits.Len64(uint64(c.Players)), in.image.schema.MaxPlayers; n > most {
		return fmt.Errorf("player %d in a game of %d", n-1, most)
	}
	return nil
}

func (in *incoming) checkInputs(row []byte) error {
	s := in.image.schema
	size := s.Input.Size()
	for i := range 2 * s.MaxPlayers {
		var input InputBytes
		copy(input[:], row[i*size:(i+1)*size])
		if !s.Input.Valid(input) {
			return fmt.Errorf("the input of player %d has bytes that no program could have stored", i%s.MaxPlayers)
		}
	}
	return nil
}

func (in *incoming) checkRows(p *newPage) error {
	info, stride := p.store.info, int(p.store.info.column.stride)
	old, first := p.old.content(info.bytes), p.index<<info.column.shift
	for at := 0; at < info.bytes; at += stride {
		row, i := p.now.mem[at:at+stride], first+at/stride
		if bytes.Equal(row, old[at:at+stride]) {
			continue
		}
		present := in.word(info.column, info.owner, i/BlockRows)>>(i%BlockRows)&1 != 0
		if err := info.column.checkRow(row, i, info.owner, present, in.to); err != nil {
			return err
		}
	}
	return nil
}

func (in *incoming) checkPresence(p *newPage) error {
	column, o := p.store.info.column, p.store.info.owner
	for i := range bitsPageWords {
		k := p.index*bitsPageWords + i
		is := wordOf(p.now.mem, i)
		changed := is ^ wordOf(p.old.content(len(p.now.mem)), i)
		if changed == 0 {
			continue
		}
		if stray := is &^ in.word(in.image.columns[columnIdentity].info, o, k); stray != 0 {
			return fmt.Errorf("row %d has the component, but no entity is there", k*BlockRows+bits.TrailingZeros64(stray))
		}
		if o == OwnedByWorld && k == 0 && is&1 != 0 {
			return errors.New("row 0, which is no entity, is in use")
		}
		if column.index == columnIdentity && !in.whole { // an image lists the presence of every component
			for c := engineColumns; c < len(in.image.columns); c++ {
				if other := in.image.columns[c].info; !other.single && in.word(other, o, k)&^is != 0 {
					return fmt.Errorf("an entity of rows %d to %d is removed and has component %q", k*BlockRows, k*BlockRows+BlockRows-1, other.name)
				}
			}
		}
		for ; changed != 0 && column.stride > 0; changed &= changed - 1 {
			row := k*BlockRows + bits.TrailingZeros64(changed)
			if err := column.checkRow(in.row(column, o, row), row, o, is&(changed&-changed) != 0, in.to); err != nil {
				return err
			}
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
	if err := c.layout.check(row); err != nil {
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

// page returns the content of page i of a store in the new state.
func (in *incoming) page(st *store, i int) []byte {
	if n := in.found; n >= len(in.pages) || in.pages[n].store != st || in.pages[n].index != i {
		n, found := slices.BinarySearchFunc(in.pages, newPage{store: st, index: i}, func(a, b newPage) int {
			return cmp.Or(cmp.Compare(a.store.info.number, b.store.info.number), cmp.Compare(a.index, b.index))
		})
		switch {
		case found:
			in.found = n
		case !in.whole && i < len(st.pages):
			return in.image.live[st.pages[i]].base.content(st.info.bytes)
		default:
			return zeros[:st.info.bytes]
		}
	}
	return in.pages[in.found].now.mem
}

func (in *incoming) word(c *columnInfo, o Owner, k int) uint64 {
	return wordOf(in.page(&in.image.columns[c.index].regions[o].bits, k/bitsPageWords), k%bitsPageWords)
}

func (in *incoming) row(c *columnInfo, o Owner, i int) []byte {
	pg := in.page(&in.image.columns[c.index].regions[o].data, i>>c.shift)
	return pg[i&(1<<c.shift-1)*int(c.stride):][:c.stride]
}

// growth returns the number of bytes of pages by which the new state is larger than the old one. Every row up to the last in
// use has memory.
func (in *incoming) growth() (total int) {
	var last *store
	for i := len(in.pages) - 1; i >= 0; i-- { // the last page with rows in use of each store counts
		p := &in.pages[i]
		top, ok := p.top()
		if !ok || p.store == last {
			continue
		}
		last = p.store
		info := last.info
		presence, rows := p.index+1, 0
		if info.column.stride > 0 {
			rows = int(top>>info.column.shift) + 1
		}
		if !in.whole {
			r := &in.image.columns[info.column.index].regions[info.owner]
			presence, rows = presence-len(r.bits.pages), rows-len(r.data.pages)
		}
		total += max(0, presence)*info.bytes + max(0, rows)*info.column.pool.bytes
	}
	return total
}

// top returns the highest row in use by a page of presence bits. ok is false if there is none, or if it is a page of rows.
func (p *newPage) top() (row uint32, ok bool) {
	if !p.store.info.isBits {
		return 0, false
	}
	for i := bitsPageWords - 1; i >= 0; i-- {
		if word := wordOf(p.now.mem, i); word != 0 {
			return uint32((p.index*bitsPageWords+i)*BlockRows + bits.Len64(word) - 1), true
		}
	}
	return 0, false
}

// publish makes the new state the image's. As after a save, each page that a delta changes becomes the base of its live
// page.
func (in *incoming) publish() {
	im := in.image
	for i := range in.pages {
		p := &in.pages[i]
		if top, ok := p.top(); ok {
			c := &im.columns[p.store.info.column.index]
			im.makeRoom(&c.regions[p.store.info.owner], c.info, top)
		}
		if !in.whole {
			live := &im.live[p.store.pages[p.index]]
			copy(live.mem, p.now.mem)
			live.base, p.now = p.now, live.base // release frees the page that was the base
		}
	}
	if !in.whole {
		return
	}
	for number := range im.live {
		p := &im.live[number]
		if want := in.page(p.store, int(p.index)); !bytes.Equal(p.mem, want) {
			im.mark(uint32(number))
			copy(p.mem, want)
		}
	}
}
