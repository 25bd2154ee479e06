package interest

import (
	"fmt"
	"iter"
	"slices"

	"tendon/ecs/fixed"
)

// Sets holds, for each watcher, the set of markers that it hears of.
//
// Invariant after an Update: a marker within R of a watcher is in its set; one that has been beyond 1.25·R in Rate
// Updates and one more is not; one in between is where it was. What is in a set, and the order of events, follows from
// the positions alone, whatever the backend and the order of calls.
type Sets struct {
	in, out  reach
	grace    uint32
	watchers []watcher
	markers  []spot
	gone     []uint32 // markers removed since the last Update
	finder   finder

	found  []uint64 // scratch: pairs that come near
	keys   []uint64 // scratch: events as numbers that sort like them
	events []Event
	counts Counts
}

// finder is what a backend does. Its methods are told of positions after Sets has taken them.
type finder interface {
	// watched and placed say where something is; fresh: it was nowhere before.
	watched(w int, fresh bool)
	placed(m int, fresh bool)
	// unwatched and removed say that it is nowhere.
	unwatched(w int)
	removed(m int)
	// left says that m, which is somewhere, left the set of w.
	left(w, m int)
	// find appends all pairs that are within R and not in a set, in any order.
	find(found []uint64) []uint64
}

// spot is where something is.
type spot struct {
	pos    fixed.Vec3
	placed bool
	gone   bool // removed since the last Update, whether or not its slot was taken again
}

type watcher struct {
	spot
	members []member // ascending
}

// member is a marker in a set.
type member struct {
	marker  uint32
	outside uint32 // Updates in a row that found it beyond 1.25·R
}

// Event is a change of a watcher's set.
type Event struct {
	Watcher, Marker int
	Kind            Kind
}

// Kind says what an Event is.
type Kind uint8

// The kinds of events, in the order in which those of one pair are told: a slot that was removed and taken again is
// first Gone and then an Enter.
const (
	Gone  Kind = iota // the marker was removed
	Leave             // the marker was outside for long enough
	Enter             // the marker came within the radius
	kinds
)

// String returns the kind's name.
func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return [kinds]string{"gone", "leave", "enter"}[k]
}

// Counts are totals since New, but for Members and Hot, which are as they are.
type Counts struct {
	Updates    uint64
	Enters     uint64
	Leaves     uint64 // markers that were removed included
	Compared   uint64 // pairs that were generated and compared, rechecks excluded
	Rechecked  uint64 // pairs of the hot list that were compared again; 0 but for the backend Pairs
	Members    int    // markers in all sets
	Hot        int    // pairs in the hot list
	LargestSet int    // markers in the largest set there was
}

// New returns empty sets, or a *ConfigError.
func New(c Config) (*Sets, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Sets{in: within(c.Radius), out: within(c.Radius + c.Radius/4), grace: uint32(c.Rate)}
	switch c.Backend {
	case Grid:
		s.finder = newGrid(s, c.Radius)
	case Pairs:
		s.finder = newPairs(s, c.Radius)
	case Brute:
		s.finder = &brute{s}
	}
	return s, nil
}

// Watch places watcher w. It must be the server's position of the client, never one that the client tells: else a
// client could listen wherever it likes.
func (s *Sets) Watch(w int, pos fixed.Vec3) {
	checkID(w)
	if w >= len(s.watchers) {
		s.watchers = slices.Grow(s.watchers, w+1-len(s.watchers))[:w+1]
	}
	at := &s.watchers[w]
	fresh := !at.placed
	at.pos, at.placed = pos, true
	s.finder.watched(w, fresh)
}

// Unwatch forgets watcher w and its set at once. There are no events: nobody is left to hear of them. A client that
// lost its entity but stays may as well keep its last position.
func (s *Sets) Unwatch(w int) {
	if w < 0 || w >= len(s.watchers) || !s.watchers[w].placed {
		return
	}
	at := &s.watchers[w]
	s.counts.Members -= len(at.members)
	at.placed, at.members = false, at.members[:0]
	s.finder.unwatched(w)
}

// Place puts marker m somewhere, wherever it was before: a step and a teleport are the same.
func (s *Sets) Place(m int, pos fixed.Vec3) {
	checkID(m)
	if m >= len(s.markers) {
		s.markers = slices.Grow(s.markers, m+1-len(s.markers))[:m+1]
	}
	at := &s.markers[m]
	fresh := !at.placed
	at.pos, at.placed = pos, true
	s.finder.placed(m, fresh)
}

// Remove takes marker m out of all sets at once; the next Update tells of it. The id may be given to something else
// before that.
func (s *Sets) Remove(m int) {
	if m < 0 || m >= len(s.markers) || !s.markers[m].placed {
		return
	}
	at := &s.markers[m]
	at.placed = false
	if !at.gone {
		at.gone = true
		s.gone = append(s.gone, uint32(m))
	}
	s.finder.removed(m)
}

// Update brings all sets up to date and returns what changed, by watcher and then by marker. The events are valid until
// the next Update.
func (s *Sets) Update() []Event {
	s.counts.Updates++
	s.keys = s.keys[:0]
	for w := range s.watchers {
		s.leave(w)
	}
	for _, m := range s.gone {
		s.markers[m].gone = false
	}
	s.gone = s.gone[:0]

	s.found = s.finder.find(s.found[:0])
	slices.Sort(s.found)
	s.enter()

	slices.Sort(s.keys)
	s.events = s.events[:0]
	for _, k := range s.keys {
		s.events = append(s.events, Event{int(k >> 26), int(k >> 2 & MaxID), Kind(k & 3)})
	}
	return s.events
}

// leave drops the members of w that are gone or have been outside for long enough.
func (s *Sets) leave(w int) {
	at := &s.watchers[w]
	kept := at.members[:0]
	for _, m := range at.members {
		marker := &s.markers[m.marker]
		switch {
		case marker.gone:
			s.tell(w, m.marker, Gone)
			continue
		case s.out.covers(&at.pos, &marker.pos):
			m.outside = 0
		case m.outside == s.grace:
			s.tell(w, m.marker, Leave)
			s.finder.left(w, int(m.marker))
			continue
		default:
			m.outside++
		}
		kept = append(kept, m)
	}
	left := len(at.members) - len(kept)
	s.counts.Leaves += uint64(left)
	s.counts.Members -= left
	at.members = kept
}

// enter puts what was found, which is ascending, into the sets.
func (s *Sets) enter() {
	s.counts.Enters += uint64(len(s.found))
	s.counts.Members += len(s.found)
	for rest := s.found; len(rest) > 0; {
		w, n := rest[0]>>32, 1
		for n < len(rest) && rest[n]>>32 == w {
			n++
		}
		at := &s.watchers[w]
		at.members = merge(at.members, rest[:n])
		s.counts.LargestSet = max(s.counts.LargestSet, len(at.members))
		for _, pair := range rest[:n] {
			s.tell(int(w), uint32(pair), Enter)
		}
		rest = rest[n:]
	}
}

// merge inserts the markers of pairs into members. Both are ascending, and so is the result.
func merge(members []member, pairs []uint64) []member {
	i, j := len(members), len(pairs)
	members = slices.Grow(members, j)[:i+j]
	for k := i + j; j > 0; {
		k--
		if i > 0 && members[i-1].marker > uint32(pairs[j-1]) {
			i--
			members[k] = members[i]
		} else {
			j--
			members[k] = member{marker: uint32(pairs[j])}
		}
	}
	return members
}

func (s *Sets) tell(w int, m uint32, k Kind) {
	s.keys = append(s.keys, uint64(w)<<26|uint64(m)<<2|uint64(k))
}

// Set iterates over the markers that w hears of, ascending, as of the last Update less what was removed since.
func (s *Sets) Set(w int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if w < 0 || w >= len(s.watchers) {
			return
		}
		for _, m := range s.watchers[w].members {
			if !s.markers[m.marker].gone && !yield(int(m.marker)) {
				return
			}
		}
	}
}

// Has reports whether Set(w) has m.
func (s *Sets) Has(w, m int) bool {
	return w >= 0 && w < len(s.watchers) && m >= 0 && m < len(s.markers) && !s.markers[m].gone && s.has(w, uint32(m))
}

// has reports whether m is a member of w. The caller guarantees that w is in range.
func (s *Sets) has(w int, m uint32) bool {
	members := s.watchers[w].members
	lo, hi := 0, len(members)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if members[mid].marker < m {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(members) && members[lo].marker == m
}

// Distance returns how far m is from w, for priorities. It is fixed.Max if either is nowhere.
func (s *Sets) Distance(w, m int) fixed.Num {
	if w < 0 || w >= len(s.watchers) || m < 0 || m >= len(s.markers) || !s.watchers[w].placed || !s.markers[m].placed {
		return fixed.Max
	}
	return distance(&s.watchers[w].pos, &s.markers[m].pos)
}

// Counts returns what was done so far.
func (s *Sets) Counts() Counts {
	c := s.counts
	if p, ok := s.finder.(*pairs); ok {
		c.Hot = len(p.hot)
	}
	return c
}

// pairOf packs a pair so that pairs sort by watcher and then by marker.
func pairOf(w, m int) uint64 { return uint64(w)<<32 | uint64(m) }

func checkID(id int) {
	if id < 0 || id > MaxID {
		panic(fmt.Sprintf("interest: id %d is outside [0, MaxID]; number watchers and markers with small integers", id))
	}
}
