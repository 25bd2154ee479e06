package vote

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/systems"
)

type blame struct {
	player  ecs.Player
	tick    ecs.Tick
	strikes int
}

func drainBlames(h *Hashes) (list []blame) {
	h.Blamed(func(p ecs.Player, f ecs.Tick, n int) { list = append(list, blame{p, f, n}) })
	return list
}

func drainContested(h *Hashes) (list []ecs.Tick) {
	h.Contested(func(f ecs.Tick) { list = append(list, f) })
	return list
}

func sumOf(c byte) image.Checksum { return letter(c).Hash }

// expect checks what a Hashes has to say.
func expect(t *testing.T, h *Hashes, when string, contested []ecs.Tick, blames ...blame) {
	t.Helper()
	if got := drainContested(h); !slices.Equal(got, contested) {
		t.Fatalf("%s: contested %v, want %v", when, got, contested)
	}
	if got := drainBlames(h); !slices.Equal(got, blames) {
		t.Fatalf("%s: blamed %v, want %v", when, got, blames)
	}
}

// The table of votes holds for checksums too, in every order. The majority wins, and the server settles a split. A player
// who contradicts the true checksum is blamed once, also with a late claim.
func TestEveryRowOfTheTableOfVotesBlamesTheSameInEveryOrderOfArrival(t *testing.T) {
	const late = opened + DefaultDeadline + 1
	rows := []struct {
		id        string
		n         int
		votes     []cast
		contested bool
		server    byte
		blamed    image.PlayerSet
	}{
		{id: "V-40", n: 4, votes: casts("AAAA")},
		{id: "V-31", n: 4, votes: casts("AAAB"), blamed: players(3)},
		{id: "V-22", n: 4, votes: casts("AABB"), contested: true, server: 'A', blamed: players(2, 3)},
		{id: "V-22 neither", n: 4, votes: casts("AABB"), contested: true, server: 'R', blamed: first(4)},
		{id: "V-11", n: 2, votes: casts("AB"), contested: true, server: 'B', blamed: players(0)},
		{id: "V-3-", n: 4, votes: casts("AAA-")},
		{id: "V-21-", n: 4, votes: casts("AAB-"), contested: true, server: 'A', blamed: players(2)},
		{id: "V-2--", n: 4, votes: casts("AA--")},
		{id: "V-31-late", n: 4, votes: append(casts("AAA-"), cast{3, 'B', true}), blamed: players(3)},
		{id: "V-22-late", n: 4, votes: append(casts("AAB-"), cast{3, 'A', true}), contested: true, server: 'B', blamed: players(0, 1, 3)},
		{id: "V-2-late", n: 4, votes: append(casts("AA--"), cast{2, 'A', true}, cast{3, 'A', true})},
		{id: "V-2B-late", n: 4, votes: append(casts("AA--"), cast{2, 'A', true}, cast{3, 'B', true}), contested: true, server: 'A', blamed: players(3)},
		{id: "V-dup", n: 4, votes: append(casts("AAAB"), cast{0, 'A', false}), blamed: players(3)},
		{id: "V-1", n: 1, votes: casts("A")},
	}
	for _, row := range rows {
		t.Run(row.id, func(t *testing.T) {
			permutations(row.votes, func(votes []cast) {
				h := NewHashes()
				h.Open(60, first(row.n), opened)
				for _, v := range votes {
					if !v.late {
						h.Cast(v.player, 60, sumOf(v.claim), opened)
					}
				}
				h.Step(late - 1)
				for _, v := range votes {
					if v.late {
						h.Cast(v.player, 60, sumOf(v.claim), late)
					}
				}
				for range 2 { // asked once
					for _, f := range drainContested(h) {
						if !row.contested || f != 60 {
							t.Fatalf("votes %v: tick %d is contested", votes, f)
						}
					}
				}
				if row.contested != h.at(60).requested {
					t.Fatalf("votes %v: replay requested: %v", votes, h.at(60).requested)
				}
				if row.contested && !h.Truth(60, sumOf(row.server)) {
					t.Fatal("the truth was not taken")
				}
				var blamed image.PlayerSet
				for _, b := range drainBlames(h) {
					if blamed.Has(b.player) || b.tick != 60 || b.strikes != 1 {
						t.Fatalf("votes %v: blame %v", votes, b)
					}
					blamed |= 1 << b.player
				}
				if blamed != row.blamed || len(drainBlames(h)) > 0 {
					t.Fatalf("votes %v: blamed %b, want %b", votes, blamed, row.blamed)
				}
			})
		})
	}
}

// machine is a player's computer: a state that every tick changes by every one of its bits.
type machine struct{ state [4]uint64 }

func (m *machine) step() {
	for i := range m.state {
		x := m.state[i] + uint64(i) + 1 + m.state[(i+1)%4]
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		m.state[i] = x ^ x>>27
	}
}

func (m *machine) checksum() (sum image.Checksum) {
	for i, x := range m.state {
		sum += image.Checksum((x ^ uint64(i)) * 0x94d049bb133111eb)
	}
	return sum
}

// LS-14: one bit of one client's state flips in tick f. It is found by tick f + 60, and in 3:1 it is that client which
// is blamed, whether the server computes the ticks or not.
func TestAFlippedBitIsFoundWithinSixtyTicksAndItsClientBlamed(t *testing.T) {
	for flip := ecs.Tick(1); flip <= 130; flip++ {
		for _, computes := range []bool{false, true} {
			h := NewHashes()
			victim := ecs.Player(flip % 4)
			var clients [4]machine
			var server machine
			var found []blame
			for f := ecs.Tick(1); f <= flip+Every; f++ {
				h.Open(f, first(4), 0)
				if server.step(); computes {
					h.Truth(f, server.checksum())
				}
				for p := range clients {
					c := &clients[p]
					if c.step(); f == flip && ecs.Player(p) == victim {
						c.state[flip%4] ^= 1 << (flip * 7 % 64)
					}
					if f%Every == 0 {
						h.Cast(ecs.Player(p), f, c.checksum(), 0)
					}
				}
				found = append(found, drainBlames(h)...)
			}
			at := (flip + Every - 1) / Every * Every
			if want := []blame{{victim, at, 1}}; !slices.Equal(found, want) || at > flip+Every {
				t.Errorf("flipped in tick %d, server computes: %v: blamed %v, want %v", flip, computes, found, want)
			}
		}
	}
}

// The server's checksum needs no majority: the only player of a match can be wrong, and so can all.
func TestWhereTheServerComputesItsTruthCountsAtOnce(t *testing.T) {
	h := NewHashes()
	h.Open(60, first(3), 0)
	if !h.Truth(60, 1) {
		t.Fatal("refused")
	}
	h.Cast(2, 60, 5, 0)
	expect(t, h, "one vote of three", nil, blame{2, 60, 1})
	h.Cast(0, 60, 5, 0)
	h.Cast(1, 60, 1, 0)
	expect(t, h, "a majority against the server", nil, blame{0, 60, 1})
	if h.Truth(60, 5) {
		t.Error("the server may say two things")
	}
	expect(t, h, "a second truth", nil)
}

// A fault is one fault: what a client computes from a wrong state is wrong for as long as it takes to resync it.
func TestAPlayerIsBlamedOnceUntilItIsResyncedAndRemovedAtTheThirdStrike(t *testing.T) {
	h := NewHashes()
	wrongAt := func(f ecs.Tick) {
		h.Open(f, first(4), 0)
		for p := range ecs.Player(4) {
			h.Cast(p, f, sumOf("AAAB"[p]), 0)
		}
	}
	wrongAt(60)
	expect(t, h, "first", nil, blame{3, 60, 1})
	wrongAt(120)
	wrongAt(180)
	expect(t, h, "not resynced", nil)
	h.Resynced(3)
	h.Cast(3, 180, sumOf('B'), 0)
	expect(t, h, "claims of before the resync", nil)
	wrongAt(240)
	expect(t, h, "second", nil, blame{3, 240, 2})
	h.Resynced(3)
	wrongAt(300)
	expect(t, h, "third", nil, blame{3, 300, MaxStrikes})
	if h.strikes[3] != 3 || h.Clean() != ^players(3) {
		t.Errorf("%d strikes, clean %b", h.strikes[3], h.Clean())
	}
}

// Two ticks are open when a player is blamed. The player's claim for the second tick does not count, and no other player
// contests it, so it needs no replay.
func TestOtherClaimsOfABlamedPlayerAreNotContested(t *testing.T) {
	h := NewHashes()
	h.Open(60, first(2), 0)
	h.Open(120, first(2), 0)
	h.Cast(1, 60, sumOf('B'), 0)
	h.Cast(1, 120, sumOf('B'), 0)
	h.Cast(0, 60, sumOf('A'), 0)
	expect(t, h, "split", []ecs.Tick{60})
	h.Truth(60, sumOf('A'))
	h.Cast(0, 120, sumOf('A'), 0)
	h.Step(DefaultDeadline)
	expect(t, h, "the tick after", nil, blame{1, 60, 1})
	h.Open(180, first(2), 0)
	h.Cast(0, 180, sumOf('A'), 0) // alone, while the other is resynced
	h.Step(2 * DefaultDeadline)
	expect(t, h, "alone", nil)
}

// Voting does not wait for a player who can no longer vote. Without the blamed player the votes are two against one.
func TestABlameCanEndVoting(t *testing.T) {
	h := NewHashes()
	h.Open(60, first(4), 0)
	h.Open(120, first(4), 0)
	for p, claim := range "AAB" {
		h.Cast(ecs.Player(p), 120, sumOf(byte(claim)), 0)
	}
	expect(t, h, "the fourth is missing", nil)
	h.Truth(60, sumOf('A'))
	h.Cast(3, 60, sumOf('B'), 0)
	expect(t, h, "the fourth is blamed", []ecs.Tick{120}, blame{3, 60, 1})
}

// The server replays what the votes of a majority had settled, and the majority had colluded: its victim must not pay.
func TestATruthOverridesAMajorityAndPardonsItsVictims(t *testing.T) {
	h := NewHashes()
	vote := func(f ecs.Tick, word string) {
		h.Open(f, first(len(word)), 0)
		for p, claim := range word {
			h.Cast(ecs.Player(p), f, sumOf(byte(claim)), 0)
		}
	}
	vote(60, "BBBA")
	if !h.Truth(60, sumOf('A')) {
		t.Fatal("refused")
	}
	expect(t, h, "before it was told", nil, blame{0, 60, 1}, blame{1, 60, 1}, blame{2, 60, 1})
	if h.strikes != [image.MaxPlayers]int{1, 1, 1} {
		t.Fatalf("strikes %v", h.strikes)
	}
	for p := range ecs.Player(3) {
		h.Resynced(p)
	}
	vote(120, "AABB") // and 3 votes again
	expect(t, h, "the pardoned vote", []ecs.Tick{120})
	h.Truth(120, sumOf('A'))
	expect(t, h, "and are blamed", nil, blame{2, 120, 2}, blame{3, 120, 1})
	h.Resynced(2)
	h.Resynced(3)

	vote(180, "BBBA")
	expect(t, h, "told already", nil, blame{3, 180, 2})
	h.Truth(180, sumOf('A'))
	expect(t, h, "then pardoned", nil, blame{0, 180, 2}, blame{1, 180, 2}, blame{2, 180, 3})
	if h.strikes[3] != 1 {
		t.Errorf("%d strikes", h.strikes[3])
	}
}

// A seat's next player must not pay for the last one, nor speak for it.
func TestANewPlayerInASeatStartsClean(t *testing.T) {
	h := NewHashes()
	h.Open(60, first(4), 0)
	for p, claim := range "AAAB" {
		h.Cast(ecs.Player(p), 60, sumOf(byte(claim)), 0)
	}
	h.Cast(3, 60, sumOf('C'), 0)
	h.Open(120, first(3), 0)
	h.Cast(2, 120, sumOf('B'), 0)
	h.Forget(3) // before its blame was reported
	h.Forget(2) // before its claim was judged
	h.Cast(0, 120, sumOf('A'), 0)
	h.Cast(1, 120, sumOf('A'), 0)
	expect(t, h, "forgotten", nil)
	if h.strikes[2]+h.strikes[3] != 0 || h.Clean() != ^image.PlayerSet(0) {
		t.Errorf("%d, %d strikes, clean %b", h.strikes[2], h.strikes[3], h.Clean())
	}
	h.Truth(60, sumOf('B')) // would pardon the one of before
	if h.strikes[3] != 0 {
		t.Errorf("%d strikes", h.strikes[3])
	}
	before := *h.at(120)
	h.Cast(2, 120, sumOf('A'), 0)
	if *h.at(120) != before {
		t.Error("a new player votes for the old one")
	}
	for p := range ecs.Player(3) {
		h.Resynced(p)
	}
	drainBlames(h)
	h.Open(180, first(4), 0)
	for p, claim := range "AAAB" {
		h.Cast(ecs.Player(p), 180, sumOf(byte(claim)), 0)
	}
	expect(t, h, "the new one", nil, blame{3, 180, 1})
}

// Claims of clients are hostile: any player, any tick.
func TestClaimsThatCannotBeUsedAreIgnored(t *testing.T) {
	h := NewHashes()
	for _, f := range []ecs.Tick{0, 60, 1 << 63, ^ecs.Tick(0)} {
		h.Cast(0, f, 1, 0)
	}
	for f := ecs.Tick(0); f <= 60*70; f++ { // ticks that are not voted on are not opened
		h.Open(f, first(3), 0)
	}
	for _, f := range []ecs.Tick{0, 1, 60, 60 * 6, 60*70 - 1, 60 * 71, 60 * 134, 1 << 63, ^ecs.Tick(0)} {
		h.Cast(0, f, 1, 0)
		if h.Truth(f, 1) {
			t.Errorf("truth of tick %d", f)
		}
	}
	for _, p := range []ecs.Player{3, 63, 64, 255} {
		h.Cast(p, 4200, 1, 0)
		h.Resynced(p)
		h.Forget(p)
	}
	h.Cast(0, 4200, 1, 0)
	h.Cast(0, 4200, 1, 0)
	h.Cast(0, 4200, 2, 0)
	if c := h.at(4200); c.voted != players(0) || c.sums[0] != 1 {
		t.Errorf("%+v, want one vote of player 0", c)
	}
	expect(t, h, "hostile", nil)
	h.Cast(1, 420, 1, 0) // the oldest that is remembered
	h.Cast(2, 420, 1, 0)
	h.Cast(0, 420, 2, 0)
	expect(t, h, "the oldest", nil, blame{0, 420, 1})
}

// Half is not more than half, with any number of players; and who is not there in a tick does not count in it.
func TestHashesNeedAStrictMajorityOfThoseRegisteredForTheTick(t *testing.T) {
	for _, n := range []int{2, 3, 4, 8, 64} {
		for agreeing := 1; agreeing < n; agreeing++ {
			h := NewHashes()
			h.Open(60, first(n), 0)
			h.Cast(0, 60, sumOf('B'), 0)
			for p := range agreeing {
				h.Cast(ecs.Player(p+1), 60, sumOf('A'), 0)
			}
			h.Step(DefaultDeadline)
			blames, contested := drainBlames(h), drainContested(h)
			if want := agreeing > n/2; want != (len(blames) == 1) || want == (len(contested) == 1) {
				t.Errorf("%d of %d agree: blamed %v, contested %v", agreeing, n, blames, contested)
			}
		}
	}
}

// The same instant as in ballots.
func TestTheDeadlineOfATickIsExact(t *testing.T) {
	for _, v := range []struct {
		step, cast systems.Time
		decides    bool
	}{{DefaultDeadline - 1, DefaultDeadline, true}, {DefaultDeadline - 1, DefaultDeadline + 1, false},
		{DefaultDeadline, DefaultDeadline, false}, {0, 1 << 40, false}} {
		h := NewHashes()
		h.Open(60, first(4), 0)
		for p, claim := range "BAA" {
			h.Cast(ecs.Player(p), 60, sumOf(byte(claim)), 0)
		}
		h.Step(v.step)
		h.Cast(3, 60, sumOf('A'), v.cast)
		if blames, contested := drainBlames(h), drainContested(h); v.decides != (len(blames) == 1) || v.decides == (len(contested) == 1) {
			t.Errorf("%+v: blamed %v, contested %v", v, blames, contested)
		}
	}
}

// Several ticks are open at a time, each with its own deadline.
func TestEachTickHasItsOwnDeadline(t *testing.T) {
	h := NewHashes()
	for i, f := range []ecs.Tick{60, 120, 180} {
		h.Open(f, first(4), systems.Time(i)*systems.Second)
		h.Cast(0, f, sumOf('A'), 0)
		h.Cast(1, f, sumOf('B'), 0)
	}
	for i, f := range []ecs.Tick{60, 120, 180} {
		at := DefaultDeadline + systems.Time(i)*systems.Second
		h.Step(at - 1)
		expect(t, h, "before the deadline", nil)
		h.Step(at)
		expect(t, h, "at the deadline", []ecs.Tick{f})
	}
}

// A pardon is for one tick. The blame for another tick stays and is reported.
func TestAPardonLeavesTheBlameForAnotherTick(t *testing.T) {
	h := NewHashes()
	for _, f := range []ecs.Tick{60, 120} {
		h.Open(f, first(4), 0)
		for p, claim := range "AAAB" {
			h.Cast(ecs.Player(p), f, sumOf(byte(claim)), 0)
		}
		if f == 60 {
			expect(t, h, "first", nil, blame{3, 60, 1})
			h.Resynced(3)
		}
	}
	h.Truth(60, sumOf('B'))
	got := drainBlames(h)
	if want := (blame{3, 120, 1}); len(got) != 4 || got[3] != want {
		t.Errorf("%v, want the last to be %v", got, want)
	}
}

// Replays go on from each other, so they are asked for in the order of ticks, around the end of the ring too.
func TestContestedTicksAreReportedOldestFirst(t *testing.T) {
	h := NewHashes()
	var want []ecs.Tick
	for f := Every; f <= 100*Every; f += Every {
		h.Open(f, first(2), 0)
		h.Cast(0, f, sumOf('A'), 0)
		if f > (100-hashesKept)*Every {
			want = append(want, f)
		}
	}
	for i := range want {
		h.Cast(1, want[i*37%len(want)], sumOf('B'), 0)
	}
	expect(t, h, "all", want)
	expect(t, h, "again", nil)
}

// A tick opened twice would accept two votes of each player.
func TestOpeningTicksOutOfTurnPanics(t *testing.T) {
	h := NewHashes()
	h.Open(120, first(2), 0)
	for _, f := range []ecs.Tick{60, 120} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("tick %d was opened after tick 120", f)
				}
			}()
			h.Open(f, first(2), 0)
		}()
	}
	h.Open(121, first(2), 0) // is not voted on
}

// Every client sends a checksum a second, and a hostile one a thousand.
func TestVotingOnHashesAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	h, f, now, seen := NewHashes(), ecs.Tick(0), systems.Time(0), 0
	count := func(p ecs.Player, _ ecs.Tick, _ int) {
		seen++
		h.Resynced(p)
	}
	settle := func(tick ecs.Tick) { h.Truth(tick, 1) }
	if a := testing.AllocsPerRun(200, func() {
		f += 60
		now += systems.Second
		h.Open(f, first(64), now)
		for p := range ecs.Player(64) {
			h.Cast(p, f, image.Checksum(uint64(p)%(2+uint64(f/60)%2)), now)
			h.Cast(p, f, 3, now)
		}
		h.Step(now)
		h.Contested(settle)
		h.Blamed(count)
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if seen < 64*100 {
		t.Errorf("%d blames", seen)
	}
}
