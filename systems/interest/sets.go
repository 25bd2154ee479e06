package interest

import (
	"fmt"
	"math"
	"slices"

	"tendon/ecs/fixed"
)

// Config configures relevance sets.
type Config struct {
	// Radius is R in world units, in (0, MaxRadius]. A marker enters a watcher's set at a distance of R or less and leaves
	// it beyond 1.25·R. Required.
	Radius fixed.Num
	// Rate is the number of Updates per second, in [1, MaxRate]. A marker leaves after Rate Updates outside. Required.
	Rate int
	// PairList finds the pairs that come near with Cloud Wu's pair list instead of a grid. The sets are the same. It is
	// faster while markers move slowly, and stores every pair within 2R, in 16 bytes.
	PairList bool
}

// Bounds of a Config.
const (
	MaxRadius = fixed.One << 29 // twice the radius squared still fits 128 bits in three dimensions
	MaxRate   = 1000
)

// MaxID bounds the ids of watchers and markers, which index slices.
const MaxID = 1<<24 - 1

// Sets holds a relevance set for each watcher.
//
// Invariant after an Update: a marker within R of a watcher is in its set. A marker that was beyond 1.25·R in Rate + 1
// Updates in a row is not. Any other marker is in the set if it was before. Sets and the order of events depend on the
// positions alone, not on Config.PairList or the order of calls.
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

// finder finds the pairs that come near. Sets calls its methods after it has stored a change.
type finder interface {
	// moved reports a new position of a marker or else a watcher. fresh says that it had none before, or has none now.
	moved(marker bool, id int, fresh bool)
	// left reports that marker m, which has a position, left the set of w.
	left(w, m int)
	// find appends all pairs within R that are not in a set, in any order.
	find(found []uint64) []uint64
}

type place struct {
	pos    fixed.Vec3
	placed bool
	gone   bool // removed since the last Update, even if the id was reused since
}

type watcher struct {
	place
	members []member // ascending
}

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
)

// Counts are totals since New, except Members, which is the present value.
type Counts struct {
	Enters    uint64
	Compared  uint64 // pairs that were compared, without those of the hot list
	Rechecked uint64 // pairs of the hot list that were compared; 0 for a grid
	Members   int    // markers in all sets
}

// New returns empty sets. It fails for a Config that is out of bounds.
func New(c Config) (*Sets, error) {
	switch {
	case c.Radius <= 0 || c.Radius > MaxRadius:
		return nil, fmt.Errorf("interest: Radius is %v, want (0, %v]", c.Radius, fixed.Num(MaxRadius))
	case c.Rate < 1 || c.Rate > MaxRate:
		return nil, fmt.Errorf("interest: Rate is %d, want [1, %d]", c.Rate, MaxRate)
	}
	s := &Sets{in: within(c.Radius), out: within(c.Radius + c.Radius/4), grace: uint32(c.Rate)}
	if c.PairList {
		s.finder = &pairs{sets: s, still: belowHalf(c.Radius), far: within(2 * c.Radius)}
	} else {
		s.finder = &grid{sets: s, scale: math.MaxUint64 / uint64(c.Radius), bits: minGridBits, stale: true}
	}
	return s, nil
}

// Watch sets the position of watcher w. It must be computed by the server: with a position of its own choice, a client
// could receive any entity.
func (s *Sets) Watch(w int, pos fixed.Vec3) {
	at := slot(&s.watchers, w)
	fresh := !at.placed
	at.pos, at.placed = pos, true
	s.finder.moved(false, w, fresh)
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
	s.finder.moved(false, w, true)
}

// Place sets the position of marker m. A step and a teleport are treated alike.
func (s *Sets) Place(m int, pos fixed.Vec3) {
	at := slot(&s.markers, m)
	fresh := !at.placed
	at.pos, at.placed = pos, true
	s.finder.moved(true, m, fresh)
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
	s.finder.moved(true, m, true)
}

// Update updates all sets and returns the changes, by watcher and then by marker. The events are valid until the next
// Update.
func (s *Sets) Update() []Event {
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
	s.counts.Members -= len(at.members) - len(kept)
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

// AppendSet appends the set of w, ascending, to dst and returns the extended slice. The set is that of the last Update,
// without the markers that were removed since.
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

// Has reports whether m is in the set of w: see AppendSet.
func (s *Sets) Has(w, m int) bool {
	return s.inRange(w, m) && !s.markers[m].gone && s.has(w, uint32(m))
}

func (s *Sets) inRange(w, m int) bool {
	return w >= 0 && w < len(s.watchers) && m >= 0 && m < len(s.markers)
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
	if !s.inRange(w, m) || !s.watchers[w].placed || !s.markers[m].placed {
		return fixed.Max
	}
	return distance(&s.watchers[w].pos, &s.markers[m].pos)
}

// Counts returns the counters.
func (s *Sets) Counts() Counts { return s.counts }

// pairOf packs a pair so that pairs sort by watcher and then by marker.
func pairOf(w, m int) uint64 { return uint64(w)<<32 | uint64(m) }

// slot returns the element of an id. The list grows as needed.
func slot[T any](list *[]T, id int) *T {
	if uint(id) >= uint(len(*list)) {
		grow(list, id)
	}
	return &(*list)[id]
}

func grow[T any](list *[]T, id int) {
	if id < 0 || id > MaxID {
		panic(fmt.Sprintf("interest: id %d is outside [0, MaxID]; number watchers and markers from 0", id))
	}
	*list = slices.Grow(*list, id+1-len(*list))[:id+1]
}
