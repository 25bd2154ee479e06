package interest

import "tendon/ecs/fixed"

// pairs is the pair list of Cloud Wu's AOI service. Each watcher and marker has an anchor: the position of its last move.
// Movement of less than R/2 from the anchor is no move. After a move, all its pairs are compared. A pair whose anchors
// are within 2R of each other enters the hot list, whose present positions are compared in every Update.
//
// Invariant after an Update: exactly the pairs with anchors within 2R that are not in a set are in the hot list. Each is there
// once, with both present versions. Positions whose anchors are farther apart are each less than R/2 from their anchor, so
// they are farther than R from each other.
//
// The original drops a pair from the hot list when the positions are beyond 2R. From there they can come back to within R
// without a move, so that it misses the enter. Here the anchors decide, which change only with a version.
type pairs struct {
	sets     *Sets
	still    reach    // less than R/2
	far      reach    // 2R
	watchers []anchor // by id
	markers  []anchor
	moves    []uint32 // markers that moved since the last Update
	hot      []hotPair
}

type anchor struct {
	pos     fixed.Vec3
	version uint32 // one more with each move and with each removal
	moved   bool   // since the last Update
}

// hotPair is valid while both versions are.
type hotPair struct{ w, m, wVersion, mVersion uint32 }

// moved stores a position, which is a move if it is fresh or R/2 or more from the anchor.
func (p *pairs) moved(marker bool, id int, fresh bool) {
	list, pos := &p.markers, (*fixed.Vec3)(nil)
	if marker {
		pos = &p.sets.markers[id].pos
	} else {
		list, pos = &p.watchers, &p.sets.watchers[id].pos
	}
	at := slot(list, id)
	if !fresh && p.still.covers(&at.pos, pos) {
		return
	}
	if marker && !at.moved {
		p.moves = append(p.moves, uint32(id))
	}
	*at = anchor{*pos, at.version + 1, true}
}

// left adds a pair that was in a set to the hot list. If either moved, find compares the pair anyway.
func (p *pairs) left(w, m int) {
	if !p.watchers[w].moved && !p.markers[m].moved {
		p.heat(w, m)
	}
}

// heat adds a pair to the hot list if its anchors are within 2R.
func (p *pairs) heat(w, m int) {
	a, b := &p.watchers[w], &p.markers[m]
	if p.far.covers(&a.pos, &b.pos) {
		p.hot = append(p.hot, hotPair{uint32(w), uint32(m), a.version, b.version})
	}
}

func (p *pairs) find(found []uint64) []uint64 {
	s := p.sets
	found = p.recheck(found)
	for w := range p.watchers {
		at := &p.watchers[w]
		switch {
		case s.watchers[w].placed && at.moved:
			for m := range p.markers {
				found = p.compare(found, w, m)
			}
		case s.watchers[w].placed:
			for _, m := range p.moves {
				found = p.compare(found, w, int(m))
			}
		}
		at.moved = false
	}
	for _, m := range p.moves {
		p.markers[m].moved = false
	}
	p.moves = p.moves[:0]
	return found
}

// recheck drops the hot pairs with an old version, and appends those within R to found and drops them.
func (p *pairs) recheck(found []uint64) []uint64 {
	s, kept := p.sets, p.hot[:0]
	for _, h := range p.hot {
		if p.watchers[h.w].version != h.wVersion || p.markers[h.m].version != h.mVersion {
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

// compare compares a pair of which one moved, if the marker has a position. Sets checks the pairs that are in a set.
func (p *pairs) compare(found []uint64, w, m int) []uint64 {
	s := p.sets
	if !s.markers[m].placed {
		return found
	}
	s.counts.Compared++
	near := s.in.covers(&s.watchers[w].pos, &s.markers[m].pos)
	switch {
	case !near && !p.far.covers(&p.watchers[w].pos, &p.markers[m].pos), s.has(w, uint32(m)):
	case near:
		found = append(found, pairOf(w, m))
	default:
		p.heat(w, m)
	}
	return found
}
