// Package table stores one record per entity row in slots that are dense, stable and reused.
//
// A strategy keeps such records for the entities that it replicates or shows. A slot number stays the same for as long
// as its record exists. So it can serve as an identifier elsewhere, for example of a marker in tendon/systems/interest, or
// of an item in a message that waits for its acknowledgement.
//
//	slot := things.Add(e.Row)       // a row that has no record yet
//	thing := things.Get(e.Row)      // nil if the row has none
//	for slot, thing := range things.All {
//	things.Remove(slot)
package table

// Table holds records of type T by entity row. Its zero value is empty. Records move in memory when a record is added:
// a pointer to one is valid until the next Add.
//
// Invariant: rows[s] is 1 + the row that slot s was added for, or 0 exactly if s is in free.
type Table[T any] struct {
	index   index
	records []T
	rows    []uint64
	free    []int32
}

// Len returns the number of records.
func (t *Table[T]) Len() int { return len(t.records) - len(t.free) }

// Slots returns the number of slots, free ones included. Slot numbers are in [0, Slots).
func (t *Table[T]) Slots() int { return len(t.records) }

// Slot returns the slot of a row; ok is false if the row has no record.
func (t *Table[T]) Slot(row uint32) (slot int, ok bool) {
	slot = t.index.at(row)
	return slot, slot >= 0
}

// Get returns the record of a row, nil if the row has none.
func (t *Table[T]) Get(row uint32) *T {
	if slot := t.index.at(row); slot >= 0 {
		return &t.records[slot]
	}
	return nil
}

// At returns the record in a slot. The record of a free slot is as it was when it was removed.
func (t *Table[T]) At(slot int) *T { return &t.records[slot] }

// Add makes a record for a row that has none and returns its slot, the one that was freed last if there is one. The
// record is the zero value in a new slot. In a reused slot it is as it was when it was removed, so that its memory can
// be reused.
func (t *Table[T]) Add(row uint32) (slot int) {
	if n := len(t.free); n > 0 {
		slot, t.free = int(t.free[n-1]), t.free[:n-1]
	} else {
		slot = len(t.records)
		var zero T
		t.records, t.rows = append(t.records, zero), append(t.rows, 0)
	}
	t.rows[slot] = uint64(row) + 1
	t.index.put(row, slot)
	return slot
}

// Detach makes the row of a slot free for another record. The slot keeps its record until Remove.
func (t *Table[T]) Detach(slot int) {
	if row := uint32(t.rows[slot] - 1); t.index.at(row) == slot {
		t.index.put(row, -1)
	}
}

// Remove frees a slot that is in use. It does not change the record.
func (t *Table[T]) Remove(slot int) {
	t.Detach(slot)
	t.rows[slot] = 0
	t.free = append(t.free, int32(slot))
}

// All calls yield for every record, ascending by slot, until yield returns false. Records may be removed meanwhile.
func (t *Table[T]) All(yield func(slot int, record *T) bool) {
	for slot := range t.rows {
		if t.rows[slot] != 0 && !yield(slot, &t.records[slot]) {
			return
		}
	}
}

// Clear removes all records and keeps their memory. Records that Add returns afterwards are as they were.
func (t *Table[T]) Clear() {
	t.index.clear()
	t.free = t.free[:0]
	for slot := len(t.rows) - 1; slot >= 0; slot-- { // Add returns slot 0 first, as in an empty table
		t.rows[slot] = 0
		t.free = append(t.free, int32(slot))
	}
}

// index maps rows to slots. Rows in use lie close together, so they are mapped in blocks of 64, and the block that was
// used last is found without a map access.
type index struct {
	blocks map[uint32]*[blockRows]int32 // 1 + slot; 0: none
	key    uint32                       // of last
	last   *[blockRows]int32
}

const blockRows = 64

func (x *index) block(key uint32) *[blockRows]int32 {
	if x.last == nil || x.key != key {
		b := x.blocks[key]
		if b == nil {
			return nil
		}
		x.key, x.last = key, b
	}
	return x.last
}

// at returns the slot of a row, −1 for none.
func (x *index) at(row uint32) int {
	if b := x.block(row / blockRows); b != nil {
		return int(b[row%blockRows]) - 1
	}
	return -1
}

// put sets the slot of a row, −1 for none.
func (x *index) put(row uint32, slot int) {
	b := x.block(row / blockRows)
	if b == nil {
		if x.blocks == nil {
			x.blocks = map[uint32]*[blockRows]int32{}
		}
		b = new([blockRows]int32)
		x.blocks[row/blockRows] = b
	}
	b[row%blockRows] = int32(slot + 1)
}

func (x *index) clear() {
	clear(x.blocks)
	x.last = nil
}
