package interest

import (
	"fmt"
	"iter"
	"slices"

	"tendon/ecs/fixed"
)

// Sets holds a relevance set for each watcher.
//
// Invariant after an Update: a marker within R of a watcher is in its set. A marker that was beyond 1.25·R in Rate + 1
// Updates in a row is not. Any other marker is in the set if it was before. Sets and the order of events depend on the
// positions alone, not on the backend or the order of calls.
type Sets struct {
	in, out  reach
	grace    uint32
	watchers []watcher
	markers  []place
	gone     []uint32 // markers removed since the last Update
	finder   finder

	found  []uint64 // scratch: pairs that come near
	keys   []uint64 // scratch: events as numbers that sort like them
	events []Event
	counts Counts
}

// finder is a backend. Sets calls its methods after it has stored a change.
type finder interface {
	// watched and placed report a new position; fresh says that there was none before.
	watched(w int, fresh bool)
	placed(m int, fresh bool)
	// unwatched and removed report that there is no position any more.
	unwatched(w int)
	removed(m int)
	// left reports that marker m, which has a position, left the set of w.
	left(w, m int)
	// find appends all pairs within R that are not in a set, in any order.
	find(found []uint64) []uint64
}

// place is the position of a watcher or a marker.
type place struct {
	pos    fixed.Vec3
	placed bool
	gone   bool // removed since the last Update, even if the id was reused since
}

type watcher struct {
	place
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

// Kind is the kind of an Event.
type Kind uint8

// The kinds of events, in their order for one pair: an id that was removed and reused is first Gone, then Enter.
const (
	Gone  Kind = iota // the marker was removed
	Leave             // the marker was outside for a second
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

// Counts are totals since New, except Members and Hot, which are present values.
type Counts struct {
	Updates    uint64
	Enters     uint64
	Leaves     uint64 // with removed markers
	Compared   uint64 // pairs that were compared, without those of the hot list
	Rechecked  uint64 // pairs of the hot list that were compared; 0 with Grid
	Members    int    // markers in all sets
	Hot        int    // pairs in the hot list; 0 with Grid
	LargestSet int    // markers in the largest set since New
}

// New returns empty sets. The error is a *ConfigError.
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
	}
	return s, nil
}

// Watch sets the position of watcher w. It must be computed by the server: with a position of its own choice, a client
// could receive any entity.
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

// Unwatch removes watcher w and its set at once, without events. A client that lost its entity may keep its last position
// instead.
func (s *Sets) Unwatch(w int) {
	if w < 0 || w >= len(s.watchers) || !s.watchers[w].placed {
		return
	}
	at := &s.watchers[w]
	s.counts.Members -= len(at.members)
	at.placed, at.members = false, at.members[:0]
	s.finder.unwatched(w)
}

// Place sets the position of marker m. A step and a teleport are treated alike.
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

// Remove removes marker m from all sets at once. The next Update returns the events. The id may be reused before that.
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

// Update updates all sets and returns the changes, by watcher and then by marker. The events are valid until the next
// Update.
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

// leave removes the members of w that are gone or have been outside for a second.
func (s *Sets) leave(w int) {
	at := &s.watchers[w]
	kept := at.members[:0]
	for _, m := range at.members {
		marker := &s.markers[m.marker]
		switch {
		case marker.gone:
			s.record(w, m.marker, Gone)
			continue
		case s.out.covers(&at.pos, &marker.pos):
			m.outside = 0
		case m.outside == s.grace:
			s.record(w, m.marker, Leave)
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

// enter adds the pairs that were found, which are ascending, to the sets.
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
			s.record(int(w), uint32(pair), Enter)
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

func (s *Sets) record(w int, m uint32, k Kind) {
	s.keys = append(s.keys, uint64(w)<<26|uint64(m)<<2|uint64(k))
}

// Set iterates over the set of w, ascending, as of the last Update without the markers that were removed since.
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

// AppendSet appends the markers that Set(w) yields to dst and returns the extended slice. It does not allocate, in
// contrast to an iterator.
func (s *Sets) AppendSet(dst []int, w int) []int {
	if w < 0 || w >= len(s.watchers) {
		return dst
	}
	for _, m := range s.watchers[w].members {
		if !s.markers[m.marker].gone {
			dst = append(dst, int(m.marker))
		}
	}
	return dst
}

// Has reports whether Set(w) yields m.
func (s *Sets) Has(w, m int) bool {
	return w >= 0 && w < len(s.watchers) && m >= 0 && m < len(s.markers) && !s.markers[m].gone && s.has(w, uint32(m))
}

// has reports whether m is a member of w, which must be in range.
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

// Distance returns the distance between w and m. It is fixed.Max if either has no position.
func (s *Sets) Distance(w, m int) fixed.Num {
	if w < 0 || w >= len(s.watchers) || m < 0 || m >= len(s.markers) || !s.watchers[w].placed || !s.markers[m].placed {
		return fixed.Max
	}
	return distance(&s.watchers[w].pos, &s.markers[m].pos)
}

// Counts returns the counters.
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
		panic(fmt.Sprintf("interest: id %d is outside [0, MaxID]; number watchers and markers from 0", id))
	}
}
