package interest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs/fixed"
)

// fill fills a queue with a budget of so many updates of 10 bytes and returns what was packed, in order.
func fill(q *Queue, updates int, priority ...int) (packed []int) {
	q.Fill(10*updates, func(m int) fixed.Num { return fixed.FromInt(priority[m]) }, func(m, room int) int {
		packed = append(packed, m)
		return 10
	})
	return packed
}

func filled(t *testing.T, c QueueConfig, n int) *Queue {
	q := queue(t, c)
	for i := range n {
		q.Add(i)
	}
	return q
}

// The highest claim is sent first and it alone starts again from nothing, so that the lower ones get their turn in
// proportion to their priorities.
func TestTheHighestClaimIsSentAndOnlyThatIsReset(t *testing.T) {
	q := filled(t, QueueConfig{Rate: 1000, Bytes: 10}, 3)
	var order []int
	for range 7 {
		order = append(order, fill(q, 1, 4, 2, 1)...)
	}
	// 4 2 1 → 0; 4 4 2 → 0; 4 6 3 → 1; 8 2 4 → 0; 4 4 5 → 2; 8 6 1 → 0; 4 8 2 → 1
	if want := []int{0, 0, 1, 0, 2, 0, 1}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	if got := fill(q, 3, 4, 2, 1); !slices.Equal(got, []int{0, 2, 1}) {
		t.Errorf("all three: %v", got)
	}
}

// A negative priority means never, for as long as it lasts. What wakes up claims nothing for the time it slept, and no
// deadline was missed.
func TestANegativePriorityIsNeverSent(t *testing.T) {
	q := filled(t, QueueConfig{Rate: 5, Bytes: 10}, 2)
	for range 50 {
		if got := fill(q, 2, -1, 1); !slices.Equal(got, []int{1}) {
			t.Fatal(got)
		}
	}
	for range 2 {
		fill(q, 1, 3, 9) // claims something, and
	}
	fill(q, 1, -1, 1) // has nothing to tell
	if got := fill(q, 1, 4, 5); !slices.Equal(got, []int{1}) {
		t.Error(got)
	}
	if c := q.Counts(); c.Longest > 2 || c.Late > 0 || c.Forced > 0 {
		t.Errorf("%+v", c)
	}
}

// The last state of something that stops stays on screen for long if it is lost. So it is raised until it is known to
// have arrived; an acknowledgement of what was sent before says nothing of it.
func TestWhatCameToRestIsRaisedUntilThatIsAcknowledged(t *testing.T) {
	q := filled(t, QueueConfig{Rate: 1000, Bytes: 10, Rest: fixed.FromInt(9)}, 2)
	often := func() (n int) {
		for range 20 {
			if slices.Contains(fill(q, 1, 1, 4), 0) {
				n++
			}
		}
		return n
	}
	low := often()
	before := q.Counts().Fills
	q.Rested(0)
	q.Acked(0, before)
	high := often()
	q.Acked(0, before+1)
	after := often()
	if low > 5 || high < 12 || after > 5 {
		t.Errorf("of 20 it got %d, %d at rest, %d once that was acknowledged", low, high, after)
	}
	q.Rested(0)
	q.Stirred(0)
	if n := often(); n > 5 {
		t.Errorf("of 20 it got %d when it moved again", n)
	}
}

// What does not fit keeps its claim, and something smaller takes the room; but not everything is tried for it.
func TestWhatIsRefusedKeepsItsClaim(t *testing.T) {
	q := filled(t, QueueConfig{Rate: 1000, Bytes: 10}, 40)
	var tried []int
	pack := func(m, room int) int {
		tried = append(tried, m)
		if m == 0 && room < 50 || m > 1 {
			return Refused
		}
		return 30
	}
	priority := func(m int) fixed.Num { return fixed.FromInt(100 - m) }
	if spent := q.Fill(40, priority, pack); spent != 30 || !slices.Equal(tried, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("%d bytes, tried %v", spent, tried)
	}
	if c := q.Counts(); c.Refused != 9 || c.Updates != 1 || c.Waiting != 1 {
		t.Errorf("%+v", c)
	}
	tried = nil
	if spent := q.Fill(55, priority, pack); spent != 30 || tried[0] != 0 {
		t.Errorf("%d bytes, tried %v", spent, tried)
	}
}

// Where the budget is a fifth of what is needed, half of it goes to those that wait longest and half to those that
// matter most: nobody starves, and the highest is sent in almost every Fill all the same.
func TestAnOverloadStarvesNobodyAndKeepsPriorities(t *testing.T) {
	const rate, n = 20, 1000
	q := filled(t, QueueConfig{Rate: rate, Bytes: 10}, n)
	updates := make([]int, n)
	for range 1000 {
		q.Fill(100, func(m int) fixed.Num {
			switch {
			case m < 3:
				return fixed.FromInt(1000)
			case m < n/2:
				return fixed.FromInt(50)
			}
			return fixed.One
		}, func(m, room int) int { updates[m]++; return 10 })
	}
	c := q.Counts()
	if c.Longest <= rate || c.Longest > 2*n/10+rate {
		t.Errorf("the longest wait was %d Fills", c.Longest)
	}
	if least := slices.Min(updates); least < 5 || slices.Min(updates[:3]) < 15*slices.Max(updates[n/2:]) {
		t.Errorf("the rarest was sent %d times, the highest %v times", least, updates[:3])
	}
	if c.Late == 0 || c.Waiting == 0 || c.Bytes != 1000*100 {
		t.Errorf("%+v", c)
	}
}

// What a first update takes is learnt from the first of them. Taken for less than it is, the deadlines would be forgotten
// until it is too late.
func TestAWrongGuessOfTheFirstUpdatesIsMended(t *testing.T) {
	for _, guess := range []int{1, 200} {
		const rate, n = 20, 200
		q := filled(t, QueueConfig{Rate: rate, Bytes: guess}, n)
		for range 3 * rate {
			q.Fill(24*n/rate+24, func(m int) fixed.Num { return fixed.FromInt(1 + m/20*m) }, func(m, room int) int {
				if room < 24 {
					return Refused
				}
				return 24
			})
		}
		if c := q.Counts(); c.Longest > rate {
			t.Errorf("guessed %d bytes: the longest wait was %d of %d", guess, c.Longest, rate)
		}
	}
}

// What was packed for its deadline is not packed again for its claim.
func TestNothingIsPackedTwiceInAFill(t *testing.T) {
	q := filled(t, QueueConfig{Rate: 1, Bytes: 10}, 3)
	for range 5 {
		if got := fill(q, 10, 1, 3, 2); !slices.Equal(got, []int{1, 2, 0}) {
			t.Error(got)
		}
	}
	if c := q.Counts(); c.Forced != 15 || c.Updates != 15 || c.Late != 0 {
		t.Errorf("%+v", c)
	}
}

// Deadlines cost priorities nothing until time is short: with room for twice what a second needs, the order is that of
// the claims alone.
func TestDeadlinesDoNotInterfereBeforeTheyMust(t *testing.T) {
	q := filled(t, QueueConfig{Rate: 10, Bytes: 10}, 30)
	priority := slices.Repeat([]int{1}, 30)
	for i := range 3 {
		priority[i] = 100
	}
	for i := range 7 {
		if got := fill(q, 6, priority...); !slices.Equal(got[:3], []int{0, 1, 2}) {
			t.Errorf("fill %d: %v", i, got)
		}
	}
	if c := q.Counts(); c.Forced != 0 || c.Longest > 10 {
		t.Errorf("%+v", c)
	}
}

// An entity that left while it waited is forgotten, claim and all.
func TestWhatIsDroppedIsForgotten(t *testing.T) {
	q := filled(t, QueueConfig{Rate: 1000, Bytes: 10}, 3)
	for range 10 {
		fill(q, 1, 9, 1, 1)
	}
	q.Add(1) // it is there already: nothing changes
	q.Drop(2)
	q.Drop(2)
	if q.Len() != 2 {
		t.Fatal(q.Len())
	}
	q.Add(2)
	if got := fill(q, 3, 9, 1, 1); !slices.Equal(got, []int{1, 0, 2}) && !slices.Equal(got, []int{0, 1, 2}) {
		t.Error(got)
	}
	q.Clear()
	q.Rested(0)
	q.Stirred(0)
	q.Acked(0, 1)
	if got := fill(q, 3); q.Len() != 0 || got != nil {
		t.Error(got)
	}
}

// Nothing a game returns may break the sums: priorities saturate, and a budget may be nothing or less.
func TestClaimsSaturate(t *testing.T) {
	q := filled(t, QueueConfig{Rate: 1000, Rest: fixed.Max}, 2)
	q.Rested(1)
	for _, budget := range []int{0, -5, 0, 0, 0, 0} {
		if n := q.Fill(budget, func(int) fixed.Num { return fixed.Max }, func(int, int) int { t.Fatal("no room"); return 0 }); n != 0 {
			t.Fatal(n)
		}
	}
	if c := q.Counts(); c.Longest != 6 || c.Waiting != 6 {
		t.Errorf("%+v", c)
	}
	q.Add(2)
	if got := fill(q, 3, 1, 1, 9); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("claims beyond the largest number: %v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("an update larger than the room is taken")
		}
	}()
	q.Fill(10, func(int) fixed.Num { return 0 }, func(_, room int) int { return room + 1 })
}

// Equal calls give equal packets: a seed of a failing match must fail again.
func TestFillIsTheSameOnRepeatRuns(t *testing.T) {
	run := func() (packed []int) {
		r := rand.New(rand.NewPCG(7, 7))
		q := queue(t, QueueConfig{Rate: 20})
		for range 300 {
			if id := r.IntN(200); r.IntN(3) > 0 {
				q.Add(id)
			} else {
				q.Drop(id)
			}
			q.Fill(200, func(m int) fixed.Num { return fixed.FromInt(m % 5) }, func(m, room int) int {
				packed = append(packed, m)
				if n := 10 + r.IntN(30); n <= room {
					return n
				}
				return Refused
			})
		}
		return packed
	}
	if a, b := run(), run(); !slices.Equal(a, b) || len(a) < 2000 {
		t.Errorf("%d and %d updates differ", len(a), len(b))
	}
}

// The weights that the field names: each raises the priority, distance and firing by how near and how recent they are.
func TestWeightsAddUp(t *testing.T) {
	i := fixed.FromInt
	w := Weights{Near: i(8), Fired: i(4), FiredFor: 60, Own: i(100), Team: i(10)}
	for _, v := range []struct {
		f    Facts
		want fixed.Num
	}{
		{Facts{FiredSince: -1}, i(1)},
		{Facts{Radius: i(50), FiredSince: -1}, i(9)},
		{Facts{Radius: i(50), Distance: i(25), FiredSince: -1}, i(5)},
		{Facts{Radius: i(50), Distance: fixed.Max, FiredSince: -1}, i(1)},
		{Facts{FiredSince: 0}, i(5)},
		{Facts{FiredSince: 30}, i(3)},
		{Facts{FiredSince: 60}, i(1)},
		{Facts{FiredSince: 600}, i(1)},
		{Facts{FiredSince: -1, Own: true, Team: true}, i(111)},
	} {
		if got := w.Priority(v.f); got != v.want {
			t.Errorf("%+v: %v, want %v", v.f, got, v.want)
		}
	}
	if got := (Weights{}).Priority(Facts{}); got != fixed.One {
		t.Errorf("no weights: %v", got)
	}
}
