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

// winner returns the claim of more than half of n players, without those who are struck.
func (y *count[C]) winner(n int, struck image.PlayerSet) (c C, ok bool) {
	count := map[C]int{}
	for _, p := range y.order {
		if struck.Has(p) {
			continue
		}
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
		return ways[systems.ByMajority] > 0 && ways[systems.ByReplay] > 0 && ways[systems.ByAudit] > 0 && ways[systems.Disputed] > 0
	}
	checkUntil(t, seen, func(t *rapid.T) {
		c := Config{Deadline: 100, AuditPerMille: 1000 * rapid.IntRange(0, 1).Draw(t, "audit"), DissentReplays: rapid.IntRange(0, 2).Draw(t, "budget")}
		b := NewBallot(c)
		registered := seats(t)
		struck := image.PlayerSet(0)
		if rapid.Bool().Draw(t, "strikes") {
			struck = image.PlayerSet(rapid.Uint64().Draw(t, "struck"))
		}
		b.Open(registered, 0)
		forced := b.forced
		for p := range registered.All() {
			forced[p] = rapid.Uint8Range(0, 2).Draw(t, "forced")
		}
		b.forced = forced
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
		}
		b.Step(100, struck)
		truth := rapid.SampledFrom([]Result{resultA, resultB, resultR}).Draw(t, "truth")
		want := Verdict{Doubled: setOf(rule.twice)}
		won, ok := rule.winner(n, struck)
		forcing := image.PlayerSet(0)
		for p := range (rule.against(won) &^ struck).All() {
			if int(forced[p]) < c.DissentReplays && c.AuditPerMille == 0 {
				forcing |= 1 << p
			}
		}
		switch {
		case !ok:
			want.How, want.Result, want.Replays, forcing = systems.ByReplay, truth, 1, 0
		case c.AuditPerMille > 0 || forcing != 0:
			want.How, want.Result, want.Replays = systems.ByAudit, truth, 1
		case rule.against(won) != 0:
			want.How, want.Result = systems.Disputed, won
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
		for p := range (forcing & want.Dissented).All() {
			forced[p]++
		}
		if b.forced != forced {
			t.Fatalf("replays by player %v, want %v", b.forced, forced)
		}
		ways[want.How]++
	})
}

// The test of Hashes: only the server's checksum blames players, at any time or never.
func TestHashesFollowTheRule(t *testing.T) {
	majorities, splits := 0, 0
	seen := func() bool { return majorities > 0 && splits > 0 }
	checkUntil(t, seen, func(t *rapid.T) {
		h := NewHashes()
		registered := seats(t)
		h.Open(60, registered)
		n := registered.Len()
		rule := newTally[image.Checksum]()
		votes := rapid.IntRange(0, 3*n).Draw(t, "votes")
		truthAfter := rapid.IntRange(-1, votes).Draw(t, "truth after")
		truth, known := image.Checksum(0), false
		sums := []image.Checksum{1, 1, 1, 2, 3}
		ignored := image.PlayerSet(0) // claims of a blamed player do not count
		for i := range votes + 1 {
			if i == truthAfter {
				truth, known = rapid.SampledFrom(sums).Draw(t, "truth"), true
				if won, ok := rule.winner(n, 0); ok && won != truth {
					majorities++
				}
				h.Truth(60, truth)
			}
			if known {
				ignored |= rule.against(truth)
			}
			if i == votes {
				break
			}
			p, sum := voter(t, registered), rapid.SampledFrom(sums).Draw(t, "claim")
			h.Cast(p, 60, sum)
			if registered.Has(p) && !ignored.Has(p) {
				rule.take(p, sum, true)
			}
			if contested := !known && rule.distinct() > 1; contested != h.unproven() {
				t.Fatalf("contested %v, want %v", h.unproven(), contested)
			} else if contested {
				splits++
			}
		}
		blamed := image.PlayerSet(0)
		if known {
			blamed = rule.against(truth)
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
		resyncs, newest := 0, ecs.Tick(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			tick := newest - Every*ecs.Tick(rapid.IntRange(0, 5).Draw(t, "back"))
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1:
				newest += Every
				h.Open(newest, registered)
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
				h.Cast(30, tick, image.Checksum(rapid.IntRange(1, 3).Draw(t, "claim")))
			default:
				h.Cast(rapid.SampledFrom([]ecs.Player{0, 63}).Draw(t, "honest"), tick, right)
			}
			if h.strikes[30] > resyncs+1 {
				t.Fatalf("%d strikes after %d resyncs", h.strikes[30], resyncs)
			}
			h.Blamed(func(p ecs.Player, _ ecs.Tick, strikes int) {
				if total++; honest.Has(p) || strikes != h.strikes[p] {
					t.Fatalf("player %d is blamed, %d strikes", p, strikes)
				}
			})
			if h.Struck(0)&honest != 0 {
				t.Fatalf("an honest player has strikes: %b", h.Struck(0))
			}
		}
	})
}
