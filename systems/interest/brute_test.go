package interest

import "testing"

// The indexes of the result of all.
const (
	withGrid = iota
	withPairs
	bruteForce // the test oracle
)

// all returns a Sets with each finder, and last one that compares every pair.
func all(t testing.TB, c Config) []*Sets {
	var sets []*Sets
	for i := range bruteForce + 1 {
		c.PairList = i == withPairs
		s, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		if i == bruteForce {
			s.finder = &brute{s}
		}
		sets = append(sets, s)
	}
	return sets
}

// brute compares every pair in every Update. It is the oracle of the finders.
type brute struct{ sets *Sets }

func (*brute) moved(bool, int, bool) {}
func (*brute) left(int, int)         {}

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
