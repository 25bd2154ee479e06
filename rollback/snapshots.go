package rollback

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Snapshots is a ring of a world's snapshots of recent ticks. Snapshots share the pages in which they are equal, so a
// ring costs what changed.
type Snapshots struct {
	Ring[image.Snapshot]
	newest ecs.Tick
	unused []image.Snapshot // memory of released snapshots
}

// NewSnapshots returns a ring for the last depth ticks; depth is rounded up to a power of two. It panics if depth is
// below 1.
func NewSnapshots(depth int) *Snapshots { return &Snapshots{Ring: NewRing[image.Snapshot](depth)} }

// Save stores the world's state under its tick, in place of the one that is Depth ticks older, and returns the
// snapshot.
func (r *Snapshots) Save(w *ecs.World) *image.Snapshot {
	s := r.Next(w.Tick())
	w.Image().Save(s)
	return s
}

// Next returns the snapshot of tick f, which the caller fills, in place of the one that is Depth ticks older.
func (r *Snapshots) Next(f ecs.Tick) *image.Snapshot {
	r.newest = max(r.newest, f)
	s, _ := r.Slot(f)
	if n := len(r.unused); n > 0 && s.Bare() {
		*s, r.unused = r.unused[n-1], r.unused[:n-1]
	}
	return s
}

// Release releases the snapshot of tick f, if the ring holds it. Its memory is used for the next tick in an empty slot. So a ring
// has memory only for the most ticks that were held at once.
func (r *Snapshots) Release(f ecs.Tick) {
	if s, ok := r.At(f); ok {
		s.Release()
		r.unused = append(r.unused, *s)
		*s = image.Snapshot{}
		r.Drop(f)
	}
}

// At returns the snapshot of tick f; ok is false if the ring does not hold it, or if it was released.
func (r *Snapshots) At(f ecs.Tick) (s *image.Snapshot, ok bool) {
	s, ok = r.Ring.At(f)
	return s, ok && !s.Empty()
}

// Floor returns the newest snapshot of a tick ≤ f; ok is false if the ring holds none.
func (r *Snapshots) Floor(f ecs.Tick) (s *image.Snapshot, ok bool) {
	f = min(f, r.newest)
	for range r.slots {
		if s, ok = r.At(f); ok || f == 0 {
			return s, ok
		}
		f--
	}
	return nil, false
}

// Fork returns a second world of the game in the state of tick f, with memory of its own: neither world changes the other. ok
// is false if the ring does not hold the tick. Views of players look back into the older states of the first world: see
// image.Image.SetPast.
func (r *Snapshots) Fork(g *ecs.Game, f ecs.Tick) (w *ecs.World, ok bool) {
	s, ok := r.At(f)
	if !ok {
		return nil, false
	}
	w, err := ecs.NewWorld(g, 0)
	if err == nil {
		err = w.Image().Copy(s)
	}
	if err != nil {
		panic(fmt.Sprintf("rollback: Fork of a world of another game: %v", err))
	}
	return w, true
}

// dropAfter drops all snapshots of ticks > f. They keep their pages until the next Save in their slot, or until vacate. Save
// then counts no references of pages that both states have.
func (r *Snapshots) dropAfter(f ecs.Tick) {
	for k := r.newest; k > f && r.newest-k <= r.mask; k-- {
		r.Drop(k)
	}
	if s, ok := r.Floor(f); ok {
		r.newest = s.Tick()
	}
}

// vacate releases the pages that a dropped snapshot of tick f has kept.
func (r *Snapshots) vacate(f ecs.Tick) {
	if _, held := r.tickAt(f); !held {
		s, _ := r.Ring.At(f)
		s.Release()
	}
}

// Clear releases all snapshots.
func (r *Snapshots) Clear() {
	for i := range r.slots {
		r.slots[i].value.Release()
	}
	r.Ring.Clear()
	r.newest = 0
}
