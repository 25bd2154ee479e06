package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// runner applies events and keeps them as a log.
type runner struct {
	testing.TB
	*State
	log []byte
	now int64
	ids int
}

func newRunner(t testing.TB, queues ...Queue) *runner {
	return &runner{TB: t, State: New(Config{Queues: queues, Prefix: "test"}), now: 1000}
}

func (r *runner) do(e *Event, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	if e == nil {
		return
	}
	if r.log, err = e.Append(r.log); err != nil {
		r.Fatal(err)
	}
	if err = r.Apply(e); err != nil {
		r.Fatal(err)
	}
}

// wait adds a ticket and returns its ID.
func (r *runner) wait(t Ticket) string {
	r.Helper()
	r.ids++
	t.ID = fmt.Sprint("t", r.ids)
	if t.Player == "" {
		t.Player = fmt.Sprint("p", r.ids)
	}
	_, e, err := r.Submit(r.now, t)
	r.do(e, err)
	return t.ID
}

func (r *runner) pass(queue string) (rooms []string) {
	r.Helper()
	e, _, err := r.Pass(r.now, queue, func() string { return "server" })
	r.do(e, err)
	if e != nil {
		for _, m := range e.Matches {
			rooms = append(rooms, fmt.Sprint(m.Room, m.Tickets))
		}
	}
	return rooms
}

func want[T any](t testing.TB, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Fill makes full matches in the order of arrival, and the tickets get the seats from 0 on.
func TestFillMakesFullMatchesInTheOrderOfArrival(t *testing.T) {
	r := newRunner(t, Queue{Name: "duel", Players: 2})
	for range 5 {
		r.wait(Ticket{Queue: "duel"})
	}
	want(t, r.pass("duel"), []string{"test-0[t1 t2]", "test-1[t3 t4]"})
	want(t, r.pass("duel"), nil)
	for id, seat := range map[string]int{"t1": 0, "t2": 1, "t3": 0, "t4": 1} {
		if s, _ := r.Get(id); s.State != Matched || s.Seat != seat || s.Server != "server" {
			t.Errorf("%s: %+v", id, s)
		}
	}
	if s, _ := r.Get("t5"); s.State != Queued {
		t.Errorf("%+v", s)
	}
}

// The players of a party enter one match. A party that is not complete waits, and so does one that lost a player.
func TestAPartyEntersOneMatch(t *testing.T) {
	r := newRunner(t, Queue{Name: "team", Players: 4})
	in := func(party string, size int) string {
		return r.wait(Ticket{Queue: "team", Party: party, PartySize: size})
	}
	in("red", 3)
	in("blue", 2)
	in("red", 3)
	in("", 0)
	gone := in("blue", 2)
	r.do(r.Cancel(r.now, gone, "player"))
	want(t, r.pass("team"), nil)
	first, _ := r.Get("t1")
	want(t, r.Missing(first.Ticket), 1)
	in("red", 3) // t6
	want(t, r.pass("team"), []string{"test-0[t4 t1 t3 t6]"})
	in("blue", 2) // t7
	in("", 0)
	in("", 0)
	want(t, r.pass("team"), []string{"test-1[t2 t7 t8 t9]"})
	for _, bad := range []Ticket{{Party: "green"}, {Party: "green", PartySize: 1}, {Party: "green", PartySize: 5}, {PartySize: 2}} {
		bad.ID, bad.Player, bad.Queue = "x", "x", "team"
		if _, _, err := r.Submit(r.now, bad); !errors.Is(err, ErrParty) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	in("green", 2)
	if _, _, err := r.Submit(r.now, Ticket{ID: "x", Player: "x", Queue: "team", Party: "green", PartySize: 3}); !errors.Is(err, ErrParty) {
		t.Error(err)
	}
	in("green", 2)
	if _, _, err := r.Submit(r.now, Ticket{ID: "x", Player: "x", Queue: "team", Party: "green", PartySize: 2}); !errors.Is(err, ErrParty) {
		t.Error(err)
	}
}

// Players with near ratings play together at once. The others wait until their spread is large enough.
func TestByRatingPrefersNearRatingsAndThenWaits(t *testing.T) {
	r := newRunner(t, Queue{Name: "ranked", Players: 2, Match: ByRating(Rating{Attribute: "rating", Spread: 50, PerSecond: 10})})
	for _, rating := range []int64{1000, 1500, 1030, 1540, 1020, 9000} {
		r.wait(Ticket{Queue: "ranked", Attributes: Attributes{"rating": Number(rating)}})
	}
	want(t, r.pass("ranked"), []string{"test-0[t1 t5]", "test-1[t2 t4]"})
	r.now += 60_000
	r.wait(Ticket{Queue: "ranked", Attributes: Attributes{"rating": Number(1600)}})
	want(t, r.pass("ranked"), []string{"test-2[t3 t7]"})
	if s, _ := r.Get("t6"); s.State != Queued {
		t.Errorf("%+v", s)
	}
}

// A room that requests players receives as many as it has free seats, before new matches are made.
func TestARoomThatAsksIsFilledFirst(t *testing.T) {
	for _, match := range []Match{Fill, ByRating(Rating{})} {
		r := newRunner(t, Queue{Name: "duel", Players: 2, Match: match})
		open := func(room string, seats int) {
			r.do(r.Backfill(r.now, Open{Room: room, Queue: "duel", Seats: seats, Server: "home"}, r.now))
		}
		open("old", 2)
		open("other", 2)
		open("other", 0)
		r.wait(Ticket{Queue: "duel"})
		want(t, r.pass("duel"), []string{"old[t1]"})
		r.wait(Ticket{Queue: "duel"})
		r.wait(Ticket{Queue: "duel"})
		r.wait(Ticket{Queue: "duel"})
		want(t, r.pass("duel"), []string{"old[t2]", "test-0[t3 t4]"})
		if s, _ := r.Get("t2"); s.Seat != AnySeat || s.Server != "home" {
			t.Errorf("%+v", s)
		}
	}
}

// passWithPlace makes a pass in which the servers have one place.
func (r *runner) passWithPlace(queue string) (e *Event, short bool) {
	r.Helper()
	places := 1
	e, short, err := r.Pass(r.now, queue, func() string {
		if places--; places < 0 {
			return ""
		}
		return "server"
	})
	r.do(e, err)
	return e, short
}

// Without a place on a server the tickets wait, and nothing is lost.
func TestWithoutAPlaceTheTicketsWait(t *testing.T) {
	r := newRunner(t, Queue{Name: "duel", Players: 1})
	r.wait(Ticket{Queue: "duel"})
	r.wait(Ticket{Queue: "duel"})
	e, short := r.passWithPlace("duel")
	if !short || len(e.Matches) != 1 || r.Len(Queued) != 1 {
		t.Errorf("%v %+v %d", short, e, r.Len(Queued))
	}
	if _, _, err := Replay(r.config, r.log); err != nil {
		t.Errorf("a replay counts it as a difference: %v", err)
	}
	want(t, r.pass("duel"), []string{"test-1[t2]"})
}

// A move changes the server of all tickets of a room, and of no other one.
func TestAMoveChangesTheServerOfARoom(t *testing.T) {
	r := newRunner(t, Queue{Name: "duel", Players: 2})
	for range 4 {
		r.wait(Ticket{Queue: "duel"})
	}
	r.pass("duel")
	r.do(r.Move(r.now, "test-0", "other"), nil)
	next, err := Load(r.config, r.log)
	if err != nil {
		t.Fatal(err)
	}
	for id, server := range map[string]string{"t1": "other", "t2": "other", "t3": "server", "t4": "server"} {
		if s, _ := next.Get(id); s.Server != server || s.State != Matched {
			t.Errorf("%s: %+v", id, s)
		}
	}
}

// A repeated request of a room is for fewer seats while players that were matched with it may not be connected yet.
func TestARepeatedRequestLeavesOutThePlayersThatMayCome(t *testing.T) {
	r := newRunner(t, Queue{Name: "team", Players: 4})
	seats := func(room string, ask int) int {
		e, err := r.Backfill(r.now, Open{Room: room, Queue: "team", Seats: ask}, r.now-45_000)
		r.do(e, err)
		return e.Open.Seats
	}
	want(t, seats("old", 2), 2)
	r.wait(Ticket{Queue: "team"})
	r.pass("team")
	r.now += 44_999
	want(t, seats("old", 3), 2)
	want(t, seats("other", 3), 3)
	want(t, seats("old", 1), 0)
	want(t, r.Open("other"), 0)
	want(t, seats("old", 0), 0)
	r.now++
	want(t, seats("old", 3), 3)
}

// Open leaves out the room with the given name.
func TestOpenCountsTheOtherRooms(t *testing.T) {
	r := newRunner(t, Queue{Name: "duel", Players: 2})
	for _, room := range []string{"one", "two"} {
		r.do(r.Backfill(r.now, Open{Room: room, Queue: "duel", Seats: 1}, r.now))
	}
	want(t, []int{r.Open("one"), r.Open("none")}, []int{1, 2})
}

// A state that continues after a pause keeps ended tickets as if there were none. It cancels tickets that cannot be matched any more.
func TestResume(t *testing.T) {
	r := newRunner(t, Queue{Name: "duel", Players: 2}, Queue{Name: "team", Players: 4}, Queue{Name: "gone", Players: 2})
	left := r.wait(Ticket{Queue: "duel"})
	r.do(r.Cancel(r.now, left, "player"))
	matched := []string{r.wait(Ticket{Queue: "duel"}), r.wait(Ticket{Queue: "duel"})}
	r.pass("duel")
	removed := r.wait(Ticket{Queue: "gone"})
	large := r.wait(Ticket{Queue: "team", Party: "red", PartySize: 3})
	small := r.wait(Ticket{Queue: "team", Party: "blue", PartySize: 2})
	next, err := Load(Config{Prefix: "test", Queues: []Queue{{Name: "duel", Players: 2}, {Name: "team", Players: 2}}}, r.log)
	if err != nil {
		t.Fatal(err)
	}
	now := r.now + 600_000
	if err := next.Resume(now); err != nil {
		t.Fatal(err)
	}
	expire := func(at int64) {
		t.Helper()
		if e := next.Expire(at); e != nil {
			if err := next.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	expire(now + 119_999)
	for id, state := range map[string]string{left: Cancelled, matched[0]: Matched, matched[1]: Matched, removed: Cancelled, large: Cancelled, small: Queued} {
		if s, _ := next.Get(id); s.State != state {
			t.Errorf("%s: %+v, want %q", id, s, state)
		}
	}
	for id, reason := range map[string]string{removed: "no such queue", large: "a match of the queue has 2 players"} {
		if s, _ := next.Get(id); !strings.Contains(s.Reason, reason) {
			t.Errorf("%s: %q", id, s.Reason)
		}
	}
	from, err := Load(Config{Queues: next.config.Queues}, func() []byte { line, _ := next.Snapshot().Append(nil); return line }())
	if err != nil {
		t.Fatal(err)
	}
	compare(t, from, next)
	expire(now + 120_000)
	for _, id := range matched {
		if s, ok := next.Get(id); ok {
			t.Errorf("%+v", s)
		}
	}
}

// A move keeps the tickets of the room for the whole time again, and those of other rooms as long as before.
func TestAMoveRenewsTheTicketsOfARoom(t *testing.T) {
	r := newRunner(t, Queue{Name: "duel", Players: 1})
	moved, other := r.wait(Ticket{Queue: "duel"}), r.wait(Ticket{Queue: "duel"})
	r.pass("duel")
	r.now += 60_000
	r.do(r.Move(r.now, "test-0", ""), nil)
	r.now += 60_000
	r.do(r.Expire(r.now), nil)
	if _, ok := r.Get(other); ok {
		t.Error("a ticket of another room is renewed")
	}
	if s, ok := r.Get(moved); !ok || s.Server != "" {
		t.Errorf("%+v", s)
	}
	r.now += 60_000
	r.do(r.Expire(r.now), nil)
	if _, ok := r.Get(moved); ok {
		t.Error("a ticket is never removed")
	}
}

// The number of tickets of a player in two minutes is bounded, also after a start from a snapshot. A duplicate is no further ticket.
func TestAPlayerMakesFewTickets(t *testing.T) {
	r := newRunner(t, Queue{Name: "duel", Players: 2})
	again := Ticket{ID: "x", Player: "ann", Queue: "duel", Key: "0"}
	for i := range maxHeld {
		r.do(r.Cancel(r.now, r.wait(Ticket{Player: "ann", Queue: "duel", Key: fmt.Sprint(i)}), ""))
		r.now++
	}
	often := func(s *State, player string) error {
		_, _, err := s.Submit(r.now, Ticket{ID: "x", Player: player, Queue: "duel"})
		return err
	}
	line, err := r.Snapshot().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := Load(r.config, line)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*State{r.State, next} {
		if err := often(s, "ann"); err != ErrOften {
			t.Error(err)
		}
		if err := often(s, "bob"); err != nil {
			t.Error(err)
		}
		if earlier, _, err := s.Submit(r.now, again); earlier == nil || err != nil {
			t.Error(earlier, err)
		}
	}
	r.now += 120_000 - maxHeld
	r.do(r.Expire(r.now), nil) // the first one
	if err := often(r.State, "ann"); err != nil {
		t.Error(err)
	}
	r.now += 120_000
	r.do(r.Expire(r.now), nil)
	want(t, len(r.held), 0)
}

// Parties that leave a seat free do not prevent matches of others. The number of matches that are not full is bounded.
func TestFillWithManyParties(t *testing.T) {
	var groups []Group
	add := func(n, size int) {
		for range n {
			groups = append(groups, Group{Tickets: make([]*Ticket, size)})
		}
	}
	add(64, 3)
	add(2, 2)
	want(t, Fill(View{Players: 4, Groups: groups}), []Proposal{{Groups: []int{64, 65}}})
	add(1, 5) // larger than a match
	add(2, 1)
	want(t, Fill(View{Players: 4, Groups: groups}), []Proposal{{Groups: []int{64, 65}}, {Groups: []int{0, 67}}, {Groups: []int{1, 68}}})
	groups = nil
	for range 17 {
		add(1, 4)
		add(1, 2)
	}
	add(1, 3)
	want(t, Fill(View{Players: 7, Groups: groups}), []Proposal{{Groups: []int{32, 34}}}) // 16 matches have one free seat
}

// A duplicate of a request returns the same ticket, also after it was matched. A player waits once in a queue.
func TestADuplicateReturnsTheSameTicket(t *testing.T) {
	r := newRunner(t, Queue{Name: "duel", Players: 1}, Queue{Name: "free", Players: 1})
	first := Ticket{Player: "ann", Queue: "duel", Key: "k"}
	id := r.wait(first)
	again := func() string {
		first.ID = "other"
		earlier, e, err := r.Submit(r.now, first)
		if earlier == nil || e != nil || err != nil {
			t.Fatal(earlier, e, err)
		}
		return earlier.ID
	}
	want(t, again(), id)
	var open *OpenError
	if _, _, err := r.Submit(r.now, Ticket{ID: "x", Player: "ann", Queue: "duel", Key: "l"}); !errors.As(err, &open) || open.ID != id {
		t.Error(err)
	}
	r.wait(Ticket{Player: "ann", Queue: "free"})
	r.pass("duel")
	want(t, again(), id)
	r.wait(Ticket{Player: "ann", Queue: "duel", Key: "l"}) // for the next match
	if _, err := r.Cancel(r.now, id, ""); !errors.Is(err, ErrMatched) {
		t.Error(err)
	}
	r.now += 120_000
	r.do(r.Expire(r.now), nil)
	if _, ok := r.Get(id); ok || r.Expire(r.now) != nil {
		t.Error("a matched ticket is never removed")
	}
}

// An impossible result of a match function is an error and makes no match.
func TestImpossibleMatchesAreErrors(t *testing.T) {
	var result []Proposal
	r := newRunner(t, Queue{Name: "duel", Players: 2, Match: func(View) []Proposal { return result }})
	r.do(r.Backfill(r.now, Open{Room: "old", Queue: "duel", Seats: 1}, r.now))
	for range 3 {
		r.wait(Ticket{Queue: "duel"})
	}
	for _, result = range [][]Proposal{
		{{Groups: []int{0, 0}}}, {{Groups: []int{0}}, {Groups: []int{0}}}, {{Groups: []int{3}}}, {{Groups: []int{-1}}}, {{}}, {{Groups: []int{0, 1, 2}}},
		{{Room: "older", Groups: []int{0}}}, {{Room: "old", Groups: []int{0, 1}}}, {{Room: "old", Groups: []int{0}}, {Room: "old", Groups: []int{1}}},
	} {
		if e, _, err := r.Pass(r.now, "duel", func() string { return "server" }); !errors.Is(err, ErrMatch) || e != nil {
			t.Errorf("%v: %v, %v", result, e, err)
		}
	}
}

// play makes a random history of requests and passes.
func play(r *runner, random *rand.Rand, steps int) {
	for range steps {
		r.now += random.Int64N(4000)
		q := []string{"duel", "team"}[random.IntN(2)]
		switch random.IntN(9) {
		case 0:
			r.pass(q)
		case 1:
			if id := fmt.Sprint("t", random.IntN(r.ids+1)); r.byID[id] != nil && r.byID[id].State == Queued {
				r.do(r.Cancel(r.now, id, "player"))
			}
		case 2:
			r.do(r.Backfill(r.now, Open{Room: fmt.Sprint("room", random.IntN(3)), Queue: q, Seats: random.IntN(3)}, r.now-5000))
		case 3:
			r.do(r.Expire(r.now), nil)
		case 4:
			r.do(r.SetBan(r.now, random.Uint64N(30)+1, max(random.Int64N(20_000)-5000, 0), ""))
		default:
			player := random.Uint64N(30)
			t := Ticket{Queue: q, Player: fmt.Sprint("p", player), Client: player + 1, Attributes: Attributes{"rating": Number(random.Int64N(2000))}}
			if q == "team" && random.IntN(2) == 0 {
				t.Party, t.PartySize = fmt.Sprint("party", random.IntN(3)), 2
			}
			t.ID = "x"
			if _, _, err := r.Submit(r.now, t); err == nil {
				r.wait(t)
			}
		}
	}
}

func testQueues() []Queue {
	return []Queue{{Name: "duel", Players: 2, Match: ByRating(Rating{Attribute: "rating", Spread: 100, PerSecond: 50})}, {Name: "team", Players: 4}}
}

// A ban cancels the tickets of a client. Submit refuses new ones until the ban ends. A newer ban replaces it.
func TestABannedPlayerDoesNotWait(t *testing.T) {
	r := newRunner(t, Queue{Name: "duel", Players: 2}, Queue{Name: "team", Players: 4})
	ban := func(client uint64, ms int64) { r.do(r.SetBan(r.now, client, ms, "rude")) }
	one, two := r.wait(Ticket{Player: "ann", Client: 1, Queue: "duel"}), r.wait(Ticket{Player: "ann", Client: 1, Queue: "team"})
	other := r.wait(Ticket{Player: "bob", Client: 2, Queue: "team"})
	ban(1, 60_000)
	for id, state := range map[string]string{one: Cancelled, two: Cancelled, other: Queued} {
		if s, _ := r.Get(id); s.State != state {
			t.Errorf("%s: %+v", id, s)
		}
	}
	if s, _ := r.Get(one); s.Reason != "the player is banned: rude" {
		t.Error(s.Reason)
	}
	allowed := func(client uint64, want bool) {
		t.Helper()
		_, _, err := r.Submit(r.now, Ticket{Player: "ann", Client: client, Queue: "duel"})
		if banned := (*BannedError)(nil); (err == nil) != want || err != nil && !errors.As(err, &banned) {
			t.Error(client, err)
		}
	}
	allowed(1, false)
	allowed(3, true)
	r.now += 59_999
	allowed(1, false)
	r.now++
	allowed(1, true)
	if e, err := r.SetBan(r.now, 1, 0, ""); e != nil || err != nil {
		t.Errorf("%+v ends no ban, %v", e, err)
	}
	ban(1, 1000)
	ban(1, 2000)
	allowed(1, false)
	want(t, len(r.bans), 1)
	ban(1, 0)
	allowed(1, true)
	// A ban lasts as long as it was set for, also if the clock was set back.
	r.now -= 90_000
	ban(1, 1000)
	allowed(1, false)
	r.now += 90_000
	// The number of bans is bounded. A newer ban of a client replaces the older one. Ended ones do not count.
	for i := range uint64(maxBans) - 1 {
		ban(10+i, 5000)
	}
	if _, err := r.SetBan(r.now, 5, 1000, ""); err != ErrBans {
		t.Error(err)
	}
	ban(10, 6000)
	want(t, len(r.Bans(r.now)), maxBans)
	ban(11, 0)
	ban(5, 5000)
	list := r.Bans(r.now)
	want(t, len(list), maxBans+1)
	want(t, slices.IsSortedFunc(list, func(a, b Ban) int { return int(a.Number - b.Number) }), true)
	for i := range list[1:] {
		if list[i].Number == list[i+1].Number {
			t.Fatalf("two bans have number %d", list[i].Number)
		}
	}
	want(t, list[len(list)-2], Ban{Client: 11, Until: r.now + 5000, Reason: "rude", Ended: true, Number: list[len(list)-1].Number - 1})
	allowed(11, true)
	r.now += 9000
	ban(1, 1000)
	want(t, len(r.bans), 1)
}

// A process that starts from any part of a log, or from a snapshot at any event, has the same tickets and makes the same matches.
// Each seat of a room is given once, and each ticket waits, has a seat or was cancelled.
func TestEveryPartOfALogGivesTheSameState(t *testing.T) {
	for seed := range uint64(4) {
		r := newRunner(t, testQueues()...)
		play(r, rand.New(rand.NewPCG(seed, 1)), 120)
		state := New(r.config)
		seats, tickets, ends := map[string]string{}, map[string]bool{}, map[string]bool{}
		log := r.log
		for e, err := range Events(r.log) {
			if err == nil {
				err = state.Apply(e)
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if e.Ticket != nil {
				tickets[e.Ticket.ID] = true
			}
			if e.Kind == KindCancel {
				ends[e.ID] = true
			}
			if e.Kind == KindBan {
				for _, s := range state.All() {
					if s.State == Cancelled && e.Ban.Client == s.Ticket.Client {
						ends[s.Ticket.ID] = true
					}
				}
			}
			for _, m := range e.Matches {
				for i, id := range m.Tickets {
					ends[id] = true
					seat := fmt.Sprint(m.Room, " ", m.FirstSeat+i)
					if other := seats[seat]; other != "" && !m.Backfill {
						t.Fatalf("seed %d: seat %s is given to %s and %s", seed, seat, other, id)
					}
					seats[seat] = id
				}
			}
			line, err := e.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			log = log[len(line):]
			// A process that dies here continues with a snapshot.
			snapshot, err := state.Snapshot().Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			next, _, err := Replay(Config{Queues: r.config.Queues, Prefix: "another"}, append(snapshot, log...))
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			compare(t, next, r.State)
			if from, err := Load(r.config, snapshot); err != nil || !slices.Equal(from.bans, state.bans) {
				t.Fatalf("seed %d: the snapshot differs in bans: %v", seed, err)
			}
		}
		for id := range tickets {
			if s, ok := r.Get(id); !ends[id] && (!ok || s.State != Queued) {
				t.Errorf("seed %d: ticket %s is lost", seed, id)
			}
		}
		if len(seats) < 15 {
			t.Fatalf("seed %d: only %d seats were given", seed, len(seats))
		}
	}
}

func compare(t *testing.T, a, b *State) {
	t.Helper()
	one, err := json.Marshal(a.Snapshot())
	two, err2 := json.Marshal(b.Snapshot())
	if err != nil || err2 != nil || string(one) != string(two) {
		t.Fatalf("%v %v\n%s\n%s", err, err2, one, two)
	}
}

// A replay with another match function names the first match that differs.
func TestAReplayFindsAnotherMatchFunction(t *testing.T) {
	r := newRunner(t, testQueues()...)
	play(r, rand.New(rand.NewPCG(1, 1)), 300)
	if _, passes, err := Replay(r.config, r.log); err != nil || passes < 5 {
		t.Fatal(passes, err)
	}
	other := r.config
	other.Queues = slices.Clone(other.Queues)
	other.Queues[0].Match = Fill
	if _, _, err := Replay(other, r.log); !errors.Is(err, ErrDiffers) {
		t.Error(err)
	}
}

// A replay finds a function that fills another room, and one that makes more or fewer matches. The log has the number of new rooms without
// a place.
func TestAReplayComparesRoomsAndNumbers(t *testing.T) {
	match := func(v View) []Proposal {
		return []Proposal{{Room: v.Rooms[0].Room, Groups: []int{0}}, {Groups: []int{1}}, {Groups: []int{2}}}
	}
	r := newRunner(t, Queue{Name: "duel", Players: 1, Match: func(v View) []Proposal { return match(v) }})
	for _, room := range []string{"one", "two"} {
		r.do(r.Backfill(r.now, Open{Room: room, Queue: "duel", Seats: 1}, r.now))
	}
	for range 4 {
		r.wait(Ticket{Queue: "duel"})
	}
	e, short := r.passWithPlace("duel")
	want(t, []any{short, len(e.Matches), e.Left}, []any{true, 2, 1})
	if _, _, err := Replay(r.config, r.log); err != nil {
		t.Error(err)
	}
	same := match
	for name, change := range map[string]func(list []Proposal) []Proposal{
		"another room": func(list []Proposal) []Proposal { list[0].Room = "two"; return list },
		"more":         func(list []Proposal) []Proposal { return append(list, Proposal{Groups: []int{3}}) },
		"fewer":        func(list []Proposal) []Proposal { return list[:2] },
		"others":       func(list []Proposal) []Proposal { list[1].Groups, list[2].Groups = []int{2}, []int{3}; return list },
	} {
		match = func(v View) []Proposal { return change(same(v)) }
		if _, _, err := Replay(r.config, r.log); !errors.Is(err, ErrDiffers) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A damaged log is an error.
func TestADamagedLogIsAnError(t *testing.T) {
	for _, log := range []string{"x\n", `{"kind":"time","at":1}`, `{"kind":"time","at":2}` + "\n" + `{"kind":"time","at":1}` + "\n", `{"kind":"none"}` + "\n",
		`{"kind":"ticket"}` + "\n", `{"kind":"cancel","id":"x"}` + "\n", `{"kind":"snapshot"}` + "\n", `{"kind":"snapshot","snapshot":{"waiting":[null]}}` + "\n",
		`{"kind":"snapshot","snapshot":{"ended":[{}]}}` + "\n", `{"kind":"pass","matches":[{"room":"a"}]}` + "\n", `{"kind":"pass","matches":[{"room":"-0","tickets":["x"]}]}` + "\n",
		`{"kind":"pass","matches":[{"room":"-0","tickets":["x"],"backfill":true}]}` + "\n"} {
		if _, err := Load(Config{}, []byte(log)); !errors.Is(err, ErrLog) {
			t.Errorf("%s: %v", log, err)
		}
	}
}

// Attributes are texts and whole numbers.
func TestAttributesAreTextsAndNumbers(t *testing.T) {
	var a Attributes
	text := `{"rating":-1500,"region":"eu"}`
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.Number("rating") != -1500 || a.Text("region") != "eu" || a.Number("none") != 0 {
		t.Fatal(a, err)
	}
	if back, err := json.Marshal(a); err != nil || string(back) != text {
		t.Errorf("%s, %v", back, err)
	}
	for _, bad := range []string{`{"a":1.5}`, `{"a":true}`, `{"a":[]}`, `{"a":null}`, `{"a":1e99}`} {
		if err := json.Unmarshal([]byte(bad), &a); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func filled(b testing.TB, match Match, tickets int) *runner {
	r := newRunner(b, Queue{Name: "q", Players: 8, Match: match})
	r.config.MaxTickets = 1 << 20
	random := rand.New(rand.NewPCG(1, 2))
	for i := range tickets {
		t := Ticket{Queue: "q", Attributes: Attributes{"rating": Number(random.Int64N(3000)), "region": Text("eu")}}
		if i%10 < 3 {
			t.Party, t.PartySize = fmt.Sprint("party", i/10), 3
		}
		r.wait(t)
		r.now++
	}
	return r
}

// The time of a pass over 10,000 tickets: the match function, the event as JSON, and its effect.
func BenchmarkPass(b *testing.B) {
	for _, m := range []struct {
		name  string
		match Match
	}{{"fill", Fill}, {"rating", ByRating(Rating{Attribute: "rating", Spread: 100, PerSecond: 20})}} {
		b.Run(m.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				r := filled(b, m.match, 10_000)
				b.StartTimer()
				e, _, err := r.Pass(r.now, "q", func() string { return "server" })
				r.do(e, err)
				b.StopTimer()
				if n := len(e.Matches); n < 1000 {
					b.Fatalf("%d matches", n)
				}
				b.StartTimer()
			}
		})
	}
}

func Example() {
	s := New(Config{Queues: []Queue{{Name: "duel", Players: 2}}, Prefix: "m"})
	apply := func(e *Event, err error) {
		if err == nil && e != nil {
			err = s.Apply(e) // after the event is stored
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	for _, player := range strings.Fields("ann bob") {
		_, e, err := s.Submit(1000, Ticket{ID: player + "-1", Player: player, Queue: "duel"})
		apply(e, err)
	}
	e, _, err := s.Pass(2000, "duel", func() string { return "server-1" })
	apply(e, err)
	status, _ := s.Get("bob-1")
	fmt.Println(status.State, status.Room, status.Seat, status.Server)
	// Output: matched m-0 1 server-1
}
