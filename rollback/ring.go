package rollback

import (
	"fmt"

	"tendon/ecs"
)

// Ring holds a world's snapshots of recent ticks. Tick f lies in slot f & mask; the slot's snapshot knows its tick, so
// a slot that was overwritten or dropped never passes for another tick. Snapshots share the pages in which they are
// equal, so a ring costs what changed.
type Ring struct {
	slots  []ecs.Snapshot
	mask   ecs.Tick
	newest ecs.Tick
}

// NewRing returns a ring that holds the last depth ticks; depth is rounded up to a power of two.
func NewRing(depth int) *Ring {
	if depth < 1 {
		panic(fmt.Sprintf("rollback: NewRing of depth %d: a ring holds at least one tick", depth))
	}
	n := powerOfTwo(depth)
	return &Ring{slots: make([]ecs.Snapshot, n), mask: ecs.Tick(n - 1)}
}

// Depth returns the number of ticks the ring can hold.
func (r *Ring) Depth() int { return len(r.slots) }

// Save stores the world's state under its tick, in place of the one that is Depth ticks older.
func (r *Ring) Save(w *ecs.World) *ecs.Snapshot {
	f := w.Tick()
	r.newest = max(r.newest, f)
	s := &r.slots[f&r.mask]
	w.Save(s)
	return s
}

// At returns the snapshot of tick f; ok is false if the ring does not hold it.
func (r *Ring) At(f ecs.Tick) (s *ecs.Snapshot, ok bool) {
	s = &r.slots[f&r.mask]
	return s, !s.Empty() && s.Tick() == f
}

// Floor returns the newest snapshot of a tick ≤ f; ok is false if the ring holds none.
func (r *Ring) Floor(f ecs.Tick) (s *ecs.Snapshot, ok bool) {
	if f > r.newest {
		f = r.newest
	}
	for range r.slots {
		if s, ok = r.At(f); ok || f == 0 {
			return s, ok
		}
		f--
	}
	return nil, false
}

// DropAfter lets go of every snapshot of a tick > f: they hold states that will not have been.
func (r *Ring) DropAfter(f ecs.Tick) {
	for k := r.newest; k > f && r.newest-k <= r.mask; k-- {
		if s, ok := r.At(k); ok {
			s.Release()
		}
	}
	r.newest = min(r.newest, f)
}

// Clear lets go of every snapshot.
func (r *Ring) Clear() {
	for i := range r.slots {
		r.slots[i].Release()
	}
	r.newest = 0
}
