package state

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/internal/table"
)

// history holds the last values of an entity or a global, each with the tick since which it has had them. All are of one
// entity with one set of components: where either changes, the history begins anew.
type history struct {
	entity ecs.Entity
	set    image.ComponentSet
	width  int // scalars
	// priority is that of an entity with this set, on a server.
	priority float32
	relevant ecs.Tick   // when it was last relevant to a client, on a server
	omitted  bool       // its position is omitted, on a server
	first    int        // slot of the oldest values
	count    int        // of values
	ticks    []ecs.Tick // by slot; a power of two of them
	values   []uint64   // width of them by slot
}

// keptTicks is the number of recent ticks that either side stores, and of values that a server stores of each entity. A
// client whose acknowledgements take longer receives whole values. It is a power of two.
const keptTicks = 64

// recentTicks holds the last keptTicks ticks of a series, ascending.
type recentTicks []ecs.Tick

func (r *recentTicks) push(f ecs.Tick) {
	if len(*r) == keptTicks {
		*r = append((*r)[:0], (*r)[1:]...)
	}
	*r = append(*r, f)
}

func (r recentTicks) has(f ecs.Tick) bool {
	_, ok := slices.BinarySearch(r, f)
	return ok
}

// minSlots is the number of values that a history has room for at first: most entities are at rest.
const minSlots = 2

func (h *history) begin(e ecs.Entity, set image.ComponentSet, width int) {
	if width != h.width {
		h.values = h.values[:0]
		h.ticks = h.ticks[:0]
	}
	h.entity, h.set, h.width, h.omitted, h.first, h.count = e, set, width, false, 0, 0
}

// push adds the values of a tick later than all others. If there are most values, the oldest are dropped.
func (h *history) push(tick ecs.Tick, values []uint64, most int) {
	if h.count == len(h.ticks) && h.count < most {
		h.grow()
	}
	if h.count == len(h.ticks) {
		h.first = (h.first + 1) & (len(h.ticks) - 1)
		h.count--
	}
	slot := h.slot(h.count)
	h.ticks[slot] = tick
	copy(h.values[slot*h.width:(slot+1)*h.width], values)
	h.count++
}

func (h *history) grow() {
	slots := max(minSlots, 2*h.count)
	ticks, values := make([]ecs.Tick, slots), make([]uint64, slots*h.width)
	for i := range h.count {
		ticks[i] = h.tick(i)
		copy(values[i*h.width:], h.value(i))
	}
	h.ticks, h.values, h.first = ticks, values, 0
}

// slot returns the slot of the i-th oldest values.
func (h *history) slot(i int) int { return (h.first + i) & (len(h.ticks) - 1) }

func (h *history) tick(i int) ecs.Tick { return h.ticks[h.slot(i)] }

func (h *history) value(i int) []uint64 { return h.in(h.slot(i)) }

// in returns the values in a slot.
func (h *history) in(slot int) []uint64 { return h.values[slot*h.width : (slot+1)*h.width] }

// newest returns the newest values and the tick since which they hold. The history must not be empty.
func (h *history) newest() (since ecs.Tick, values []uint64) {
	return h.tick(h.count - 1), h.value(h.count - 1)
}

func (h *history) has(values []uint64) bool {
	if h.count == 0 {
		return false
	}
	_, newest := h.newest()
	return slices.Equal(newest, values)
}

// before returns the number of values of ticks ≤ f.
func (h *history) before(f ecs.Tick) int {
	if h.count > 0 && h.tick(h.count-1) <= f {
		return h.count
	}
	if h.count == 0 {
		return 0
	}
	lo, hi := 0, h.count
	if back := h.tick(h.count-1) - f; back < ecs.Tick(h.count) { // likely values of each tick
		if i := h.count - 1 - int(back); h.tick(i) == f {
			return i + 1
		}
	}
	for lo < hi {
		if mid := (lo + hi) / 2; h.tick(mid) <= f {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// during returns the values that held in tick f; ok is false if they are not stored.
func (h *history) during(f ecs.Tick) (values []uint64, ok bool) {
	n := h.before(f)
	if n == 0 {
		return nil, false
	}
	return h.value(n - 1), true
}

// slotOf returns the slot of the values that held in tick f, −1 if they are not stored.
func (h *history) slotOf(f ecs.Tick) int8 {
	n := h.before(f)
	if n == 0 {
		return -1
	}
	return int8(h.slot(n - 1))
}

// agrees reports whether these values held in tick f.
func (h *history) agrees(f ecs.Tick, set image.ComponentSet, values []uint64) bool {
	stored, ok := h.during(f)
	return ok && set == h.set && slices.Equal(values, stored)
}

// histories are the histories of entities, by row.
type histories struct {
	rows  table.Table[history]
	bound int // most scalars that may have memory
	total int // scalars that have memory
}

// maxScalars bounds the memory of histories: 128 MiB.
const maxScalars = 16 << 20

// room reports whether there is memory for entities of so many scalars in all.
func (t *histories) room(scalars int) bool { return t.total+minSlots*scalars <= t.bound }

// push adds values to one of the histories. If memory is short, it stores no more of them than before.
func (t *histories) push(h *history, tick ecs.Tick, values []uint64, most int) {
	if h.count >= minSlots && t.total > t.bound/2 {
		most = min(most, len(h.ticks))
	}
	before := len(h.values)
	h.push(tick, values, most)
	t.total += len(h.values) - before
}

// of returns the history of an entity that has values, nil for none.
func (t *histories) of(e ecs.Entity) *history {
	if h := t.rows.Get(e.Row); h != nil && h.entity == e && h.count > 0 {
		return h
	}
	return nil
}

// slot returns the slot of the history of an entity that has values, −1 for none.
func (t *histories) slot(e ecs.Entity) int {
	if slot, ok := t.rows.Slot(e.Row); ok && t.holds(slot, e) {
		return slot
	}
	return -1
}

// holds reports whether a slot has the history of an entity that has values.
func (t *histories) holds(slot int, e ecs.Entity) bool {
	if uint(slot) >= uint(t.rows.Slots()) {
		return false
	}
	h := t.rows.At(slot)
	return h.entity == e && h.count > 0
}

// begin returns the history of an entity. It begins anew if the row had another entity or the entity another set.
func (t *histories) begin(e ecs.Entity, set image.ComponentSet, width int) *history {
	slot, ok := t.rows.Slot(e.Row)
	if !ok {
		slot = t.rows.Add(e.Row)
	}
	h := t.rows.At(slot)
	if h.entity != e || h.set != set || h.count == 0 {
		t.total -= len(h.values)
		h.begin(e, set, width)
		t.total += len(h.values)
	}
	return h
}

func (t *histories) drop(row uint32) {
	slot, ok := t.rows.Slot(row)
	if !ok {
		return
	}
	h := t.rows.At(slot)
	h.entity, h.count, h.omitted = ecs.Entity{}, 0, false
	if t.total > t.bound/2 {
		t.total -= len(h.values)
		*h = history{}
	}
	t.rows.Remove(slot)
}

func (t *histories) clear() { *t = histories{bound: t.bound} }
