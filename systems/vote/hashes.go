package vote

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// Hashes compares the players' checksums of every tick that is a multiple of Every. A tick is contested if two players claim
// different checksums. The server computes that tick. It blames every player whose claim differs from its checksum. A
// majority blames no player.
//
// A blamed player is out of sync until Resynced. Until then the player gets no further blame and is not registered for later
// ticks. A player has at most one blame per tick.
type Hashes struct {
	newest   ecs.Tick              // last tick opened, 0: none
	contests bool                  // a stored tick may be contested; else the ring need not be read each tick
	checks   rollback.Ring[check]  // by tick / Every
	strikes  [image.MaxPlayers]int // blames since Forget
	apart    image.PlayerSet       // blamed, not resynced
	blamed   image.PlayerSet       // not returned by Blamed yet
	blamedAt [image.MaxPlayers]ecs.Tick
}

const (
	// Every is the interval of the ticks that are compared.
	Every ecs.Tick = 60
	// MaxStrikes is the number of strikes at which a player must be removed. With fewer it must be resynced.
	MaxStrikes = 3

	hashesKept = 64 // ticks that are stored: 64 seconds at 60 ticks per second
)

// NewHashes returns a Hashes without ticks.
func NewHashes() *Hashes { return &Hashes{checks: rollback.NewRing[check](hashesKept)} }

// Open accepts claims for tick f from now on, in which registered are the players in the match. Call Open for every tick in
// turn. It does nothing unless f is compared, and panics if f is not after the last one opened.
func (h *Hashes) Open(f ecs.Tick, registered image.PlayerSet) {
	if f == 0 || f%Every != 0 {
		return
	}
	if f <= h.newest {
		panic(fmt.Sprintf("vote: Open of tick %d after tick %d: open ticks in turn", f, h.newest))
	}
	h.checks.Put(f/Every, check{tick: f, registered: registered &^ h.apart})
	h.newest = f
}

// Cast records the first claim of player p for tick f, if p is registered for it.
func (h *Hashes) Cast(p ecs.Player, f ecs.Tick, sum image.Checksum) {
	c := h.at(f)
	if c == nil || !c.registered.Has(p) || c.voted.Has(p) {
		return
	}
	c.voted |= 1 << p
	c.sums[p] = sum
	if c.known {
		h.blameOthers(c)
	} else if c.claiming(sum) != c.voted {
		c.contested, h.contests = true, true
	}
}

// Truth sets the checksum of tick f that the server computed: for every tick, or only in answer to Contested. It returns
// false and does nothing if the tick is not stored, or if Truth was called for it before.
func (h *Hashes) Truth(f ecs.Tick, sum image.Checksum) bool {
	c := h.at(f)
	if c == nil || c.known {
		return false
	}
	c.truth, c.known, c.contested = sum, true, false
	h.blameOthers(c)
	return true
}

// Contested calls f, oldest tick first, for every tick whose claims differ until Truth is called for it. The server computes
// the match up to it and calls Truth.
func (h *Hashes) Contested(f func(tick ecs.Tick)) {
	if !h.contests {
		return
	}
	h.contests = false
	for c := range h.stored {
		if c.contested {
			h.contests = true
			f(c.tick)
		}
	}
}

// Blamed calls f for every player blamed since the last call, with the tick and the player's number of strikes. A player
// with MaxStrikes must be removed, one with fewer resynced.
func (h *Hashes) Blamed(f func(p ecs.Player, tick ecs.Tick, strikes int)) {
	for p := range h.blamed.All() {
		h.blamed &^= 1 << p
		f(p, h.blamedAt[p], h.strikes[p])
	}
}

// Resynced makes player p, who was blamed, vote on the ticks that are opened from now on. Call it when the player has
// loaded the server's state, not when the state is sent: claims in between are still wrong.
func (h *Hashes) Resynced(p ecs.Player) { h.apart &^= 1 << p }

// Forget clears the history of seat p when its player leaves it. Neither the claims of the former player nor those of the
// next one count for earlier ticks.
func (h *Hashes) Forget(p ecs.Player) {
	if p >= image.MaxPlayers {
		return
	}
	h.strikes[p] = 0
	h.apart &^= 1 << p
	h.blamed &^= 1 << p
	h.dismiss(p)
}

// Struck returns the players who were blamed for a tick after f, for Ballot.Step.
func (h *Hashes) Struck(f ecs.Tick) (set image.PlayerSet) {
	for p, n := range h.strikes {
		if n > 0 && h.blamedAt[p] > f {
			set |= 1 << p
		}
	}
	return set
}

// blameOthers gives a strike to all players whose claim differs from the truth of c's tick.
func (h *Hashes) blameOthers(c *check) {
	for p := range (c.voted &^ c.claiming(c.truth)).All() {
		h.strike(p, c.tick)
	}
}

// strike blames player p for tick f, and dismisses p's claims for all stored ticks.
func (h *Hashes) strike(p ecs.Player, f ecs.Tick) {
	h.strikes[p]++
	h.apart |= 1 << p
	h.blamed |= 1 << p
	h.blamedAt[p] = f
	h.dismiss(p)
}

// dismiss removes p from the stored ticks.
func (h *Hashes) dismiss(p ecs.Player) {
	for c := range h.stored {
		c.registered &^= 1 << p
		c.voted &^= 1 << p
	}
}

// unproven reports whether a tick is contested, and which players to blame for it is not known yet.
func (h *Hashes) unproven() (found bool) {
	h.Contested(func(ecs.Tick) { found = true })
	return found
}

// at returns the claims for tick f, nil if it is not stored.
func (h *Hashes) at(f ecs.Tick) *check {
	if c, ok := h.checks.At(f / Every); ok && c.tick == f {
		return c
	}
	return nil
}

// stored calls yield for each stored tick, oldest first.
func (h *Hashes) stored(yield func(*check) bool) {
	newest := h.newest / Every
	for n := newest - min(newest, hashesKept-1); n <= newest; n++ {
		if c, ok := h.checks.At(n); ok && !yield(c) {
			return
		}
	}
}

// check is the claims for one tick.
type check struct {
	tick       ecs.Tick
	registered image.PlayerSet                  // those who may claim, and be blamed
	voted      image.PlayerSet                  // of registered
	sums       [image.MaxPlayers]image.Checksum // of the players in voted
	truth      image.Checksum
	known      bool // the server has computed truth
	contested  bool // the claims differ, and truth is not known
}

func (c *check) claiming(sum image.Checksum) image.PlayerSet { return claiming(c.voted, &c.sums, sum) }
