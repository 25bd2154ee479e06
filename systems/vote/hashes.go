package vote

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
)

// Hashes is a running vote on the state of every tick that is a multiple of Every. The true checksum of a tick is the
// one that more than half of its registered players claim, or the one that the server computed. A player with another claim
// is blamed.
//
// A blamed player is out of sync until Resynced. Until then it is not blamed again, and it is not registered for the ticks
// that follow. A tick has at most one true checksum, and a player at most one blame per tick.
type Hashes struct {
	newest   ecs.Tick              // last tick opened, 0: none
	next     systems.Time          // no deadline comes before; forever: there is none
	checks   rollback.Ring[check]  // by tick / Every
	strikes  [image.MaxPlayers]int // blames since Forget
	apart    image.PlayerSet       // blamed, not resynced
	blamed   image.PlayerSet       // not returned by Blamed yet
	blamedAt [image.MaxPlayers]ecs.Tick
}

const (
	// Every is the interval of the ticks that are voted on.
	Every ecs.Tick = 60
	// MaxStrikes is the number of strikes at which a player must be removed. With fewer it must be resynced.
	MaxStrikes = 3

	hashesKept              = 64 // ticks that are stored: 64 seconds at 60 ticks per second
	forever    systems.Time = 1<<63 - 1
)

// NewHashes returns a vote without ticks.
func NewHashes() *Hashes { return &Hashes{next: forever, checks: rollback.NewRing[check](hashesKept)} }

// Open begins the vote on tick f, in which registered are the players in the match. It ends DefaultDeadline after now. Call
// Open for every tick in turn. It does nothing unless f is voted on, and panics if f is not after the last one opened.
func (h *Hashes) Open(f ecs.Tick, registered image.PlayerSet, now systems.Time) {
	if f == 0 || f%Every != 0 {
		return
	}
	if f <= h.newest {
		panic(fmt.Sprintf("vote: Open of tick %d after tick %d: open ticks in turn", f, h.newest))
	}
	h.checks.Put(f/Every, check{tick: f, registered: registered &^ h.apart, until: now + DefaultDeadline})
	h.newest, h.next = f, min(h.next, now+DefaultDeadline)
}

// Cast records the first claim of player p for tick f, if p has a vote on it. A claim after the deadline is compared with
// the true checksum, but does not vote for one.
func (h *Hashes) Cast(p ecs.Player, f ecs.Tick, sum image.Checksum, now systems.Time) {
	h.Step(now - 1) // a vote at the very deadline still counts
	c := h.at(f)
	if c == nil || !c.missing().Has(p) {
		return
	}
	c.voted |= 1 << p
	c.sums[p] = sum
	switch {
	case c.known:
		h.blameOthers(c)
	case !c.over && 2*c.claiming(sum).Len() > c.registered.Len():
		c.truth, c.known = sum, true
		h.blameOthers(c)
	default:
		c.contest()
	}
}

// Truth sets the checksum of tick f that the server computed: for every tick, or only in answer to Contested. It overrides
// a majority and withdraws the blames that the majority caused. It returns false and does nothing if the tick is not
// stored, or if Truth was called for it before.
func (h *Hashes) Truth(f ecs.Tick, sum image.Checksum) bool {
	c := h.at(f)
	if c == nil || c.computed {
		return false
	}
	c.truth, c.known, c.computed = sum, true, true
	for p := range (c.blamed & c.claiming(sum)).All() {
		h.pardon(c, p)
	}
	h.blameOthers(c)
	return true
}

// Step ends the votes whose deadline is at or before now.
func (h *Hashes) Step(now systems.Time) {
	if now < h.next {
		return
	}
	h.next = forever
	for c := range h.stored {
		switch {
		case c.over:
		case c.until > now:
			h.next = min(h.next, c.until)
		default:
			c.over = true
			c.contest()
		}
	}
}

// Contested calls f, oldest tick first, once for every tick whose voters disagree without a majority. The server replays up
// to it and calls Truth.
func (h *Hashes) Contested(f func(tick ecs.Tick)) {
	for c := range h.stored {
		if c.contested && !c.requested && !c.computed {
			c.requested = true
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

// Forget clears the history of seat p when its player leaves it. The next player has no vote on earlier ticks. The claims
// of the former player stay counted.
func (h *Hashes) Forget(p ecs.Player) {
	if p >= image.MaxPlayers {
		return
	}
	h.strikes[p] = 0
	h.apart &^= 1 << p
	h.blamed &^= 1 << p
	for c := range h.stored {
		c.blamed &^= 1 << p
	}
	h.dismiss(p)
}

// Clean returns the players without a strike, for Ballot.Open.
func (h *Hashes) Clean() (set image.PlayerSet) {
	for p, n := range h.strikes {
		if n == 0 {
			set |= 1 << p
		}
	}
	return set
}

// blameOthers gives a strike to all players whose claim differs from the truth of c's tick.
func (h *Hashes) blameOthers(c *check) {
	for p := range (c.voted &^ c.claiming(c.truth) &^ c.dismissed).All() {
		h.strikes[p]++
		c.blamed |= 1 << p
		h.apart |= 1 << p
		h.blamed |= 1 << p
		h.blamedAt[p] = c.tick
		h.dismiss(p)
	}
}

// pardon takes back p's strike for c's tick. If Blamed has reported the strike, p still waits for its resync.
func (h *Hashes) pardon(c *check, p ecs.Player) {
	h.strikes[p]--
	c.blamed &^= 1 << p
	if h.blamed.Has(p) && h.blamedAt[p] == c.tick {
		h.blamed &^= 1 << p
		h.apart &^= 1 << p
	}
}

// dismiss removes p from the stored votes. That may end them.
func (h *Hashes) dismiss(p ecs.Player) {
	for c := range h.stored {
		c.dismissed |= 1 << p & c.registered
		c.contest()
	}
}

// at returns the vote on tick f, nil if it is not stored.
func (h *Hashes) at(f ecs.Tick) *check {
	if c, ok := h.checks.At(f / Every); ok && c.tick == f {
		return c
	}
	return nil
}

// stored calls yield for each stored vote, oldest first.
func (h *Hashes) stored(yield func(*check) bool) {
	newest := h.newest / Every
	for n := newest - min(newest, hashesKept-1); n <= newest; n++ {
		if c, ok := h.checks.At(n); ok && !yield(c) {
			return
		}
	}
}

// check is the vote on one tick.
type check struct {
	tick       ecs.Tick
	registered image.PlayerSet
	dismissed  image.PlayerSet // of registered, those who may neither vote nor be blamed any more
	voted      image.PlayerSet
	blamed     image.PlayerSet
	sums       [image.MaxPlayers]image.Checksum // of the players in voted
	truth      image.Checksum
	known      bool // truth is set
	computed   bool // by the server, which overrides the majority
	until      systems.Time
	over       bool // the deadline has passed
	contested  bool // the server must replay
	requested  bool // Contested has requested the replay
}

// missing returns the players who may vote and have not.
func (c *check) missing() image.PlayerSet { return c.registered &^ c.voted &^ c.dismissed }

func (c *check) claiming(sum image.Checksum) image.PlayerSet { return claiming(c.voted, &c.sums, sum) }

// contest requests a replay if the votes of players who are not dismissed differ, and no majority can come any more.
func (c *check) contest() {
	if c.known || !c.over && c.missing() != 0 {
		return
	}
	counted := c.voted &^ c.dismissed
	for p := range counted.All() {
		c.contested = c.contested || counted&^c.claiming(c.sums[p]) != 0
		return // all others claim the same as the first, or they differ
	}
}
