package image

import (
	"bytes"
	"unsafe"
)

// Overlay copies from s the rows that are not in keep, the resources, the players in the match and the random
// source. These are the parts of the server's state that the world does not predict itself. Rows in keep do not
// change, whether they have an entity here, in s or in both. The tick, its inputs and its events do not change. A
// nil keep keeps no row.
//
// s must have been saved from this image. Call it between ticks. Pages without a kept row cost as much as in
// Restore; the others are compared row by row.
func (im *Image) Overlay(s *Snapshot, keep *RowSet) {
	if s.Empty() || s.image != im {
		panic("image: Overlay of a snapshot that is empty or of another world: save it from this world, or use Load")
	}
	theirs := (*core)(s.row(&im.columns[columnCore], 0, 0))
	mine := im.writeCore()
	mine.Players, mine.Rand = theirs.Players, theirs.Rand
	for _, number := range im.inOrder() {
		p, want := &im.live[number], s.numbered(number)
		switch info := p.store.info; {
		case p.base == want && !p.marked:
		case !info.column.single:
			im.overlayPage(p, want, keep)
		case info.column.index >= engineColumns:
			p.become(want)
		}
	}
	im.structure.reset()
	im.invalidate()
}

// overlayPage makes a live page equal to want, but for rows to keep.
func (im *Image) overlayPage(p *livePage, want *page, keep *RowSet) {
	info, i := p.store.info, int(p.index)
	first, end := info.rowsOf(i)
	switch keep.overlapOf(info.owner, first, end) {
	case overlapNone:
		p.become(want)
	case overlapSome:
		if info.splice(p.mem, want.content(len(p.mem)), i, keep, false) {
			im.mark(p.store.pages[i])
		}
	}
}

// rowsOf returns the rows [first, end) of page i of a store.
func (s *storeInfo) rowsOf(i int) (first, end uint32) {
	if s.isBits {
		const rows = bitsPageWords * BlockRows
		return uint32(i) * rows, uint32(i+1) * rows
	}
	return uint32(i) << s.column.shift, uint32(i+1) << s.column.shift
}

// splice copies from src to dst, two versions of page i of a store, the parts of rows that are in the set, or not in
// it. It reports whether dst changed.
func (s *storeInfo) splice(dst, src []byte, i int, rows *RowSet, in bool) (changed bool) {
	first, end := s.rowsOf(i)
	for k := first / BlockRows; k*BlockRows < end; k++ {
		set := rows.word(s.owner, int(k))
		if !in {
			set = ^set
		}
		if s.isBits {
			x, y := wordIn(dst, k*BlockRows-first), wordIn(src, k*BlockRows-first)
			if (*x^*y)&set != 0 {
				*x, changed = *x&^set|*y&set, true
			}
			continue
		}
		for set &= stretchBits(k, first, end); set != 0; {
			row, n := runOf(&set)
			from, to := uintptr(k*BlockRows+row-first)*s.column.stride, uintptr(k*BlockRows+row+n-first)*s.column.stride
			if !bytes.Equal(dst[from:to], src[from:to]) {
				copy(dst[from:to], src[from:to])
				changed = true
			}
		}
	}
	return changed
}

// wordIn returns the presence bits of a block. row is the number of rows between the page's first row and the block.
func wordIn(page []byte, row uint32) *uint64 {
	return (*uint64)(unsafe.Pointer(&page[row/BlockRows*8]))
}
