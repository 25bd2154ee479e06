package vote

import (
	"testing"

	"pgregory.net/rapid"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// count is the rule in plain words: the claims of those who may vote, in lists, and counted anew each time.
type count[C comparable] struct {
	order []ecs.Player
	claim map[ecs.Player]C
	twice map[ecs.Player]bool
}

func newTally[C comparable]() *count[C] {
	return &count[C]{claim: map[ecs.Player]C{}, twice: map[ecs.Player]bool{}}
}

// take notes a claim; those after the end of voting only show who says two things.
func (y *count[C]) take(p ecs.Player, c C, inTime bool) {
	had, ok := y.claim[p]
	switch {
	case ok && had != c:
		y.twice[p] = true
	case !ok && inTime:
		y.order = append(y.order, p)
		y.claim[p] = c
	}
}

// winner returns what more than half of n claim.
func (y *count[C]) winner(n int) (c C, ok bool) {
	count := map[C]int{}
	for _, p := range y.order {
		if count[y.claim[p]]++; count[y.claim[p]]*2 > n {
			return y.claim[p], true
		}
	}
	return c, false
}

// against returns those who claim something else than c.
func (y *count[C]) against(c C) (set image.PlayerSet) {
	for _, p := range y.order {
		if y.claim[p] != c {
			set |= 1 << p
		}
	}
	return set
}

func (y *count[C]) distinct() int {
	seen := map[C]bool{}
	for _, c := range y.claim {
		seen[c] = true
	}
	return len(seen)
}

func setOf(m map[ecs.Player]bool) (set image.PlayerSet) {
	for p := range m {
		set |= 1 << p
	}
	return set
}

// seats draws a set of registered players, of the sizes that matter.
func seats(t *rapid.T) (set image.PlayerSet) {
	n := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 64}).Draw(t, "n")
	shift := rapid.IntRange(0, image.MaxPlayers-n).Draw(t, "shift")
	return first(n) << shift
}

// voter draws one of the set, or anybody.
func voter(t *rapid.T, set image.PlayerSet) ecs.Player {
	var list []ecs.Player
	for p := range set.All() {
		list = append(list, p)
	}
	if rapid.IntRange(0, 9).Draw(t, "stranger") == 0 {
		return ecs.Player(rapid.Byte().Draw(t, "anybody"))
	}
	return rapid.SampledFrom(list).Draw(t, "player")
}

// A ballot follows the rule for any votes, in any order and at any time.
func TestBallotsFollowTheRule(t *testing.T) {
	ways := map[systems.How]int{}
	seen := func() bool {
		return ways[systems.ByMajority] > 0 && ways[systems.ByReplay] > 0 && ways[systems.ByAudit] > 0
	}
	checkUntil(t, seen, func(t *rapid.T) {
		c := Config{Deadline: 100, AuditPerMille: 1000 * rapid.IntRange(0, 1).Draw(t, "audit")}
		b := NewBallot(c)
		registered := seats(t)
		clean := image.PlayerSet(0)
		if rapid.Bool().Draw(t, "auditClean") {
			clean = image.PlayerSet(rapid.Uint64().Draw(t, "clean"))
		}
		b.Open(registered, clean, 0)
		n := registered.Len()
		rule, now := newTally[Result](), systems.Time(0)
		claims := []Result{resultA, resultA, resultA, resultB, resultC}
		for range rapid.IntRange(0, 3*n).Draw(t, "votes") {
			now += systems.Time(rapid.IntRange(0, 100/n).Draw(t, "later"))
			p, r := voter(t, registered), rapid.SampledFrom(claims).Draw(t, "claim")
			if _, ok := b.Vote(p); ok {
				r = rapid.SampledFrom(claims).Draw(t, "again")
			}
			if registered.Has(p) {
				rule.take(p, r, now <= 100)
			}
			b.Cast(p, r, now)
			won, ok := b.verdict.Result, b.accepted
			if want, wantOK := rule.winner(n); ok != wantOK || won != want {
				t.Fatalf("majority %v, %v; want %v, %v", won, ok, want, wantOK)
			}
		}
		b.Step(100)
		truth := rapid.SampledFrom([]Result{resultA, resultB, resultR}).Draw(t, "truth")
		want := Verdict{Doubled: setOf(rule.twice)}
		won, ok := rule.winner(n)
		switch {
		case !ok:
			want.How, want.Result, want.Replays = systems.ByReplay, truth, 1
		case c.AuditPerMille > 0 || rule.against(won)&clean != 0:
			want.How, want.Result, want.Replays = systems.ByAudit, truth, 1
		default:
			want.How, want.Result = systems.ByMajority, won
		}
		want.Dissented = rule.against(want.Result)
		for _, p := range rule.order {
			want.Voted |= 1 << p
		}
		if ok := b.Replayed(truth); ok != (want.Replays == 1) {
			t.Fatalf("replay: %v, want %+v", ok, want)
		}
		if got, ok := b.Verdict(); !ok || got != want {
			t.Fatalf("verdict\n got %+v\nwant %+v", got, want)
		}
		ways[want.How]++
	})
}

// The same for the votes on one tick, with the server's truth at any moment or never.
func TestHashesFollowTheRule(t *testing.T) {
	majorities, splits, truths := 0, 0, 0
	seen := func() bool { return majorities > 0 && splits > 0 && truths > 0 }
	checkUntil(t, seen, func(t *rapid.T) {
		h := NewHashes()
		registered := seats(t)
		h.Open(60, registered, 0)
		n := registered.Len()
		rule, now := newTally[image.Checksum](), systems.Time(0)
		votes := rapid.IntRange(0, 3*n).Draw(t, "votes")
		tellAt := rapid.IntRange(-1, votes).Draw(t, "reported after")
		truth, known, fromVotes := image.Checksum(0), false, false
		sums := []image.Checksum{1, 1, 1, 2, 3}
		contested, ignored := false, image.PlayerSet(0) // claims of a blamed player no longer count
		for i := range votes + 1 {
			if i == tellAt {
				truth, known, fromVotes = rapid.SampledFrom(sums).Draw(t, "truth"), true, false
				h.Truth(60, truth)
				ignored |= rule.against(truth)
				truths++
			}
			if i == votes {
				break
			}
			now += systems.Time(rapid.IntRange(0, 100/n).Draw(t, "later")) * DefaultDeadline / 100
			p, sum := voter(t, registered), rapid.SampledFrom(sums).Draw(t, "claim")
			h.Cast(p, 60, sum, now)
			if !registered.Has(p) {
				continue
			}
			if !ignored.Has(p) {
				rule.take(p, sum, true)
			}
			if won, ok := rule.winner(n); !known && !contested && now <= DefaultDeadline && ok {
				truth, known, fromVotes = won, true, true
			}
			if !known && rule.distinct() > 1 && (now > DefaultDeadline || len(rule.order) == n) {
				contested = true
			}
			if known {
				ignored |= rule.against(truth)
			}
		}
		h.Step(max(now, DefaultDeadline))
		if !known && rule.distinct() > 1 {
			contested = true
		}
		blamed := image.PlayerSet(0)
		if known {
			blamed = rule.against(truth)
		}
		asked := false
		h.Contested(func(ecs.Tick) { asked = true })
		reported := tellAt >= 0
		if asked != (contested && !reported) {
			t.Fatalf("asked %v, contested %v, reported %v", asked, contested, reported)
		}
		var got image.PlayerSet
		h.Blamed(func(p ecs.Player, _ ecs.Tick, strikes int) {
			if got |= 1 << p; strikes != 1 {
				t.Fatalf("player %d: %d strikes", p, strikes)
			}
		})
		if got != blamed {
			t.Fatalf("blamed %b, want %b", got, blamed)
		}
		if fromVotes && blamed != 0 {
			majorities++
		}
		if asked {
			splits++
		}
	})
}

// checkUntil draws at least as often as rapid does, and goes on until what the test is about has been seen.
func checkUntil(t *testing.T, seen func() bool, check func(*rapid.T)) {
	t.Helper()
	for range 50 {
		if rapid.Check(t, check); seen() {
			return
		}
	}
	t.Error("what the test is about was never drawn")
}

// With many ticks, resyncs and new players in seats, strikes never exceed resyncs. No player with a true claim is blamed, and
// nothing panics.
func TestStrikesNeverOutrunResyncs(t *testing.T) {
	total := 0
	checkUntil(t, func() bool { return total > 0 }, func(t *rapid.T) {
		h := NewHashes()
		const right = image.Checksum(1)
		honest := players(0, 63) // of three players, one lies as it likes
		registered := honest | players(30)
		resyncs, now, newest := 0, systems.Time(0), ecs.Tick(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += systems.Time(rapid.IntRange(0, 3).Draw(t, "later")) * DefaultDeadline / 20
			tick := newest - Every*ecs.Tick(rapid.IntRange(0, 5).Draw(t, "back"))
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1:
				newest += Every
				h.Open(newest, registered, now)
			case 2:
				h.Contested(func(f ecs.Tick) { h.Truth(f, right) })
			case 3:
				if h.Resynced(30); h.strikes[30] > resyncs {
					resyncs++
				}
			case 4:
				if rapid.IntRange(0, 9).Draw(t, "leaves") == 0 {
					h.Forget(30)
					resyncs = 0
				}
			case 5:
				h.Cast(30, tick, image.Checksum(rapid.IntRange(1, 3).Draw(t, "claim")), now)
			default:
				h.Cast(rapid.SampledFrom([]ecs.Player{0, 63}).Draw(t, "honest"), tick, right, now)
			}
			if h.strikes[30] > resyncs+1 {
				t.Fatalf("%d strikes after %d resyncs", h.strikes[30], resyncs)
			}
			h.Blamed(func(p ecs.Player, _ ecs.Tick, strikes int) {
				if total++; honest.Has(p) || strikes != h.strikes[p] {
					t.Fatalf("player %d is blamed, %d strikes", p, strikes)
				}
			})
			if h.Clean()&honest != honest {
				t.Fatalf("an honest player has strikes: %b", h.Clean())
			}
		}
	})
}
