package interest

import (
	"slices"

	"tendon/ecs/fixed"
)

// pairs is the pair list of Cloud Wu's AOI service. Everything has an anchor: the position that was last accepted as a
// move. Movement below R/2 since then is none. What moved is compared with everything; a pair whose anchors are within
// 2R of each other goes to the hot list, which is compared in every Update by where things really are.
//
// Invariant after an Update: a pair that is not in a set is in the hot list, once and with both present versions, if and
// only if its anchors are within 2R. Two whose anchors are farther apart are each less than R/2 away from them, hence
// farther than R from each other: nothing is missed.
//
// The original drops a pair from the hot list when the things themselves are beyond 2R. From there they can come back,
// each by less than R/2 of its anchor, to within R without a move: the enter is missed. So the distance of the anchors
// decides here, which changes only with a version.
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
	moved   bool   // it stands in anchors.moved
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

// push takes a position, which is a move if it is fresh or not still.
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

// settle empties the list of what moved.
func (a *anchors) settle() {
	for _, id := range a.moved {
		a.at[id].moved = false
	}
	a.moved = a.moved[:0]
}

// left makes a pair hot again that was in a set. If either moved, find generates the pair.
func (p *pairs) left(w, m int) {
	if !p.watchers.at[w].moved && !p.markers.at[m].moved {
		p.heat(w, m)
	}
}

// heat puts a pair into the hot list if its anchors are near enough.
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

// recheck drops the hot pairs of which a version changed, and finds and drops those that are near.
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

// generate compares a pair of which one moved. A pair that is in a set is watched there.
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
