package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/cmd/cli/backend/queue"
)

const (
	passTickets = 10_000
	passPlayers = 8 // of a match
	passRepeats = 31
)

// waitingQueue returns a queue with tickets, three of ten of which are parties of three. They have waited for up to 10 s.
func waitingQueue(match queue.Match) (*queue.State, int64) {
	s := queue.New(queue.Config{Queues: []queue.Queue{{Name: "q", Players: passPlayers, Match: match}}, Prefix: "m"})
	random := rand.New(rand.NewPCG(1, 2))
	now := int64(1000)
	for i := range passTickets {
		t := queue.Ticket{ID: fmt.Sprintf("ticket%014d", i), Player: fmt.Sprint("player", i), Queue: "q",
			Attributes: queue.Attributes{"rating": queue.Number(random.Int64N(3000)), "region": queue.Text("eu")}}
		if i%10 < 3 {
			t.Party, t.PartySize = fmt.Sprint("party", i/10), 3
		}
		_, e, err := s.Submit(now, t)
		if err == nil {
			err = s.Apply(e)
		}
		measure.Must(0, err)
		now++
	}
	return s, now
}

// A pass is the match function, the event as JSON, and its effect on the state.
func BenchmarkBackend(b *testing.B) {
	for _, m := range []struct {
		name, what string
		match      queue.Match
	}{
		{"fill", "by arrival", queue.Fill},
		{"rating", "by rating and wait", queue.ByRating(queue.Rating{Attribute: "rating", Spread: 100, PerSecond: 20})},
	} {
		b.Run("pass/"+m.name, func(b *testing.B) {
			var times []float64
			matches := 0
			for b.Loop() {
				for range passRepeats {
					s, now := waitingQueue(m.match)
					start := time.Now()
					e, _, err := s.Pass(now, "q", func() string { return "server" })
					measure.Must(0, err)
					measure.Must(e.Append(nil))
					measure.Must(0, s.Apply(e))
					s.Changed()
					times = append(times, float64(time.Since(start)))
					matches = len(e.Matches)
				}
			}
			measure.Row{What: fmt.Sprintf("backend: a pass over 10 000 tickets, matches of %d %s", passPlayers, m.what), Reference: "100 ms", Unit: "pass",
				Note: fmt.Sprintf("%d matches", matches), Reach: 1}.Report(b, measure.Of(float64(100*time.Millisecond), times...))
		})
	}
}

// The tickets of the rows are matched.
func TestAPassMatchesItsTickets(t *testing.T) {
	for _, match := range []queue.Match{queue.Fill, queue.ByRating(queue.Rating{Attribute: "rating", Spread: 100, PerSecond: 20})} {
		s, now := waitingQueue(match)
		e, _, err := s.Pass(now, "q", func() string { return "server" })
		if err != nil || len(e.Matches) < passTickets/passPlayers*9/10 {
			t.Errorf("%v, %v", e, err)
		}
	}
}
