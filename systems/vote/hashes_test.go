package vote

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
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

// vote casts the claims of a word for tick f: the n-th letter is player n's.
func vote(h *Hashes, f ecs.Tick, word string) {
	h.Open(f, first(len(word)))
	for _, v := range casts(word) {
		h.Cast(v.player, f, sumOf(v.claim))
	}
}

// The table of votes in every order of arrival. The server settles every difference, and a majority none. A player who
// contradicts the true checksum is blamed once, also with a claim that arrives after it is known.
func TestEveryRowOfTheTableOfVotesBlamesTheSameInEveryOrderOfArrival(t *testing.T) {
	rows := []struct {
		id        string
		n         int
		votes     []cast
		contested bool
		server    byte
		blamed    image.PlayerSet
	}{
		{id: "V-40", n: 4, votes: casts("AAAA")},
		{id: "V-31", n: 4, votes: casts("AAAB"), contested: true, server: 'A', blamed: players(3)},
		{id: "V-collude", n: 4, votes: casts("BBBA"), contested: true, server: 'A', blamed: first(3)},
		{id: "V-21", n: 3, votes: casts("BBA"), contested: true, server: 'A', blamed: first(2)},
		{id: "V-22", n: 4, votes: casts("AABB"), contested: true, server: 'A', blamed: players(2, 3)},
		{id: "V-22 neither", n: 4, votes: casts("AABB"), contested: true, server: 'R', blamed: first(4)},
		{id: "V-11", n: 2, votes: casts("AB"), contested: true, server: 'B', blamed: players(0)},
		{id: "V-3-", n: 4, votes: casts("AAA-")},
		{id: "V-21-", n: 4, votes: casts("AAB-"), contested: true, server: 'A', blamed: players(2)},
		{id: "V-2--", n: 4, votes: casts("AA--")},
		{id: "V-31-late", n: 4, votes: append(casts("AAA-"), cast{3, 'B', true}), contested: true, server: 'A', blamed: players(3)},
		{id: "V-22-late", n: 4, votes: append(casts("AAB-"), cast{3, 'A', true}), contested: true, server: 'B', blamed: players(0, 1, 3)},
		{id: "V-2-late", n: 4, votes: append(casts("AA--"), cast{2, 'A', true}, cast{3, 'A', true})},
		{id: "V-2B-late", n: 4, votes: append(casts("AA--"), cast{2, 'A', true}, cast{3, 'B', true}), contested: true, server: 'A', blamed: players(3)},
		{id: "V-dup", n: 4, votes: append(casts("AAAB"), cast{0, 'A', false}), contested: true, server: 'A', blamed: players(3)},
		{id: "V-1", n: 1, votes: casts("A")},
	}
	for _, row := range rows {
		t.Run(row.id, func(t *testing.T) {
			permutations(row.votes, func(votes []cast) {
				h := NewHashes()
				h.Open(60, first(row.n))
				contested := false
				for _, late := range []bool{false, true} {
					for _, v := range votes {
						if v.late == late {
							h.Cast(v.player, 60, sumOf(v.claim))
						}
					}
					if len(drainBlames(h)) > 0 && !contested {
						t.Fatalf("votes %v: a blame without the server's checksum", votes)
					}
					for _, f := range drainContested(h) {
						if f != 60 || contested || !slices.Equal(drainContested(h), []ecs.Tick{60}) || !h.Truth(60, sumOf(row.server)) {
							t.Fatalf("votes %v: tick %d is contested", votes, f)
						}
						contested = true
					}
				}
				if contested != row.contested || len(drainContested(h)) > 0 {
					t.Fatalf("votes %v: contested: %v", votes, contested)
				}
				for p, n := range h.strikes {
					if row.blamed.Has(ecs.Player(p)) != (n == 1) || n > 1 {
						t.Fatalf("votes %v: strikes %v, want %b blamed", votes, h.strikes, row.blamed)
					}
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
				h.Open(f, first(4))
				if server.step(); computes {
					h.Truth(f, server.checksum())
				}
				for p := range clients {
					c := &clients[p]
					if c.step(); f == flip && ecs.Player(p) == victim {
						c.state[flip%4] ^= 1 << (flip * 7 % 64)
					}
					if f%Every == 0 {
						h.Cast(ecs.Player(p), f, c.checksum())
					}
				}
				h.Contested(func(tick ecs.Tick) { h.Truth(tick, server.checksum()) })
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
	h.Open(60, first(3))
	if !h.Truth(60, 1) {
		t.Fatal("refused")
	}
	h.Cast(2, 60, 5)
	expect(t, h, "one vote of three", nil, blame{2, 60, 1})
	h.Cast(0, 60, 5)
	h.Cast(1, 60, 1)
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
		vote(h, f, "AAAB")
		h.Contested(func(tick ecs.Tick) { h.Truth(tick, sumOf('A')) })
	}
	wrongAt(60)
	expect(t, h, "first", nil, blame{3, 60, 1})
	wrongAt(120)
	wrongAt(180)
	expect(t, h, "not resynced", nil)
	h.Resynced(3)
	h.Cast(3, 180, sumOf('B'))
	expect(t, h, "claims of before the resync", nil)
	wrongAt(240)
	expect(t, h, "second", nil, blame{3, 240, 2})
	h.Resynced(3)
	wrongAt(300)
	expect(t, h, "third", nil, blame{3, 300, MaxStrikes})
	if h.strikes[3] != 3 || h.Struck(299) != players(3) || h.Struck(300) != 0 {
		t.Errorf("%d strikes, struck after tick 299 %b, after tick 300 %b", h.strikes[3], h.Struck(299), h.Struck(300))
	}
}

// Two ticks are open when a player is blamed. The player's claim for the second tick does not count, and no other player
// contests it, so it needs no replay.
func TestOtherClaimsOfABlamedPlayerAreNotContested(t *testing.T) {
	h := NewHashes()
	h.Open(60, first(2))
	h.Open(120, first(2))
	h.Cast(1, 60, sumOf('B'))
	h.Cast(1, 120, sumOf('B'))
	h.Cast(0, 60, sumOf('A'))
	expect(t, h, "split", []ecs.Tick{60})
	h.Truth(60, sumOf('A'))
	h.Cast(0, 120, sumOf('A'))
	expect(t, h, "the tick after", nil, blame{1, 60, 1})
	h.Open(180, first(2))
	h.Cast(0, 180, sumOf('A')) // alone, while the other is resynced
	expect(t, h, "alone", nil)
}

// Two of three collude. Neither they nor their victim are blamed before the server has computed the tick. Then they are.
func TestAMajorityBlamesNoPlayer(t *testing.T) {
	h := NewHashes()
	for f := Every; f <= 3*Every; f += Every {
		vote(h, f, "BBA")
		expect(t, h, "two of three", []ecs.Tick{f})
		expect(t, h, "until it is computed", []ecs.Tick{f})
		if h.Struck(0) != 0 && f == Every || !h.unproven() {
			t.Fatalf("struck %b without a proof", h.Struck(0))
		}
		h.Truth(f, sumOf('A'))
		expect(t, h, "computed", nil, blame{0, f, int(f / Every)}, blame{1, f, int(f / Every)})
		if h.Struck(0) != players(0, 1) || h.unproven() {
			t.Fatalf("struck %b", h.Struck(0))
		}
		h.Resynced(0)
		h.Resynced(1)
	}
}

// A seat's next player is not blamed for the last one's claims, and cannot claim for it.
func TestANewPlayerInASeatStartsClean(t *testing.T) {
	h := NewHashes()
	vote(h, 60, "AAAB")
	h.Truth(60, sumOf('A'))
	vote(h, 120, "AAB")
	h.Forget(3) // before its blame was reported
	h.Forget(2) // before its claim was compared
	h.Truth(120, sumOf('A'))
	expect(t, h, "forgotten", nil)
	if h.strikes[2]+h.strikes[3] != 0 || h.Struck(0) != 0 {
		t.Errorf("%d, %d strikes, struck %b", h.strikes[2], h.strikes[3], h.Struck(0))
	}
	before := *h.at(120)
	h.Cast(2, 120, sumOf('B'))
	if *h.at(120) != before {
		t.Error("a new player claims for the old one")
	}
	vote(h, 180, "AAAB")
	h.Truth(180, sumOf('A'))
	expect(t, h, "the new one", nil, blame{3, 180, 1})
}

// Claims of clients are hostile: any player, any tick.
func TestClaimsThatCannotBeUsedAreIgnored(t *testing.T) {
	h := NewHashes()
	for _, f := range []ecs.Tick{0, 60, 1 << 63, ^ecs.Tick(0)} {
		h.Cast(0, f, 1)
	}
	for f := ecs.Tick(0); f <= 60*70; f++ { // ticks that are not voted on are not opened
		h.Open(f, first(3))
	}
	for _, f := range []ecs.Tick{0, 1, 60, 60 * 6, 60*70 - 1, 60 * 71, 60 * 134, 1 << 63, ^ecs.Tick(0)} {
		h.Cast(0, f, 1)
		if h.Truth(f, 1) {
			t.Errorf("truth of tick %d", f)
		}
	}
	for _, p := range []ecs.Player{3, 63, 64, 255} {
		h.Cast(p, 4200, 1)
		h.Resynced(p)
		h.Forget(p)
	}
	h.Cast(0, 4200, 1)
	h.Cast(0, 4200, 1)
	h.Cast(0, 4200, 2)
	if c := h.at(4200); c.voted != players(0) || c.sums[0] != 1 {
		t.Errorf("%+v, want one vote of player 0", c)
	}
	expect(t, h, "hostile", nil)
	h.Cast(1, 420, 1) // the oldest that is stored
	h.Cast(0, 420, 2)
	h.Truth(420, 1)
	expect(t, h, "the oldest", nil, blame{0, 420, 1})
}

// Replays go on from each other, so they are asked for in the order of ticks, around the end of the ring too.
func TestContestedTicksAreReportedOldestFirst(t *testing.T) {
	h := NewHashes()
	var want []ecs.Tick
	for f := Every; f <= 100*Every; f += Every {
		h.Open(f, first(2))
		h.Cast(0, f, sumOf('A'))
		if f > (100-hashesKept)*Every {
			want = append(want, f)
		}
	}
	for i := range want {
		h.Cast(1, want[i*37%len(want)], sumOf('B'))
	}
	expect(t, h, "all", want)
	for _, f := range want[:10] {
		h.Truth(f, sumOf('A'))
	}
	if got := drainContested(h); !slices.Equal(got, want[10:]) {
		t.Errorf("contested %v, want %v", got, want[10:])
	}
}

// A tick opened twice would accept two votes of each player.
func TestOpeningTicksOutOfTurnPanics(t *testing.T) {
	h := NewHashes()
	h.Open(120, first(2))
	for _, f := range []ecs.Tick{60, 120} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("tick %d was opened after tick 120", f)
				}
			}()
			h.Open(f, first(2))
		}()
	}
	h.Open(121, first(2)) // is not voted on
}

// Every client sends a checksum a second, and a hostile one a thousand.
func TestVotingOnHashesAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	h, f, seen := NewHashes(), ecs.Tick(0), 0
	count := func(p ecs.Player, _ ecs.Tick, _ int) {
		seen++
		h.Resynced(p)
	}
	settle := func(tick ecs.Tick) { h.Truth(tick, 1) }
	if a := testing.AllocsPerRun(200, func() {
		f += 60
		h.Open(f, first(64))
		for p := range ecs.Player(64) {
			h.Cast(p, f, image.Checksum(uint64(p)%(2+uint64(f/60)%2)))
			h.Cast(p, f, 3)
		}
		h.Contested(settle)
		h.Blamed(count)
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if seen < 64*100 {
		t.Errorf("%d blames", seen)
	}
}
