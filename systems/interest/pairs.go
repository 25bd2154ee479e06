package interest

import (
	"slices"

	"tendon/ecs/fixed"
)

// pairs is the pair list of Cloud Wu's AOI service. Each watcher and marker has an anchor: the position of its last move.
// Movement of less than R/2 from the anchor is no move. After a move, all its pairs are compared. A pair whose anchors
// are within 2R of each other enters the hot list, whose present positions are compared in every Update.
//
// Invariant after an Update: a pair that is not in a set is in the hot list, once and with both present versions, exactly
// if its anchors are within 2R. Positions whose anchors are farther apart are each less than R/2 from their anchor, so
// they are farther than R from each other.
//
// The original drops a pair from the hot list when the positions are beyond 2R. From there they can come back to within R
// without a move, so that it misses the enter. Here the anchors decide, which change only with a version.
type pairs struct {
	sets     *Sets
	still    reach // less than R/2
	far      reach // 2R
	watchers anchors
	markers  anchors
	hot      []hotPair
}

// anchors are those of all watchers or all markers, by id.
type anchors struct {
	at    []anchor
	moved []uint32 // ids, each once, since the last Update
}

type anchor struct {
	pos     fixed.Vec3
	version uint32 // one more with each move and with each removal
	moved   bool   // its id is in anchors.moved
}

// hotPair is valid while both versions are.
type hotPair struct{ w, m, wVersion, mVersion uint32 }

func newPairs(s *Sets, radius fixed.Num) *pairs {
	return &pairs{sets: s, still: belowHalf(radius), far: within(2 * radius)}
}

func (p *pairs) watched(w int, fresh bool) {
	p.watchers.push(w, &p.sets.watchers[w].pos, fresh, &p.still)
}
func (p *pairs) placed(m int, fresh bool) { p.markers.push(m, &p.sets.markers[m].pos, fresh, &p.still) }
func (p *pairs) unwatched(w int)          { p.watchers.at[w].version++ }
func (p *pairs) removed(m int)            { p.markers.at[m].version++ }

// push stores a position, which is a move if it is fresh or R/2 or more from the anchor.
func (a *anchors) push(id int, pos *fixed.Vec3, fresh bool, still *reach) {
	if id >= len(a.at) {
		a.at = slices.Grow(a.at, id+1-len(a.at))[:id+1]
	}
	at := &a.at[id]
	if !fresh && still.covers(&at.pos, pos) {
		return
	}
	at.pos = *pos
	at.version++
	if !at.moved {
		at.moved = true
		a.moved = append(a.moved, uint32(id))
	}
}

// settle empties the list of moves.
func (a *anchors) settle() {
	for _, id := range a.moved {
		a.at[id].moved = false
	}
	a.moved = a.moved[:0]
}

// left adds a pair that was in a set to the hot list. If either moved, find compares the pair anyway.
func (p *pairs) left(w, m int) {
	if !p.watchers.at[w].moved && !p.markers.at[m].moved {
		p.heat(w, m)
	}
}

// heat adds a pair to the hot list if its anchors are within 2R.
func (p *pairs) heat(w, m int) {
	a, b := &p.watchers.at[w], &p.markers.at[m]
	if p.far.covers(&a.pos, &b.pos) {
		p.hot = append(p.hot, hotPair{uint32(w), uint32(m), a.version, b.version})
	}
}

func (p *pairs) find(found []uint64) []uint64 {
	s := p.sets
	found = p.recheck(found)
	for _, w := range p.watchers.moved {
		if !s.watchers[w].placed {
			continue
		}
		for m := range s.markers {
			if s.markers[m].placed {
				found = p.generate(found, int(w), m)
			}
		}
	}
	for _, m := range p.markers.moved {
		if !s.markers[m].placed {
			continue
		}
		for w := range s.watchers {
			if s.watchers[w].placed && !p.watchers.at[w].moved {
				found = p.generate(found, w, int(m))
			}
		}
	}
	p.watchers.settle()
	p.markers.settle()
	return found
}

// recheck drops the hot pairs with an old version, and appends those within R to found and drops them.
func (p *pairs) recheck(found []uint64) []uint64 {
	s, kept := p.sets, p.hot[:0]
	for _, h := range p.hot {
		if p.watchers.at[h.w].version != h.wVersion || p.markers.at[h.m].version != h.mVersion {
			continue
		}
		s.counts.Rechecked++
		if s.in.covers(&s.watchers[h.w].pos, &s.markers[h.m].pos) {
			found = append(found, pairOf(int(h.w), int(h.m)))
			continue
		}
		kept = append(kept, h)
	}
	p.hot = kept
	return found
}

// generate compares a pair of which one moved. Sets checks the pairs that are in a set.
func (p *pairs) generate(found []uint64, w, m int) []uint64 {
	s := p.sets
	s.counts.Compared++
	near := s.in.covers(&s.watchers[w].pos, &s.markers[m].pos)
	switch {
	case !near && !p.far.covers(&p.watchers.at[w].pos, &p.markers.at[m].pos), s.has(w, uint32(m)):
	case near:
		found = append(found, pairOf(w, m))
	default:
		p.heat(w, m)
	}
	return found
}
