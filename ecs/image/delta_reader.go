package image

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Errors of ApplyDelta. ErrDelta wraps the place and the fault.
var (
	ErrDelta       = errors.New("image: the delta is damaged")
	ErrDeltaFormat = errors.New("image: this build does not support the format of the delta")
	ErrDeltaBase   = errors.New("image: the delta has another base than this state")
)

// deltaReader checks a delta. It is scratch of the image and holds no page between calls.
type deltaReader struct {
	image    *Image
	rest     []byte
	from, to Tick
	checksum Checksum
	pages    []deltaPage // ascending by store and index
	added    int         // bytes of pages that the image does not have yet
}

// deltaPage is a page that a delta changes. now has one reference.
type deltaPage struct {
	store *store
	index int
	old   *page // nil for zeros
	now   *page
}

// DeltaTicks returns the ticks of a delta's base and of its new state. ok is false for bytes that are not a delta.
func DeltaTicks(delta []byte) (base, tick Tick, ok bool) {
	var d deltaReader
	err := d.header(delta)
	return d.from, d.to, err == nil
}

// ApplyDelta turns the state, which must be the base of AppendDelta, into the newer one. All is checked before the
// state changes: after an error the state is as before. As for Load, at most 64 MiB of pages may be empty. Call it
// between ticks.
//
// Afterwards the world has no events, and derived data is built again when it is next used.
func (im *Image) ApplyDelta(delta []byte) error {
	d := &im.delta
	d.image = im
	defer d.release()
	if err := d.header(delta); err != nil {
		return err
	}
	if d.from != im.Tick() {
		return fmt.Errorf("%w: its base is tick %d, the world is in tick %d", ErrDeltaBase, d.from, im.Tick())
	}
	im.saveDirty() // marked pages have a base that equals them from here on
	if err := d.readPages(); err != nil {
		return err
	}
	SectionChecksum.Enter(im.observer)
	sum, empty := d.result()
	SectionChecksum.Leave(im.observer)
	if sum != d.checksum {
		return fmt.Errorf("%w: the result has checksum %x, not %x", ErrDeltaBase, uint64(sum), uint64(d.checksum))
	}
	if err := d.check(); err != nil {
		return err
	}
	if grown := d.growth(); grown > 0 && empty+grown-d.added > imageSparseBytes {
		return fmt.Errorf("%w: its %d bytes need %d bytes of pages, which leaves more than %d bytes of pages empty", ErrDelta, len(delta), grown, imageSparseBytes)
	}
	d.publish()
	im.afterRestore()
	return nil
}

// release frees the pages that were not published.
func (d *deltaReader) release() {
	for i := range d.pages {
		d.pages[i].store.info.pool.release(d.pages[i].now)
	}
	clear(d.pages)
	d.pages, d.rest, d.added = d.pages[:0], nil, 0
}

func (d *deltaReader) header(delta []byte) error {
	if len(delta) == 0 || delta[0] != deltaFormat {
		return ErrDeltaFormat
	}
	d.rest = delta[1:]
	from, ok := d.uvarint()
	ticks, ok2 := d.uvarint()
	if !ok || !ok2 || from+ticks < from || len(d.rest) < 8 {
		return fmt.Errorf("%w: its header is cut off or its ticks overflow", ErrDelta)
	}
	d.from, d.to = Tick(from), Tick(from+ticks)
	d.checksum, d.rest = Checksum(binary.LittleEndian.Uint64(d.rest)), d.rest[8:]
	return nil
}

func (d *deltaReader) uvarint() (v uint64, ok bool) {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		return 0, false
	}
	d.rest = d.rest[n:]
	return v, true
}

// readPages makes the pages of the new state. Each page of the image occurs at most once. Pages that the image does
// not have may take imageSparseBytes.
func (d *deltaReader) readPages() error {
	stores := d.image.stores
	number, next := uint64(0), uint64(0)
	for len(d.rest) > 0 {
		place, ok := d.uvarint()
		if !ok || place>>1 >= uint64(len(stores))-number {
			return fmt.Errorf("%w: a page of a store that does not exist", ErrDelta)
		}
		if place>>1 > 0 {
			number, next = number+place>>1, 0
		} else if place == 0 && next > 0 {
			return fmt.Errorf("%w: a page before the last one", ErrDelta)
		}
		st, index := stores[number], uint64(0)
		if place&1 != 0 {
			more, ok := d.uvarint()
			if !ok || more > regionRows {
				return fmt.Errorf("%w: a page number that is cut off or too large", ErrDelta)
			}
			index = max(next, 1) + more
		}
		if err := d.readPage(st, int(index)); err != nil {
			return fmt.Errorf("%w: column %q of owner %d, page %d: %w", ErrDelta, st.info.column.name, st.info.owner, index, err)
		}
		next = index + 1
	}
	return nil
}

func (d *deltaReader) readPage(st *store, index int) error {
	if index >= st.info.mostPages() {
		return fmt.Errorf("the store has at most %d", st.info.mostPages())
	}
	p := deltaPage{store: st, index: index, now: st.info.pool.allocate()}
	isNew := index >= len(st.pages)
	if !isNew {
		p.old = d.image.live[st.pages[index]].base
	}
	copy(p.now.mem, p.old.content(st.info.bytes))
	d.pages = append(d.pages, p)
	rest, err := applyWords(p.now.mem, d.rest)
	if err != nil {
		return err
	}
	d.rest = rest
	if !isNew {
		return nil
	}
	if isZero(p.now.mem) {
		return errors.New("a page that the world does not have is zero")
	}
	if d.added += st.info.bytes; d.added > imageSparseBytes {
		return fmt.Errorf("more than %d bytes of pages that the world does not have", imageSparseBytes)
	}
	return nil
}

// result returns the checksum of the new state, and how many bytes of pages are empty in the old one.
func (d *deltaReader) result() (sum Checksum, empty int) {
	live := d.image.live
	for i := range live {
		p := &live[i]
		share := p.base.checksum(p.salt)
		if sum += Checksum(share); share == 0 {
			empty += len(p.mem)
		}
	}
	for i := range d.pages {
		p := &d.pages[i]
		salt := p.store.info.salt(p.index)
		sum += Checksum(p.now.checksum(salt)) - Checksum(p.old.checksum(salt))
	}
	return sum, empty
}

// check checks the pages of the delta by the rules of Load. The other pages already follow them.
func (d *deltaReader) check() error {
	core := d.image.columns[columnCore].regions[0].data.info.number
	if d.from != d.to && (len(d.pages) == 0 || d.pages[0].store.info.number != core) {
		return fmt.Errorf("%w: %d ticks, but the same one in the state", ErrDelta, d.to-d.from)
	}
	for i := range d.pages {
		p := &d.pages[i]
		info := p.store.info
		var err error
		switch {
		case info.isBits:
			err = d.checkPresence(p)
		case info.column.single:
			err = d.image.checkSingle(info.column, p.now.mem, d.to)
		default:
			err = d.checkRows(p)
		}
		if err != nil {
			return fmt.Errorf("%w: column %q of owner %d: %w", ErrDelta, info.column.name, info.owner, err)
		}
	}
	return nil
}

// checkRows checks the rows of a page that differ.
func (d *deltaReader) checkRows(p *deltaPage) error {
	info, stride := p.store.info, int(p.store.info.column.stride)
	old, first := p.old.content(info.bytes), p.index<<info.column.shift
	for at := 0; at < info.bytes; at += stride {
		row, i := p.now.mem[at:at+stride], first+at/stride
		if bytes.Equal(row, old[at:at+stride]) {
			continue
		}
		present := d.word(info.column, info.owner, i/blockRows)>>(i%blockRows)&1 != 0
		if err := info.column.checkRow(row, i, info.owner, present, d.to); err != nil {
			return err
		}
	}
	return nil
}

// checkPresence checks the rows whose bits change in a page of presence bits.
func (d *deltaReader) checkPresence(p *deltaPage) error {
	column, o := p.store.info.column, p.store.info.owner
	columns := d.image.columns
	for i := range bitsPageWords {
		k := p.index*bitsPageWords + i
		is := wordOf(p.now.mem, i)
		changed := is ^ wordOf(p.old.content(len(p.now.mem)), i)
		if changed == 0 {
			continue
		}
		if err := checkWord(is, d.word(columns[columnIdentity].info, o, k), o, k); err != nil {
			return err
		}
		if column.index == columnIdentity {
			for c := engineColumns; c < len(columns); c++ {
				if other := columns[c].info; !other.single && d.word(other, o, k)&^is != 0 {
					return fmt.Errorf("an entity of rows %d to %d is removed and has component %q", k*blockRows, k*blockRows+blockRows-1, other.name)
				}
			}
		}
		for ; changed != 0 && column.stride > 0; changed &= changed - 1 {
			row := k*blockRows + bits.TrailingZeros64(changed)
			if err := column.checkRow(d.row(column, o, row), row, o, is&(changed&-changed) != 0, d.to); err != nil {
				return err
			}
		}
	}
	return nil
}

// page returns the content of page i of a store in the new state.
func (d *deltaReader) page(st *store, i int) []byte {
	n, found := slices.BinarySearchFunc(d.pages, deltaPage{store: st, index: i}, func(a, b deltaPage) int {
		return cmp.Or(cmp.Compare(a.store.info.number, b.store.info.number), cmp.Compare(a.index, b.index))
	})
	switch {
	case found:
		return d.pages[n].now.mem
	case i < len(st.pages):
		return d.image.live[st.pages[i]].base.content(st.info.bytes)
	}
	return zeros[:st.info.bytes]
}

// word returns presence word k of an owner's rows in the new state.
func (d *deltaReader) word(c *columnInfo, o Owner, k int) uint64 {
	return wordOf(d.page(&d.image.columns[c.index].regions[o].bits, k/bitsPageWords), k%bitsPageWords)
}

// row returns row i of an owner's rows in the new state.
func (d *deltaReader) row(c *columnInfo, o Owner, i int) []byte {
	pg := d.page(&d.image.columns[c.index].regions[o].data, i>>c.shift)
	return pg[i&(1<<c.shift-1)*int(c.stride):][:c.stride]
}

// growth returns the number of bytes of pages that the image has to grow by, so that every row of the new state has
// memory.
func (d *deltaReader) growth() (total int) {
	var region *region
	have, haveBits := 0, 0
	for i := range d.pages {
		p := &d.pages[i]
		top, ok := p.top()
		if !ok {
			continue
		}
		info := p.store.info
		if r := &d.image.columns[info.column.index].regions[info.owner]; r != region {
			region, have, haveBits = r, len(r.data.pages), len(r.bits.pages)
		}
		if p.index >= haveBits {
			total += (p.index + 1 - haveBits) * info.bytes
			haveBits = p.index + 1
		}
		if need := int(top>>info.column.shift) + 1; info.column.stride > 0 && need > have {
			total += (need - have) * info.column.pool.bytes
			have = need
		}
	}
	return total
}

// top returns the highest row in use by a page of presence bits. ok is false if there is none, or if it is a page of
// rows.
func (p *deltaPage) top() (row uint32, ok bool) {
	if !p.store.info.isBits {
		return 0, false
	}
	for i := bitsPageWords - 1; i >= 0; i-- {
		if word := wordOf(p.now.mem, i); word != 0 {
			return uint32((p.index*bitsPageWords+i)*blockRows + bits.Len64(word) - 1), true
		}
	}
	return 0, false
}

// publish makes the new state the image's. As after a save, each changed page becomes the base of its live page.
func (d *deltaReader) publish() {
	im := d.image
	for i := range d.pages {
		p := &d.pages[i]
		if top, ok := p.top(); ok {
			c := &im.columns[p.store.info.column.index]
			im.makeRoom(&c.regions[p.store.info.owner], c.info, top)
		}
		live := &im.live[p.store.pages[p.index]]
		copy(live.mem, p.now.mem)
		live.base, p.now = p.now, live.base // release frees the page that was the base
	}
}
