package queue

import (
	"cmp"
	"slices"
)

// Match is a match function. It receives a queue and returns the matches to make. It must not change its argument.
type Match func(v View) []Proposal

// View is one queue at one moment.
type View struct {
	Queue   string
	Now     int64   // ms since 1970
	Players int     // seats of a match
	Groups  []Group // in the order in which they were complete
	Rooms   []Open  // that request players, the first one first
}

// Group is a player who waits alone, or a party that is complete. Its tickets enter one match.
type Group struct {
	Tickets []*Ticket
	Since   int64 // when the first of them began to wait
}

// Wait returns how long the group has waited, in ms.
func (g *Group) Wait(now int64) int64 { return max(now-g.Since, 0) }

// Proposal is a match: indices of View.Groups. Seats are given in this order, from 0 on. A group is in one proposal at most.
type Proposal struct {
	Room   string // of View.Rooms, which the groups join; "": a new room
	Groups []int
}

// Fill makes matches in the order of arrival. It fills open rooms first, and then makes full matches. It is the default.
func Fill(v View) []Proposal {
	list, taken := fillRooms(&v)
	const mostPartial = 16 // incomplete matches with equally many free seats; it bounds the time of a pass, and further groups wait for the next one
	type partial struct {
		groups []int
		free   int
	}
	var begun []partial
	count := make([]int, v.Players+1) // of begun, by free seats
	for i := range v.Groups {
		n := len(v.Groups[i].Tickets)
		if taken[i] {
			continue
		}
		at := slices.IndexFunc(begun, func(m partial) bool { return n == m.free || n < m.free && count[m.free-n] < mostPartial })
		if at < 0 {
			if n > v.Players || count[v.Players-n] == mostPartial {
				continue
			}
			at = len(begun)
			begun = append(begun, partial{free: v.Players})
			count[v.Players]++
		}
		m := &begun[at]
		m.groups = append(m.groups, i)
		count[m.free]--
		m.free -= n
		count[m.free]++
		if m.free == 0 {
			count[0]--
			list = append(list, Proposal{Groups: m.groups})
			begun = slices.Delete(begun, at, at+1)
		}
	}
	return list
}

// fillRooms lets groups join open rooms in the order of arrival, and reports which groups do.
func fillRooms(v *View) (list []Proposal, taken []bool) {
	taken = make([]bool, len(v.Groups))
	for _, r := range v.Rooms {
		p, free := Proposal{Room: r.Room}, r.Seats
		for i := range v.Groups {
			if free == 0 {
				break
			}
			if n := len(v.Groups[i].Tickets); !taken[i] && n <= free {
				p.Groups, taken[i] = append(p.Groups, i), true
				free -= n
			}
		}
		if len(p.Groups) > 0 {
			list = append(list, p)
		}
	}
	return list, taken
}

// Rating configures ByRating.
type Rating struct {
	Attribute string // name of the number that rates a player
	// Spread is the difference that a group accepts at first. It grows by PerSecond for every second of waiting.
	Spread, PerSecond int64
}

// ByRating returns a match function that makes full matches of players with similar ratings. The group that has waited longest
// chooses first: it takes the groups with the nearest ratings, if all are within its spread. The rating of a party is the mean
// of its players. Open rooms are filled in the order of arrival.
func ByRating(r Rating) Match {
	return func(v View) []Proposal {
		list, joined := fillRooms(&v)
		s := newSorted(&v, r.Attribute)
		for g, joins := range joined {
			if joins {
				s.remove(g)
			}
		}
		for i := range v.Groups {
			if s.taken[i] {
				continue
			}
			spread := r.Spread + r.PerSecond*v.Groups[i].Wait(v.Now)/1000
			if groups := s.around(&v, i, spread); groups != nil {
				for _, g := range groups {
					s.remove(g)
				}
				list = append(list, Proposal{Groups: groups})
			}
		}
		return list
	}
}

// sorted are groups in the order of their ratings, as a list from which groups are removed.
type sorted struct {
	rating     []int64 // by group
	prev, next []int   // by group; −1: none
	taken      []bool
}

func newSorted(v *View, attribute string) *sorted {
	n := len(v.Groups)
	s := &sorted{make([]int64, n), make([]int, n), make([]int, n), make([]bool, n)}
	order := make([]int, n)
	for i := range v.Groups {
		order[i] = i
		// The sum of parts keeps the mean of large numbers within the range.
		tickets := v.Groups[i].Tickets
		rest := int64(0)
		for _, t := range tickets {
			x := t.Attributes.Number(attribute)
			s.rating[i] += x / int64(len(tickets))
			rest += x % int64(len(tickets))
		}
		s.rating[i] += rest / int64(len(tickets))
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(s.rating[a], s.rating[b]), a-b) })
	for at, i := range order {
		s.prev[i], s.next[i] = -1, -1
		if at > 0 {
			s.prev[i] = order[at-1]
		}
		if at+1 < n {
			s.next[i] = order[at+1]
		}
	}
	return s
}

func (s *sorted) remove(i int) {
	s.taken[i] = true
	if p := s.prev[i]; p >= 0 {
		s.next[p] = s.next[i]
	}
	if n := s.next[i]; n >= 0 {
		s.prev[n] = s.prev[i]
	}
}

// around returns a full match of a group with the nearest ones, or nil. It looks at a bounded number of groups.
func (s *sorted) around(v *View, i int, spread int64) []int {
	groups, free := []int{i}, v.Players-len(v.Groups[i].Tickets)
	below, above := s.prev[i], s.next[i]
	far := func(j int) int64 {
		if j < 0 {
			return -1
		}
		if d := max(s.rating[i], s.rating[j]) - min(s.rating[i], s.rating[j]); d >= 0 && d <= spread { // below 0: out of range
			return d
		}
		return -1
	}
	for looked := 0; free > 0 && looked < 8*v.Players; looked++ {
		lower, upper := far(below), far(above)
		var j int
		switch {
		case lower < 0 && upper < 0:
			return nil
		case upper < 0 || lower >= 0 && lower <= upper:
			j, below = below, s.prev[below]
		default:
			j, above = above, s.next[above]
		}
		if n := len(v.Groups[j].Tickets); n <= free {
			groups = append(groups, j)
			free -= n
		}
	}
	if free != 0 {
		return nil
	}
	return groups
}
