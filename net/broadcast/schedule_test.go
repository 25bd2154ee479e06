package broadcast

import (
	"testing"
	"time"

	"tendon/ecs"
)

// live is a broadcast that goes on for ever, with a fragment every three seconds.
type live struct {
	paused time.Duration // no fragment is published from then on; 0: never
	down   bool          // no request is answered
	from   time.Duration // of down
	to     time.Duration
}

// at returns the index at a time.
func (l *live) at(now time.Duration) *Index {
	if l.paused > 0 {
		now = min(now, l.paused)
	}
	x := &Index{Version: 1, Run: "r", TickRate: 60, FragmentTicks: 180, Last: ecs.Tick(now/(3*time.Second)) * 180}
	for f := max(x.Last, listedFragments*180) - listedFragments*180; f < x.Last; f += 180 {
		x.Fragments = append(x.Fragments, f)
	}
	return x
}

// load runs a viewer's schedule over a time and returns its requests by kind, and the greatest time from the publication of a
// fragment to its request.
func (l *live) load(seed uint64, join, to time.Duration) (count [3]int, behind time.Duration) {
	s := NewSchedule(seed, join)
	for r := s.Next(); r.At < to; r = s.Next() {
		now, x := r.At, l.at(r.At)
		count[r.Kind]++
		response := Response{Index: x, Last: r.First + 180}
		switch {
		case l.down && now >= l.from && now < l.to:
			response.Err = errDown
		case r.Kind == KindTicks && r.First >= x.Last:
			response.Err = ErrNotFound
		case r.Kind == KindTicks:
			if published := time.Duration(r.First/180+1) * 3 * time.Second; published > join {
				behind = max(behind, now-published)
			}
		}
		s.Done(now+20*time.Millisecond, response)
	}
	return count, behind
}

// A viewer makes one request in three seconds, and hardly ever one for the index.
func TestAViewerMakesOneRequestInThreeSeconds(t *testing.T) {
	for seed := range uint64(50) {
		join := 30*time.Second + time.Duration(seed)*61*time.Millisecond
		count, behind := (&live{}).load(seed, join, join+10*time.Minute)
		if count[KindTicks] > 204 || count[KindIndex] > 4 || count[KindFull] != 1 || behind > 3500*time.Millisecond {
			t.Errorf("seed %d: %v requests in 10 minutes, %v behind", seed, count, behind)
		}
	}
}

// While a match is paused, or its server is down, viewers ask at most once in two seconds on average.
func TestViewersOfAPausedMatchWait(t *testing.T) {
	for name, l := range map[string]*live{"paused": {paused: time.Minute}, "down": {down: true, from: time.Minute, to: 20 * time.Minute}} {
		for seed := range uint64(20) {
			count, _ := l.load(seed, 50*time.Second, 10*time.Minute)
			if total := count[KindIndex] + count[KindTicks] + count[KindFull]; total > 275 || total < 50 {
				t.Errorf("%s, seed %d: %v requests in 9 minutes", name, seed, count)
			}
		}
	}
}
