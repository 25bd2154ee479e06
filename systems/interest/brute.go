package interest

// brute compares every pair in every Update.
type brute struct{ sets *Sets }

func (*brute) watched(int, bool) {}
func (*brute) placed(int, bool)  {}
func (*brute) unwatched(int)     {}
func (*brute) removed(int)       {}
func (*brute) left(int, int)     {}

func (b *brute) find(found []uint64) []uint64 {
	s := b.sets
	for w := range s.watchers {
		at := &s.watchers[w]
		if !at.placed {
			continue
		}
		for m := range s.markers {
			marker := &s.markers[m]
			if !marker.placed {
				continue
			}
			s.counts.Compared++
			if s.in.covers(&at.pos, &marker.pos) && !s.has(w, uint32(m)) {
				found = append(found, pairOf(w, m))
			}
		}
	}
	return found
}
