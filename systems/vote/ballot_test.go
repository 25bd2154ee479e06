package vote

import (
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/systems"
)

// The results that tests vote for. R is a result of the server that equals no vote.
var (
	resultA = Result{End: 900, Value: "1", Hash: 0xA}
	resultB = Result{End: 900, Value: "2", Hash: 0xB}
	resultC = Result{End: 900, Value: "1", Hash: 0xC}
	resultR = Result{End: 900, Value: "9", Hash: 0xD}
)

func letter(c byte) Result {
	return map[byte]Result{'A': resultA, 'B': resultB, 'C': resultC, 'R': resultR}[c]
}

// first returns the players in [0, n).
func first(n int) image.PlayerSet { return image.PlayerSet(1)<<n - 1 }

func players(list ...ecs.Player) (set image.PlayerSet) {
	for _, p := range list {
		set |= 1 << p
	}
	return set
}

const opened = 5 * systems.Second // when tests open ballots

// cast is one vote of a test: a late one comes after the deadline.
type cast struct {
	player ecs.Player
	claim  byte
	late   bool
}

// casts turns a word into votes: the n-th letter is player n's, '-' is silence.
func casts(word string) (list []cast) {
	for p := range len(word) {
		if word[p] != '-' {
			list = append(list, cast{player: ecs.Player(p), claim: word[p]})
		}
	}
	return list
}

// permutations calls f with every order of list. f must not keep it.
func permutations(list []cast, f func([]cast)) {
	if len(list) == 0 {
		f(nil)
		return
	}
	var place func(k int)
	place = func(k int) {
		if k == len(list) {
			f(list)
			return
		}
		for i := k; i < len(list); i++ {
			list[k], list[i] = list[i], list[k]
			place(k + 1)
			list[k], list[i] = list[i], list[k]
		}
	}
	place(0)
}

// hold opens a ballot for n players, casts the votes in their order, the late ones after the deadline, and answers a
// replay with server. It returns the verdict.
func hold(t *testing.T, b *Ballot, n int, struck image.PlayerSet, votes []cast, server Result) Verdict {
	t.Helper()
	b.Open(first(n), opened)
	now := opened
	for _, v := range votes {
		if !v.late {
			now += systems.Second / 10
			b.Cast(v.player, letter(v.claim), now)
		}
	}
	b.Step(opened+DefaultDeadline, struck)
	for _, v := range votes {
		if v.late {
			if b.Cast(v.player, letter(v.claim), opened+DefaultDeadline+1) {
				t.Fatalf("%v: a late vote counts", v)
			}
		}
	}
	if b.Step(opened+DefaultDeadline+2, struck) == Replaying && !b.Replayed(server) {
		t.Fatal("the replay was refused")
	}
	v, ok := b.Verdict()
	if !ok || b.Step(opened+DefaultDeadline+3, struck) != Closed {
		t.Fatalf("%v: no verdict in state %v", votes, b.Step(0, 0))
	}
	return v
}

// The table of votes (LS-11): each row by its id, in every order that the votes can arrive in, with how often the
// server had to replay.
func TestEveryRowOfTheTableOfVotesHasItsVerdictInEveryOrderOfArrival(t *testing.T) {
	rows := []struct {
		id      string
		n       int
		votes   []cast
		config  Config
		struck  image.PlayerSet
		server  byte // what a replay computes
		result  byte
		how     systems.How
		flagged image.PlayerSet // dissented
		silent  image.PlayerSet
		replays int
	}{
		{id: "V-40", n: 4, votes: casts("AAAA"), result: 'A', how: systems.ByMajority},
		{id: "V-31", n: 4, votes: casts("AAAB"), result: 'A', how: systems.Disputed, flagged: players(3)},
		{id: "V-22", n: 4, votes: casts("AABB"), server: 'A', result: 'A', how: systems.ByReplay, flagged: players(2, 3), replays: 1},
		{id: "V-22 neither", n: 4, votes: casts("AABB"), server: 'R', result: 'R', how: systems.ByReplay, flagged: players(0, 1, 2, 3), replays: 1},
		{id: "V-211", n: 4, votes: casts("AABC"), server: 'C', result: 'C', how: systems.ByReplay, flagged: players(0, 1, 2), replays: 1},
		{id: "V-11", n: 2, votes: casts("AB"), server: 'B', result: 'B', how: systems.ByReplay, flagged: players(0), replays: 1},
		{id: "V-3-", n: 4, votes: casts("AAA-"), result: 'A', how: systems.ByMajority, silent: players(3)},
		{id: "V-21-", n: 4, votes: casts("AAB-"), server: 'A', result: 'A', how: systems.ByReplay, flagged: players(2), silent: players(3), replays: 1},
		{id: "V-2--", n: 4, votes: casts("AA--"), server: 'A', result: 'A', how: systems.ByReplay, silent: players(2, 3), replays: 1},
		{id: "V----", n: 4, votes: casts("----"), server: 'R', result: 'R', how: systems.ByReplay, silent: players(0, 1, 2, 3), replays: 1},
		{id: "V-31-late", n: 4, votes: append(casts("AAA-"), cast{3, 'B', true}), result: 'A', how: systems.ByMajority, silent: players(3)},
		{id: "V-21-late", n: 4, votes: append(casts("AAB-"), cast{3, 'A', true}), server: 'B', result: 'B', how: systems.ByReplay, flagged: players(0, 1), silent: players(3), replays: 1},
		{id: "V-collude", n: 4, votes: casts("BBBA"), server: 'A', result: 'B', how: systems.Disputed, flagged: players(3)},
		{id: "V-collude audited", n: 4, votes: casts("BBBA"), config: Config{AuditPerMille: 1000}, server: 'A', result: 'A', how: systems.ByAudit, flagged: players(0, 1, 2), replays: 1},
		{id: "V-40 audited", n: 4, votes: casts("AAAA"), config: Config{AuditPerMille: 1000}, server: 'A', result: 'A', how: systems.ByAudit, replays: 1},
		{id: "V-31 budget", n: 4, votes: casts("AAAB"), config: Config{DissentReplays: 100}, server: 'A', result: 'A', how: systems.ByAudit, flagged: players(3), replays: 1},
		{id: "V-collude budget", n: 4, votes: casts("BBBA"), config: Config{DissentReplays: 1}, server: 'A', result: 'A', how: systems.ByAudit, flagged: first(3), replays: 1},
		{id: "V-31 budget, struck dissenter", n: 4, votes: casts("AAAB"), config: Config{DissentReplays: 1}, struck: players(3), result: 'A', how: systems.Disputed, flagged: players(3)},
		{id: "V-40 budget", n: 4, votes: casts("AAAA"), config: Config{DissentReplays: 1}, result: 'A', how: systems.ByMajority},
		{id: "V-collude, one struck", n: 4, votes: casts("BBBA"), struck: players(1), server: 'A', result: 'A', how: systems.ByReplay, flagged: first(3), replays: 1},
		{id: "V-2-1, one struck", n: 3, votes: casts("BBA"), struck: players(0), server: 'A', result: 'A', how: systems.ByReplay, flagged: first(2), replays: 1},
		{id: "V-2-1, all struck", n: 3, votes: casts("BBA"), struck: first(3), server: 'A', result: 'A', how: systems.ByReplay, flagged: first(2), replays: 1},
		{id: "V-40, one struck", n: 4, votes: casts("AAAA"), struck: players(2), result: 'A', how: systems.ByMajority},
		{id: "V-1", n: 1, votes: casts("A"), result: 'A', how: systems.ByMajority},
		{id: "V-1 silent", n: 1, votes: casts("-"), server: 'A', result: 'A', how: systems.ByReplay, silent: players(0), replays: 1},
		{id: "V-2-1", n: 3, votes: casts("AAB"), result: 'A', how: systems.Disputed, flagged: players(2)},
		{id: "V-111", n: 3, votes: casts("ABC"), server: 'B', result: 'B', how: systems.ByReplay, flagged: players(0, 2), replays: 1},
	}
	for _, row := range rows {
		t.Run(row.id, func(t *testing.T) {
			b, orders := NewBallot(row.config), 0
			permutations(row.votes, func(votes []cast) {
				orders++
				got := hold(t, b, row.n, row.struck, votes, letter(row.server))
				want := Verdict{Result: letter(row.result), How: row.how, Voted: first(row.n) &^ row.silent, Dissented: row.flagged, Replays: row.replays}
				if got != want {
					t.Fatalf("votes %v\n got %+v\nwant %+v", votes, got, want)
				}
			})
			if orders == 0 {
				t.Fatal("no order was tried")
			}
		})
	}
}

// V-dup. A player who sends two different votes gains nothing: the first counts. The player is flagged, also when the second
// vote arrives after voting has ended.
func TestTheFirstOfTwoVotesCountsAndThePlayerIsFlagged(t *testing.T) {
	b, orders := NewBallot(Config{}), 0
	votes := append(casts("AAAB"), cast{player: 3, claim: 'A'})
	permutations(votes, func(votes []cast) {
		orders++
		flagged := players(3) // B came first: a dissenter
		for _, v := range votes {
			if v.player == 3 {
				if v.claim == 'A' {
					flagged = 0
				}
				break
			}
		}
		got := hold(t, b, 4, 0, votes, resultR)
		want := Verdict{Result: resultA, Voted: first(4), How: systems.ByMajority, Dissented: flagged, Doubled: players(3)}
		if flagged != 0 {
			want.How = systems.Disputed
		}
		if got != want {
			t.Fatalf("votes %v\n got %+v\nwant %+v", votes, got, want)
		}
	})
	if orders != 120 {
		t.Fatalf("%d orders", orders)
	}
	// Where the second vote would have made the majority, it makes none.
	b.Open(first(4), 0)
	for _, v := range []cast{{0, 'A', false}, {1, 'A', false}, {2, 'B', false}, {2, 'A', false}} {
		b.Cast(v.player, letter(v.claim), 0)
	}
	if b.Step(opened+DefaultDeadline, 0) != Replaying {
		t.Error("a second vote decided")
	}
}

// A verdict has been read by then, so nothing of it but the flag may change.
func TestAVoteAfterTheVerdictOnlyFlags(t *testing.T) {
	b := NewBallot(Config{})
	before := hold(t, b, 4, 0, casts("AAAB"), resultR)
	if b.Cast(0, resultB, opened+DefaultDeadline+9) {
		t.Fatal("a second vote counts")
	}
	after, _ := b.Verdict()
	if before.Doubled != 0 || after.Doubled != players(0) {
		t.Errorf("doubled %b, then %b", before.Doubled, after.Doubled)
	}
	if after.Doubled = 0; after != before {
		t.Errorf("%+v became %+v", before, after)
	}
}

// Voting lasts until all have voted, so that a dissenter after the majority is flagged like earlier ones.
func TestAMajorityDoesNotEndVoting(t *testing.T) {
	b := NewBallot(Config{})
	b.Open(first(4), opened)
	for p := range ecs.Player(3) {
		if !b.Cast(p, resultA, opened) || b.Step(opened, 0) != Voting {
			t.Fatalf("%d of 4 end the voting", p+1)
		}
	}
	if _, ok := b.Verdict(); ok {
		t.Fatal("a verdict before voting has ended")
	}
	if !b.Cast(3, resultB, opened+1) || b.Step(opened+1, 0) != Closed {
		t.Fatal("the last vote does not count")
	}
	if v, ok := b.Verdict(); !ok || v.Result != resultA || v.How != systems.Disputed || v.Dissented != players(3) || v.Voted != first(4) {
		t.Fatalf("verdict %+v, %v", v, ok)
	}
}

// Half is not more than half, with any number of players.
func TestAStrictMajorityOfTheRegisteredIsNeeded(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 8, 63, 64} {
		for agreeing := range n + 1 {
			b := NewBallot(Config{})
			registered := first(n)
			b.Open(registered, 0)
			for p := range registered.All() {
				if int(p) < agreeing && !b.Cast(p, resultA, 0) {
					t.Fatal("a vote does not count")
				}
			}
			want := agreeing > n/2
			state := b.Step(DefaultDeadline, 0)
			if (state == Closed) != want || (state == Replaying) == want {
				t.Errorf("%d of %d agree: %v", agreeing, n, state)
			}
		}
	}
}

// A seat is a place in a set of 64, and the sets of a match have holes.
func TestSeatsNeedNotBeTheFirst(t *testing.T) {
	b := NewBallot(Config{})
	b.Open(players(0, 31, 63), 0)
	for _, p := range []ecs.Player{63, 0} {
		if !b.Cast(p, resultA, 0) {
			t.Fatal("a vote does not count")
		}
	}
	if b.Step(DefaultDeadline, 0) != Closed {
		t.Fatal("2 of 3 did not decide")
	}
	if v, ok := b.Verdict(); !ok || v.Voted != players(0, 63) {
		t.Errorf("%+v, %v", v, ok)
	}
	if r, ok := b.Vote(63); !ok || r != resultA {
		t.Errorf("vote %v, %v", r, ok)
	}
	if r, ok := b.Vote(31); ok || r != (Result{}) {
		t.Errorf("vote of the silent %v, %v", r, ok)
	}
}

// The parts of a triple are compared one by one: an equal digest of another end is another claim.
func TestResultsThatDifferInAnythingAreDifferentGroups(t *testing.T) {
	other := []Result{{901, "1", 0xA}, {900, "2", 0xA}, {900, "1", 0xB}}
	for _, o := range other {
		b := NewBallot(Config{})
		b.Open(first(2), 0)
		if !b.Cast(0, resultA, 0) || !b.Cast(1, o, 0) {
			t.Fatal("votes were refused")
		}
		if b.Step(0, 0) != Replaying {
			t.Errorf("%v and %v agree", resultA, o)
		}
	}
}

// Deliveries come before steps of the same instant (LS-BOUNDARY), so a vote at the exact deadline counts. A nanosecond later
// it does not. Once Step has ended voting, a clock that went back does not reopen it.
func TestTheDeadlineIsExact(t *testing.T) {
	const deadline = 3 * systems.Second
	open := func() *Ballot {
		b := NewBallot(Config{Deadline: deadline})
		b.Open(first(3), opened)
		if !b.Cast(0, resultA, opened) {
			t.Fatal("a vote does not count")
		}
		return b
	}
	if b := open(); !b.Cast(1, resultA, opened+deadline) || b.Step(opened+deadline, 0) != Closed {
		t.Error("a vote at the deadline does not count")
	}
	if b := open(); b.Cast(1, resultA, opened+deadline+1) || b.Step(0, 0) != Replaying {
		t.Error("a vote after the deadline counts")
	}
	if b := open(); b.Step(opened+deadline-1, 0) != Voting {
		t.Error("voting ends before the deadline")
	}
	b := open()
	if b.Step(opened+deadline, 0) != Replaying || b.Cast(1, resultA, opened) || b.Step(opened, 0) != Replaying {
		t.Error("voting began again")
	}
}

// Votes of clients are hostile.
func TestAnUnregisteredPlayerHasNoVote(t *testing.T) {
	b := NewBallot(Config{})
	if b.Cast(0, resultA, 0) || b.Step(1<<62, 0) != Idle {
		t.Error("a vote before Open counts")
	}
	b.Open(first(3), 0)
	for _, p := range []ecs.Player{3, 63, 64, 65, 128, 255} {
		if b.Cast(p, resultA, 0) {
			t.Errorf("a vote of player %d counts", p)
		}
	}
	if _, ok := b.Vote(200); ok {
		t.Error("player 200 has voted")
	}
	if !b.Cast(0, resultA, 0) || !b.Cast(0, resultA, 0) {
		t.Error("an equal second vote is refused")
	}
	if b.Step(0, 0) != Voting {
		t.Error("one of three decided")
	}
}

// A match that all have left still has a result.
func TestWithoutRegisteredPlayersTheServerReplaysAtOnce(t *testing.T) {
	b := NewBallot(Config{})
	b.Open(0, 0)
	if b.Step(0, 0) != Replaying {
		t.Fatal(b.Step(0, 0))
	}
	if !b.Replayed(resultR) {
		t.Fatal("the replay was refused")
	}
	if v, ok := b.Verdict(); !ok || v != (Verdict{Result: resultR, How: systems.ByReplay, Replays: 1}) {
		t.Errorf("%+v", v)
	}
}

// A replay ends once, and none is taken that was not asked for: a majority would be overridden by mistake.
func TestAReplayIsTakenOnlyWhenAskedFor(t *testing.T) {
	b := NewBallot(Config{})
	wrong := func(when string) {
		t.Helper()
		if b.Replayed(resultR) {
			t.Errorf("%s: a replay is taken", when)
		}
	}
	wrong("idle")
	b.Open(first(1), 0)
	wrong("voting")
	b.Cast(0, resultA, 0)
	wrong("closed")
	b.Open(first(1), 0)
	if b.Step(DefaultDeadline, 0) != Replaying || !b.Replayed(resultA) {
		t.Fatal("no replay")
	}
	wrong("replayed")
	if v, _ := b.Verdict(); v.Result != resultA {
		t.Error(v)
	}
}

// Each wrong dissent that causes a replay uses up one of the player's budget. A right one is free, a sampled replay costs the
// dissenter nothing, and a new player in the seat has a new budget.
func TestTheDissentsOfAPlayerCauseABoundedNumberOfReplays(t *testing.T) {
	const budget = 2
	b := NewBallot(Config{DissentReplays: budget})
	dissent := func(word string, server byte) (replays int) {
		t.Helper()
		return hold(t, b, 4, 0, casts(word), letter(server)).Replays
	}
	for range 5 {
		if dissent("BBBA", 'A') != 1 {
			t.Fatal("a dissent that replays confirm has used up the budget")
		}
	}
	b.config.AuditPerMille = 1000
	if dissent("AAAB", 'A') != 1 {
		t.Fatal("no audit")
	}
	b.config.AuditPerMille = 0
	for i := range 10 {
		if got := dissent("AAAB", 'A'); (got == 1) != (i < budget) {
			t.Fatalf("wrong dissent %d caused %d replays", i+1, got)
		}
	}
	if dissent("AABA", 'A') != 1 || dissent("AABB", 'A') != 1 {
		t.Error("the budget of another player, or a vote without a majority, is affected")
	}
	b.forget(3)
	if dissent("AAAB", 'A') != 1 || b.forced[3] != 1 {
		t.Error("a new player has no budget")
	}
	b.Open(first(4), opened)
	for _, c := range casts("AAAB") {
		b.Cast(c.player, letter(c.claim), opened)
	}
	b.forget(3)
	if b.Step(opened, 0) != Closed || b.forced[3] != 0 {
		t.Error("the dissent of a player who left causes a replay for the next player's budget")
	}
}

// A player cannot remove a strike from a vote by leaving.
func TestTheVoteOfAStruckPlayerWhoLeavesDoesNotCount(t *testing.T) {
	b := NewBallot(Config{})
	b.Open(first(3), opened)
	b.Cast(0, resultB, opened)
	b.Cast(1, resultB, opened)
	b.Step(opened, players(0))
	b.forget(0)
	b.Cast(2, resultA, opened)
	if b.Step(opened, 0) != Replaying {
		t.Errorf("%+v", b.verdict)
	}
	b.Open(first(3), opened)
	b.forget(0)
	for _, c := range casts("AAB") {
		b.Cast(c.player, letter(c.claim), opened)
	}
	if b.Step(opened, players(0)) != Closed {
		t.Error("the vote of a former player does not count because of the next one's strike")
	}
}

// The sample is of ballots, drawn when they open: votes cannot influence it, and the seed reproduces it.
func TestTheAuditedShareIsDrawnFromTheSeed(t *testing.T) {
	draw := func(c Config, n int) (word string) {
		b := NewBallot(c)
		for range n {
			b.Open(first(1), 0)
			b.Cast(0, resultA, 0)
			word += map[State]string{Replaying: "r", Closed: "c"}[b.Step(0, 0)]
		}
		return word
	}
	one, same, other := draw(Config{AuditPerMille: 30, Seed: 7}, 2000), draw(Config{AuditPerMille: 30, Seed: 7}, 2000), draw(Config{AuditPerMille: 30, Seed: 8}, 2000)
	if one != same || one == other {
		t.Error("the draw does not follow from the seed alone")
	}
	if n := strings.Count(one, "r"); n < 30 || n > 100 { // mean 60, deviation 7.6
		t.Errorf("%d of 2000 audited at 30 per mille", n)
	}
	if n := strings.Count(draw(Config{AuditPerMille: 1000}, 100), "r"); n != 100 {
		t.Errorf("%d of 100 audited at 1000 per mille", n)
	}
	if n := strings.Count(draw(Config{}, 100), "r"); n != 0 {
		t.Errorf("%d of 100 audited at 0", n)
	}
}

// A second match in the same room starts anew.
func TestOpenForgetsTheBallotBefore(t *testing.T) {
	b := NewBallot(Config{})
	hold(t, b, 4, 0, append(casts("AAB-"), cast{player: 0, claim: 'B'}), resultR)
	got := hold(t, b, 4, 0, casts("CCC-"), resultR)
	want := Verdict{Result: resultC, How: systems.ByMajority, Voted: first(3)}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Every client sends a vote, some of them many.
func TestCastingAVoteAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	b := NewBallot(Config{AuditPerMille: 500})
	n := 0
	if a := testing.AllocsPerRun(200, func() {
		b.Open(first(64), 0)
		for p := range ecs.Player(64) {
			b.Cast(p, Result{End: 1, Value: []string{"1", "2"}[p/40]}, 0)
			b.Cast(p, resultA, 0)
		}
		if b.Step(0, 0) == Replaying {
			b.Replayed(resultA)
		}
		v, _ := b.Verdict()
		n += v.Doubled.Len()
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if n != 201*64 {
		t.Errorf("%d doubled votes were seen", n)
	}
}
