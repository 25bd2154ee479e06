package image

import "math/bits"

// RowSet is a set of rows: single rows, and whole regions of an owner including rows that are not used yet. It names
// the rows on one timeline. It contains rows, not entities, belongs to no world and is not part of any state. The
// zero RowSet is empty.
type RowSet struct {
	whole [MaxPlayers + 1]bool // by owner: its rows are in the set except those in words
	// words has a bit for each exception: a row that is in the set though its owner is not whole, or missing though it
	// is. index = owner; each grows with the highest such row.
	words [MaxPlayers + 1][]uint64
}

// Add adds a row, which is Entity.Row. It ignores a row of an owner that no game has.
func (s *RowSet) Add(row uint32) { s.put(row, true) }

// Remove removes a row. The rest of its owner's region stays.
func (s *RowSet) Remove(row uint32) { s.put(row, false) }

func (s *RowSet) put(row uint32, in bool) {
	o, i := Owner(row>>regionShift), row%regionRows
	if row>>regionShift >= uint32(len(s.whole)) {
		return
	}
	k, bit := int(i/BlockRows), uint64(1)<<(i%BlockRows)
	words := s.words[o]
	if in == s.whole[o] {
		if k < len(words) {
			words[k] &^= bit
		}
		return
	}
	if need := k + 1; need > len(words) {
		words = append(words, make([]uint64, need-len(words))...)
		s.words[o] = words
	}
	words[k] |= bit
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
		s.whole[o] = true
		clear(s.words[o])
	}
}

// HasOwner reports whether AddOwner has added the owner's region. Rows removed since then do not matter.
func (s *RowSet) HasOwner(o Owner) bool { return int(o) < len(s.whole) && s.whole[o] }

// Clear empties the set and keeps its memory.
func (s *RowSet) Clear() {
	s.whole = [MaxPlayers + 1]bool{}
	for o := range s.words {
		clear(s.words[o])
	}
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
func (s *RowSet) word(o Owner, k int) (set uint64) {
	if s == nil {
		return 0
	}
	if words := s.words[o]; k < len(words) {
		set = words[k]
	}
	if s.whole[o] {
		set = ^set
	}
	return set
}

// overlap is the part of a page's rows that a set has.
type overlap uint8

const (
	overlapNone overlap = iota
	overlapSome
	overlapAll
)

// overlapOf returns the overlap of the set with rows [first, end) of the owner's region, which are not empty.
func (s *RowSet) overlapOf(o Owner, first, end uint32) overlap {
	if s == nil {
		return overlapNone
	}
	if words := s.words[o]; int(first/BlockRows) >= len(words) { // no exceptions from here on
		if s.whole[o] {
			return overlapAll
		}
		return overlapNone
	}
	any, all := false, true
	for k := first / BlockRows; k*BlockRows < end; k++ {
		of := stretchBits(k, first, end)
		in := s.word(o, int(k)) & of
		any, all = any || in != 0, all && in == of
	}
	switch {
	case all:
		return overlapAll
	case any:
		return overlapSome
	}
	return overlapNone
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
