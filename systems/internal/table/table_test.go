package table

import (
	"math/rand/v2"
	"testing"
)

type record struct {
	row   uint32
	value int
}

// A table agrees with a map over random additions and removals, also of rows far apart.
func TestTableEqualsAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var table Table[record]
	model := map[uint32]record{}
	slots := map[uint32]int{}
	for step := range 20000 {
		row := r.Uint32N(300)
		if r.IntN(8) == 0 {
			row = 1<<32 - 1 - row
		}
		if _, ok := model[row]; ok {
			slot, _ := table.Slot(row)
			if slot != slots[row] {
				t.Fatalf("step %d: the slot of row %d changed from %d to %d", step, row, slots[row], slot)
			}
			table.Remove(slot)
			delete(model, row)
		} else {
			slot := table.Add(row)
			*table.At(slot) = record{row, step}
			model[row], slots[row] = record{row, step}, slot
		}
		if table.Len() != len(model) {
			t.Fatalf("step %d: %d records, want %d", step, table.Len(), len(model))
		}
		if got, want := table.Get(row), model[row]; got != nil && *got != want || got == nil && want != (record{}) {
			t.Fatalf("step %d: row %d is %v, want %v", step, row, got, want)
		}
	}
	count, last := 0, -1
	for slot, rec := range table.All {
		if count++; slot <= last || *rec != model[rec.row] || table.rows[slot] == 0 {
			t.Fatalf("All yields slot %d after %d with %v, want %v", slot, last, rec, model[rec.row])
		}
		last = slot
	}
	if count != len(model) || table.Slots() > 600 {
		t.Errorf("All yields %d records in %d slots, want %d", count, table.Slots(), len(model))
	}
}

func TestAddReusesSlotsAndTheirMemory(t *testing.T) {
	var table Table[[]int]
	a := table.Add(10)
	*table.At(a) = make([]int, 100)
	table.Remove(a)
	if table.Get(10) != nil || table.rows[a] != 0 {
		t.Fatal("a removed record is still found")
	}
	if b := table.Add(11); b != a || cap(*table.At(b)) != 100 {
		t.Errorf("slot %d with capacity %d, want slot %d with the memory of the removed record", b, cap(*table.At(b)), a)
	}
}

func TestDetachFreesTheRowAndKeepsTheRecord(t *testing.T) {
	var table Table[int]
	old := table.Add(5)
	*table.At(old) = 1
	table.Detach(old)
	if table.Get(5) != nil || table.rows[old] == 0 || *table.At(old) != 1 {
		t.Fatal("the detached record is found by its row, or was lost")
	}
	next := table.Add(5)
	table.Remove(old)
	if slot, ok := table.Slot(5); !ok || slot != next || table.Len() != 1 {
		t.Errorf("removing the detached record changed the row's record: slot %d %v, want %d", slot, ok, next)
	}
}

func TestRecordsMayBeRemovedWhileIterating(t *testing.T) {
	var table Table[int]
	for row := range uint32(10) {
		*table.At(table.Add(row)) = int(row)
	}
	seen := 0
	for slot := range table.All {
		seen++
		table.Remove(slot)
		if row := slot + 1; slot%2 == 0 && row < 10 {
			table.Remove(row)
		}
	}
	if seen != 5 || table.Len() != 0 {
		t.Errorf("%d records were yielded and %d remain, want 5 and 0", seen, table.Len())
	}
}

func TestClearedTableIsFilledFromSlotZero(t *testing.T) {
	var table Table[int]
	for row := range uint32(4) {
		table.Add(row)
	}
	table.Clear()
	if table.Len() != 0 || table.Get(2) != nil {
		t.Fatal("a cleared table holds records")
	}
	if a, b := table.Add(7), table.Add(8); a != 0 || b != 1 || table.Slots() != 4 {
		t.Errorf("slots %d and %d of %d, want 0 and 1 of 4", a, b, table.Slots())
	}
}

func TestTableDoesNotAllocateWhenWarm(t *testing.T) {
	var table Table[record]
	for row := range uint32(256) {
		table.Add(row)
	}
	allocs := testing.AllocsPerRun(100, func() {
		for row := range uint32(256) {
			slot, _ := table.Slot(row)
			table.Remove(slot)
		}
		for row := range uint32(256) {
			table.Add(row)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

// BenchmarkLookup compares a table with the map and slice by hand that it replaced.
func BenchmarkLookup(b *testing.B) {
	const rows = 4096
	var table Table[record]
	byRow, records := map[uint32]int32{}, []record{}
	for row := range uint32(rows) {
		table.Add(row)
		byRow[row] = int32(row)
		records = append(records, record{})
	}
	b.Run("Table", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			table.Get(uint32(i)%rows).value++
		}
	})
	b.Run("map", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if slot, ok := byRow[uint32(i)%rows]; ok {
				records[slot].value++
			}
		}
	})
}

func BenchmarkAll(b *testing.B) {
	const rows = 4096
	var table Table[record]
	for row := range uint32(rows) {
		table.Add(row)
	}
	records, used := make([]record, rows), make([]bool, rows)
	for i := range used {
		used[i] = true
	}
	b.Run("Table", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			for _, r := range table.All {
				r.value++
			}
		}
	})
	b.Run("slice", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			for i := range records {
				if used[i] {
					records[i].value++
				}
			}
		}
	})
}
