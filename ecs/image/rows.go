package image

import (
	"bytes"
	"math/bits"
	"unsafe"
)

// RowSet is a set of rows: single rows, and whole regions of an owner including rows that are not used yet. It names the
// rows on one timeline. It contains rows, not entities, belongs to no world and is not part of any state. The zero RowSet
// is empty.
type RowSet struct {
	words [MaxPlayers + 1][]uint64 // by owner: one bit per row, up to the highest that Add or Remove named
	whole [MaxPlayers + 1]bool     // by owner: the rows beyond words are in the set
}

// Add adds a row, which is Entity.Row. It ignores a row of an owner that no game has.
func (s *RowSet) Add(row uint32) { s.put(row, true) }

// Remove removes a row. The rest of its owner's region stays.
func (s *RowSet) Remove(row uint32) { s.put(row, false) }

func (s *RowSet) put(row uint32, in bool) {
	o, k, bit := row>>regionShift, int(row%regionRows/BlockRows), uint64(1)<<(row%BlockRows)
	if o >= uint32(len(s.whole)) || s.Has(row) == in {
		return
	}
	for len(s.words[o]) <= k {
		s.words[o] = append(s.words[o], s.word(Owner(o), len(s.words[o])))
	}
	s.words[o][k] ^= bit
}

// Has reports whether the set has the row.
func (s *RowSet) Has(row uint32) bool {
	if row>>regionShift >= uint32(len(s.whole)) {
		return false
	}
	i := row % regionRows
	return s.word(Owner(row>>regionShift), int(i/BlockRows))>>(i%BlockRows)&1 != 0
}

// AddOwner adds all rows of the owner's region, including rows that are not used yet.
func (s *RowSet) AddOwner(o Owner) {
	if int(o) < len(s.whole) {
		s.whole[o], s.words[o] = true, s.words[o][:0]
	}
}

// HasOwner reports whether AddOwner has added the owner's region. Rows removed since then do not matter.
func (s *RowSet) HasOwner(o Owner) bool { return int(o) < len(s.whole) && s.whole[o] }

// Clear empties the set and keeps its memory.
func (s *RowSet) Clear() {
	for o := range s.words {
		s.whole[o], s.words[o] = false, s.words[o][:0]
	}
}

// sparseRows is a set of rows that is cleared in as many steps as it has words in use.
type sparseRows struct {
	words [][]uint64  // by owner: one bit per row
	used  []ownerWord // words that are not zero
}

type ownerWord struct {
	owner Owner
	word  uint32
}

// add adds rows of block k of the owner's region.
func (s *sparseRows) add(o Owner, k int, rows uint64) {
	if s.words == nil {
		s.words = make([][]uint64, MaxPlayers+1)
	}
	words := &s.words[o]
	if need := k + 1; need > len(*words) {
		*words = append(*words, make([]uint64, need-len(*words))...)
	}
	if (*words)[k] == 0 {
		s.used = append(s.used, ownerWord{o, uint32(k)})
	}
	(*words)[k] |= rows
}

func (s *sparseRows) clear() {
	for _, at := range s.used {
		s.words[at.owner][at.word] = 0
	}
	s.used = s.used[:0]
}

// EveryRow returns the set of all rows, which must not be changed.
func EveryRow() *RowSet { return everyRow }

var everyRow = func() *RowSet {
	s := &RowSet{}
	for o := range Owner(len(s.whole)) {
		s.AddOwner(o)
	}
	return s
}()

// word returns the rows of block k of the owner's region that are in the set. A nil set has none.
func (s *RowSet) word(o Owner, k int) uint64 {
	switch {
	case s == nil:
		return 0
	case k < len(s.words[o]):
		return s.words[o][k]
	case s.whole[o]:
		return fullBlock
	}
	return 0
}

// overlapOf reports whether the set has some and all of rows [first, end) of the owner's region, which are not empty.
func (s *RowSet) overlapOf(o Owner, first, end uint32) (some, all bool) {
	if s == nil {
		return false, false
	}
	if int(first/BlockRows) >= len(s.words[o]) {
		return s.whole[o], s.whole[o]
	}
	all = true
	for k := first / BlockRows; k*BlockRows < end; k++ {
		of := stretchBits(k, first, end)
		in := s.word(o, int(k)) & of
		some, all = some || in != 0, all && in == of
	}
	return some, all
}

// stretchBits returns the rows of block k that lie in [first, end). There is at least one.
func stretchBits(k, first, end uint32) uint64 {
	from, to := max(first, k*BlockRows)-k*BlockRows, min(end, (k+1)*BlockRows)-k*BlockRows
	return fullBlock << from & (fullBlock >> (BlockRows - to))
}

// runOf removes the first run of rows from the set, which is not empty, and returns its first row and its length.
func runOf(set *uint64) (row, n uint32) {
	row = uint32(bits.TrailingZeros64(*set))
	n = uint32(bits.TrailingZeros64(^(*set >> row)))
	*set &^= fullBlock >> (BlockRows - n) << row
	return row, n
}

// Overlay copies from s the rows that are not in keep, the resources, the players in the match and the random source. These
// are the parts of the server's state that the world does not predict itself. Rows in keep do not change, whether they have
// an entity here, in s or in both. The tick, its inputs and its events do not change. A nil keep keeps no row.
//
// s must have been saved from this image. Call it between ticks. Pages without a kept row cost as much as in Restore; the
// others are compared row by row.
func (im *Image) Overlay(s *Snapshot, keep *RowSet) {
	if s.Empty() || s.image != im {
		panic("image: Overlay of a snapshot that is empty or of another world: save it from this world, or use Load")
	}
	theirs := (*core)(s.row(&im.columns[columnCore], 0, 0))
	mine := im.writeCore()
	mine.Players, mine.Rand = theirs.Players, theirs.Rand
	for _, number := range im.inOrder() {
		p, want := &im.live[number], s.numbered(number)
		st := p.store
		if p.base == want && !p.marked || st.column.single && st.column.index < engineColumns {
			continue
		}
		some, all := false, false
		if !st.column.single {
			first, end := st.rowsOf(int(p.index))
			some, all = keep.overlapOf(st.owner, first, end)
		}
		if !some {
			p.become(want)
		} else if !all && p.splice(want, keep, false) {
			im.mark(number)
		}
	}
	im.structure.reset()
	im.invalidate()
}

// rowsOf returns the rows [first, end) of page i of a store.
func (s *store) rowsOf(i int) (first, end uint32) {
	if s.isBits {
		const rows = bitsPageWords * BlockRows
		return uint32(i) * rows, uint32(i+1) * rows
	}
	return uint32(i) << s.column.shift, uint32(i+1) << s.column.shift
}

// splice copies from another version of a live page the parts of rows that are in the set, or not in it. It reports whether
// the live page changed.
func (p *livePage) splice(from *page, rows *RowSet, in bool) (changed bool) {
	p.use(len(from.content()))
	s, dst, src := p.store, p.mem, from.content()
	if len(src) < len(dst) {
		var wide [pageBytes]byte
		src = extend(src, len(dst), &wide)
	}
	first, end := s.rowsOf(int(p.index))
	end = first + (end-first)*uint32(len(dst))/uint32(cap(dst))
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
