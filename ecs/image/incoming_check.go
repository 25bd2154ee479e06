package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unsafe"
)

func (s *store) fault(err error) error {
	return fmt.Errorf("column %q of owner %d: %w", s.column.name, s.owner, err)
}

// check checks the pages that differ; the others are correct.
func (in *incoming) check(empty int) error {
	if in.from != in.to && (len(in.pages) == 0 || in.pages[0].column.index != columnCore) {
		return fmt.Errorf("%d ticks, but the same one in the state", in.to-in.from)
	}
	for i := range in.pages {
		if err := in.checkPage(&in.pages[i]); err != nil {
			return in.pages[i].fault(err)
		}
	}
	if grown := in.growth(); grown > 0 && empty+grown-in.added > imageSparseBytes {
		return fmt.Errorf("%d bytes of pages are needed, which leaves more than %d bytes of pages empty", grown, imageSparseBytes)
	}
	return nil
}

func (in *incoming) checkPage(p *pagePair) error {
	if p.isBits {
		return in.checkPresence(p)
	}
	if !p.column.single {
		return in.checkRows(p)
	}
	row := in.row(p.column, p.owner, 0)
	if p.column.index == columnInputs {
		return in.checkInputs(row)
	}
	if err := p.column.layout.check(row); err != nil || p.column.index != columnCore {
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

// checkRows checks the rows that differ in a page, and all rows in a page of an image.
func (in *incoming) checkRows(p *pagePair) error {
	old, now := p.contents()
	c, stride, end := p.column, int(p.column.stride), max(len(old), len(now)) // pages of an image have all rows
	free := c.index != columnIdentity && c.layout.takesAny()                  // values of rows in use need no check
	word, block := uint64(0), -1
	for at := 0; at < end; at += stride {
		i := uint32(p.index<<c.shift + at/stride)
		if k := int(i / BlockRows); k != block {
			word, block = in.word(c, p.owner, k), k
		}
		present := word>>(i%BlockRows)&1 != 0
		if present && free {
			at += (bits.TrailingZeros64(^(word >> (i % BlockRows))) - 1) * stride // to the last row in use
			continue
		}
		if n := in.entities(p, now[min(at, len(now)):], i, word>>(i%BlockRows)); n > 0 {
			at += (n - 1) * stride
			continue
		}
		row := part(now, at, stride)
		if !in.whole && bytes.Equal(part(old, at, stride), row) {
			continue
		}
		if err := in.checkRow(p.store, row, i, present); err != nil {
			return err
		}
	}
	return nil
}

// entities returns how many of the rows from row i on are correct entities, if p is a page of the identity column. content
// begins with row i. present has a bit for each row of its block from row i on.
func (in *incoming) entities(p *pagePair, content []byte, i uint32, present uint64) (n int) {
	if p.column.index != columnIdentity {
		return 0
	}
	want := uint64(p.owner)<<regionShift | uint64(i)
	most := bits.TrailingZeros64(^present)
	for ; n < most && len(content) >= 16; n, content = n+1, content[16:] {
		if binary.LittleEndian.Uint64(content) != want+uint64(n) || Tick(binary.LittleEndian.Uint64(content[8:])) > in.to {
			break // checkRow reports it
		}
	}
	return n
}

func (in *incoming) checkPresence(p *pagePair) error {
	columns := in.image.columns
	for k, w := range p.words {
		if stray := w.now &^ in.word(&columns[columnIdentity], p.owner, k); stray != 0 {
			return fmt.Errorf("row %d has the component, but no entity is there", k*BlockRows+bits.TrailingZeros64(stray))
		}
		if p.owner == OwnedByWorld && k == 0 && w.now&1 != 0 {
			return errors.New("row 0, which is no entity, is in use")
		}
		for i := engineColumns; i < len(columns) && w.old&^w.now != 0 && p.column.index == columnIdentity; i++ {
			if c := &columns[i]; !c.single && in.word(c, p.owner, k)&w.old&^w.now != 0 {
				return fmt.Errorf("an entity of rows %d to %d is removed and has component %q", k*BlockRows, k*BlockRows+BlockRows-1, c.name)
			}
		}
		for changed := w.old ^ w.now; changed != 0 && p.column.stride > 0; changed &= changed - 1 {
			i := uint32(k*BlockRows + bits.TrailingZeros64(changed))
			if data := &p.column.regions[p.owner].data; in.whole && in.lists(data, int(i>>p.column.shift)) {
				changed &= ^p.column.pageMask(i)
				continue // checkRows
			}
			if err := in.checkRow(p.store, in.row(p.column, p.owner, i), i, w.now&(changed&-changed) != 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRow checks row i of a store's owner. present is the row's presence bit.
func (in *incoming) checkRow(st *store, row []byte, i uint32, present bool) error {
	if !present {
		if !isZero(row) {
			return fmt.Errorf("row %d is not in use and not zero", i)
		}
		return nil
	}
	identity, want, born := st.column.index == columnIdentity, uint32(0), Tick(0)
	if identity {
		want, born = uint32(st.owner)<<regionShift|i, Tick(binary.LittleEndian.Uint64(row[8:]))
		if binary.LittleEndian.Uint64(row) == uint64(want) && born <= in.to { // with the padding
			return nil
		}
	}
	if err := st.column.layout.check(row); err != nil {
		return fmt.Errorf("row %d: %w", i, err)
	}
	if !identity {
		return nil
	}
	if got := binary.LittleEndian.Uint32(row); got != want {
		return fmt.Errorf("row %d has the number %d, want %d", i, got, want)
	}
	if born > in.to {
		return fmt.Errorf("row %d is born in tick %d, after the image's %d", i, born, in.to)
	}
	return nil
}
