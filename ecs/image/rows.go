package image

import "math/bits"

// RowSet is a set of rows, for saying which rows of a world are on a timeline: single rows, and whole regions of an
// owner, with the rows that are yet to come. It names rows, not entities, belongs to no world and is no part of any
// state. The zero RowSet is empty.
type RowSet struct {
	whole [MaxPlayers + 1]bool // by owner: its rows are in the set unless words says otherwise
	// words has a bit for each row that is an exception: in the set though its owner is not whole, or missing though it
	// is. index = owner; each grows with the highest row that was one.
	words [MaxPlayers + 1][]uint64
}

// Add adds a row, which is Entity.Row. A row of an owner that no game has is left out.
func (s *RowSet) Add(row uint32) { s.put(row, true) }

// Remove takes a row out of the set. The rest of its owner's region stays.
func (s *RowSet) Remove(row uint32) { s.put(row, false) }

func (s *RowSet) put(row uint32, in bool) {
	o, i := Owner(row>>regionShift), row%regionRows
	if row>>regionShift >= uint32(len(s.whole)) {
		return
	}
	k, bit := int(i/blockRows), uint64(1)<<(i%blockRows)
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
	return s.word(Owner(row>>regionShift), int(i/blockRows))>>(i%blockRows)&1 != 0
}

// AddOwner adds all rows of the owner's region, also those that no entity has yet.
func (s *RowSet) AddOwner(o Owner) {
	if int(o) < len(s.whole) {
		s.whole[o] = true
		clear(s.words[o])
	}
}

// HasOwner reports whether the owner's region was added as a whole. Rows that were removed since do not count.
func (s *RowSet) HasOwner(o Owner) bool { return int(o) < len(s.whole) && s.whole[o] }

// Clear empties the set and keeps its memory.
func (s *RowSet) Clear() {
	s.whole = [MaxPlayers + 1]bool{}
	for o := range s.words {
		clear(s.words[o])
	}
}

// everyRow is the set of all rows. It is only read.
var everyRow = func() *RowSet {
	s := &RowSet{}
	for o := range Owner(len(s.whole)) {
		s.AddOwner(o)
	}
	return s
}()

// word returns which rows of block k of the owner's region are in the set. A nil set has none.
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

// share says how much of a page's rows a set has.
type overlap uint8

const (
	overlapNone overlap = iota
	overlapSome
	overlapAll
)

// overlapOf returns how many of rows [first, end) of the owner's region are in the set. The stretch is not empty.
func (s *RowSet) overlapOf(o Owner, first, end uint32) overlap {
	if s == nil {
		return overlapNone
	}
	if words := s.words[o]; int(first/blockRows) >= len(words) { // no exceptions from here on
		if s.whole[o] {
			return overlapAll
		}
		return overlapNone
	}
	any, all := false, true
	for k := first / blockRows; k*blockRows < end; k++ {
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

// stretchBits returns which rows of block k lie in [first, end). At least one does.
func stretchBits(k, first, end uint32) uint64 {
	from, to := max(first, k*blockRows)-k*blockRows, min(end, (k+1)*blockRows)-k*blockRows
	return fullBlock << from & (fullBlock >> (blockRows - to))
}

// runOf takes the first run of rows out of the set, which is not empty, and returns its first row and its length.
func runOf(set *uint64) (row, n uint32) {
	row = uint32(bits.TrailingZeros64(*set))
	n = uint32(bits.TrailingZeros64(^(*set >> row)))
	*set &^= fullBlock >> (blockRows - n) << row
	return row, n
}
