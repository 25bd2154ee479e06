package state

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// track holds the last values of one thing, an entity or a resource, each with the tick from which it had them. They
// are all of one entity with one set of components: where either changes, the track begins anew.
type track struct {
	entity ecs.Entity
	set    image.ComponentSet
	width  int
	// priority is that of an entity with this set, for servers.
	priority float32
	omits    bool // its position is omitted, for servers
	first    int  // slot of the oldest
	count    int
	ticks    []ecs.Tick // by slot; a power of two of them
	values   []uint64   // width of them by slot
}

// minSlots is how many values a track has room for at first: most things rest.
const minSlots = 2

// begin makes the track one of nothing yet.
func (t *track) begin(e ecs.Entity, set image.ComponentSet, width int) {
	if width != t.width {
		t.values = t.values[:0]
		t.ticks = t.ticks[:0]
	}
	t.entity, t.set, t.width, t.omits, t.first, t.count = e, set, width, false, 0, 0
}

// push adds the values of a tick later than all others. Of more than most values the oldest go.
func (t *track) push(tick ecs.Tick, values []uint64, most int) {
	if t.count == len(t.ticks) && t.count < most {
		t.grow()
	}
	if t.count == len(t.ticks) {
		t.first = (t.first + 1) & (len(t.ticks) - 1)
		t.count--
	}
	slot := t.slot(t.count)
	t.ticks[slot] = tick
	copy(t.values[slot*t.width:(slot+1)*t.width], values)
	t.count++
}

// grow doubles the slots.
func (t *track) grow() {
	slots := max(minSlots, 2*t.count)
	ticks, values := make([]ecs.Tick, slots), make([]uint64, slots*t.width)
	for i := range t.count {
		slot := t.slot(i)
		ticks[i] = t.ticks[slot]
		copy(values[i*t.width:], t.values[slot*t.width:(slot+1)*t.width])
	}
	t.ticks, t.values, t.first = ticks, values, 0
}

// slot returns where the i-th oldest is.
func (t *track) slot(i int) int { return (t.first + i) & (len(t.ticks) - 1) }

func (t *track) tick(i int) ecs.Tick { return t.ticks[t.slot(i)] }

func (t *track) value(i int) []uint64 {
	slot := t.slot(i)
	return t.values[slot*t.width : (slot+1)*t.width]
}

// forget drops all values but the newest, which came when it came.
func (t *track) forget() {
	if t.count > 1 {
		t.first, t.count = t.slot(t.count-1), 1
	}
}

// newest returns the last values and since when they hold. There is one, or the track is empty.
func (t *track) newest() (since ecs.Tick, values []uint64) {
	return t.tick(t.count - 1), t.value(t.count - 1)
}

// has reports whether these are the newest values.
func (t *track) has(values []uint64) bool {
	if t.count == 0 {
		return false
	}
	_, newest := t.newest()
	return slices.Equal(newest, values)
}

// before returns how many of the values are of ticks up to f.
func (t *track) before(f ecs.Tick) int {
	if t.count > 0 && t.tick(t.count-1) <= f {
		return t.count
	}
	lo, hi := 0, t.count
	for lo < hi {
		if mid := (lo + hi) / 2; t.tick(mid) <= f {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// during returns the values that held in tick f.
func (t *track) during(f ecs.Tick) (values []uint64, ok bool) {
	n := t.before(f)
	if n == 0 {
		return nil, false
	}
	return t.value(n - 1), true
}

// of returns the values that came with tick f itself.
func (t *track) of(f ecs.Tick) (values []uint64, ok bool) {
	n := t.before(f)
	if n == 0 || t.tick(n-1) != f {
		return nil, false
	}
	return t.value(n - 1), true
}

// tracks are the tracks of entities, by row.
type tracks struct {
	index index
	all   []track // those of free rows are empty
	free  []int32
	bound int // scalars that there may be memory for
	total int // scalars that there is memory for
}

// trackedScalars bounds the memory of tracks: 128 MiB.
const trackedScalars = 16 << 20

// room reports whether there is memory for entities of so many scalars in all.
func (t *tracks) room(scalars int) bool { return t.total+minSlots*scalars <= t.bound }

// push adds values to one of the tracks. Where memory is short it keeps no more of them than before.
func (t *tracks) push(tr *track, tick ecs.Tick, values []uint64, most int) {
	if tr.count >= minSlots && t.total > t.bound/2 {
		most = min(most, len(tr.ticks))
	}
	before := len(tr.values)
	tr.push(tick, values, most)
	t.total += len(tr.values) - before
}

// at returns the track of a row, nil for none.
func (t *tracks) at(row uint32) *track {
	if i := t.index.at(row); i >= 0 {
		return &t.all[i]
	}
	return nil
}

// begin returns the track of an entity, which begins anew if the row holds another one, or one with another set.
func (t *tracks) begin(e ecs.Entity, set image.ComponentSet, width int) *track {
	i := t.index.at(e.Row)
	if i < 0 {
		if n := len(t.free); n > 0 {
			i, t.free = int(t.free[n-1]), t.free[:n-1]
		} else {
			i = len(t.all)
			t.all = append(t.all, track{})
		}
		t.index.put(e.Row, i)
	}
	tr := &t.all[i]
	if tr.entity != e || tr.set != set || tr.count == 0 {
		t.total -= len(tr.values)
		tr.begin(e, set, width)
		t.total += len(tr.values)
	}
	return tr
}

// drop forgets a row.
func (t *tracks) drop(row uint32) {
	if i := t.index.at(row); i >= 0 {
		tr := &t.all[i]
		tr.entity, tr.count, tr.omits = ecs.Entity{}, 0, false
		if t.total > t.bound/2 {
			t.total -= len(tr.values)
			*tr = track{}
		}
		t.index.put(row, -1)
		t.free = append(t.free, int32(i))
	}
}

// size returns how many rows have a track.
func (t *tracks) size() int { return len(t.all) - len(t.free) }

func (t *tracks) clear() { *t = tracks{bound: t.bound} }
