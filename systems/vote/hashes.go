package vote

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
)

// Hashes is a running vote on the state of every tick that is a multiple of Every. The true checksum of a tick is the one
// that more than half of its registered players claim, or the one that the server computed. A player with another claim is
// blamed.
//
// A blamed player is out of sync until Resynced. Until then it is not blamed again, and it is not registered for the ticks
// that follow. A tick has at most one true checksum, and a player at most one blame per tick.
type Hashes struct {
	every    ecs.Tick
	deadline systems.Time
	newest   ecs.Tick              // last tick opened, 0: none
	next     systems.Time          // no deadline comes before; forever: there is none
	checks   rollback.Ring[check]  // by tick / every
	strikes  [image.MaxPlayers]int // blames since Forget
	missed   [image.MaxPlayers]uint64
	apart    image.PlayerSet // blamed, not resynced
	blamed   image.PlayerSet // not returned by Blamed yet
	blamedAt [image.MaxPlayers]ecs.Tick
	stats    HashStats
}

// HashesConfig configures a Hashes.
type HashesConfig struct {
	// Every is the interval of the ticks that are voted on, in ticks. 0: 60.
	Every ecs.Tick
	// Deadline is the time that a tick waits for a majority, in nanoseconds from Open. 0: 10 seconds.
	Deadline systems.Time
}

// HashStats counts events since a Hashes was made.
type HashStats struct {
	Votes        uint64          // counted votes
	Repeated     uint64          // second votes of a player on a tick, the same or not
	Unknown      uint64          // votes on ticks that are not voted on, in the future, or no longer stored
	Unregistered uint64          // votes of players who have no vote on the tick
	Blames       uint64          // without those withdrawn
	Replays      uint64          // ticks that the server was asked to replay
	Unresolved   uint64          // ticks that were removed without a truth
	Doubled      image.PlayerSet // players who claimed two checksums for one tick; the first one counts
}

const (
	// DefaultEvery is the default of HashesConfig.Every, in ticks.
	DefaultEvery ecs.Tick = 60
	// MaxStrikes is the number of strikes at which a player must be removed. With fewer it must be resynced.
	MaxStrikes = 3

	// hashesKept is the number of ticks that are stored: 64 seconds at 60 ticks per second.
	hashesKept = 64

	forever systems.Time = 1<<63 - 1
)

// NewHashes returns a vote without ticks. The error names the field of c that is invalid.
func NewHashes(c HashesConfig) (*Hashes, error) {
	if c.Deadline < 0 {
		return nil, fmt.Errorf("vote: HashesConfig.Deadline is %d ns: it is a duration, 0 for 10 s", c.Deadline)
	}
	if c.Deadline == 0 {
		c.Deadline = DefaultDeadline
	}
	if c.Every == 0 {
		c.Every = DefaultEvery
	}
	return &Hashes{every: c.Every, deadline: c.Deadline, next: forever, checks: rollback.NewRing[check](hashesKept)}, nil
}

// Open begins the vote on tick f, in which registered are the players in the match. Call it for every tick in turn when
// the server has computed it. It does nothing unless f is voted on, and panics if f is not after the last one opened.
func (h *Hashes) Open(f ecs.Tick, registered image.PlayerSet, now systems.Time) {
	if f == 0 || f%h.every != 0 {
		return
	}
	if f <= h.newest {
		panic(fmt.Sprintf("vote: Open of tick %d after tick %d: open ticks in turn", f, h.newest))
	}
	c, _ := h.checks.Slot(f / h.every)
	if c.registered != 0 && c.origin == unknown {
		h.stats.Unresolved++
	}
	*c = check{tick: f, registered: registered &^ h.apart, until: now + h.deadline}
	h.newest, h.next = f, min(h.next, c.until)
}

// Cast records the claim of player p for tick f. A claim that cannot be used is counted and otherwise ignored. A claim after
// the deadline is compared with the true checksum, but does not vote for one.
func (h *Hashes) Cast(p ecs.Player, f ecs.Tick, sum image.Checksum, now systems.Time) {
	h.expire(now - 1) // a vote at the very deadline still counts
	c := h.at(f)
	switch {
	case c == nil:
		h.stats.Unknown++
		return
	case !(c.registered &^ c.dismissed).Has(p):
		h.stats.Unregistered++
		return
	case c.voted.Has(p):
		h.stats.Repeated++
		if c.sums[p] != sum {
			h.stats.Doubled |= 1 << p
		}
		return
	}
	h.stats.Votes++
	c.voted |= 1 << p
	c.sums[p] = sum
	switch {
	case c.origin != unknown:
		h.blameOthers(c)
	case !c.over && 2*c.claiming(sum).Len() > c.registered.Len():
		c.truth, c.origin = sum, fromMajority
		h.blameOthers(c)
	default:
		h.contest(c)
	}
}

// Truth sets the checksum of tick f that the server computed: for every tick, or only in answer to Contested. It overrides
// a majority and withdraws the blames that the majority caused. It returns false and does nothing if the tick is not
// stored, or if Truth was called for it before.
func (h *Hashes) Truth(f ecs.Tick, sum image.Checksum) bool {
	c := h.at(f)
	if c == nil || c.origin == fromServer {
		return false
	}
	c.truth, c.origin = sum, fromServer
	for p := range (c.blamed & c.claiming(sum)).All() {
		h.pardon(c, p)
	}
	h.blameOthers(c)
	return true
}

// Step ends the votes whose deadline is there.
func (h *Hashes) Step(now systems.Time) { h.expire(now) }

// Contested calls f, oldest tick first, once for every tick whose voters disagree without a majority. The server replays up
// to it and calls Truth.
//
// A tick with too few votes that do not contradict each other is not contested, since no player could be blamed.
func (h *Hashes) Contested(f func(tick ecs.Tick)) {
	for c := range h.stored {
		if c.contested && !c.asked && c.origin != fromServer {
			c.asked = true
			h.stats.Replays++
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

// blameOthers blames all players whose claim differs from the truth of c's tick.
func (h *Hashes) blameOthers(c *check) {
	for p := range (c.voted &^ c.claiming(c.truth) &^ c.dismissed).All() {
		h.blame(c, p)
	}
}

// contest requests a replay of c's tick if the votes differ and no majority can come any more.
func (h *Hashes) contest(c *check) {
	if c.origin == unknown && (c.over || c.registered&^c.voted&^c.dismissed == 0) && c.split() {
		c.contested = true
	}
}

// expire ends the votes whose deadline is at or before t.
func (h *Hashes) expire(t systems.Time) {
	if t < h.next {
		return
	}
	h.next = forever
	for c := range h.stored {
		switch {
		case c.over:
		case c.until > t:
			h.next = min(h.next, c.until)
		default:
			c.over = true
			for p := range (c.registered &^ c.voted &^ c.dismissed).All() {
				h.missed[p]++
			}
			h.contest(c)
		}
	}
}

// at returns the vote on tick f, nil if it is not stored.
func (h *Hashes) at(f ecs.Tick) *check {
	if c, ok := h.checks.At(f / h.every); ok && c.tick == f {
		return c
	}
	return nil
}

// stored calls yield for each stored vote, oldest first.
func (h *Hashes) stored(yield func(*check) bool) {
	newest := h.newest / h.every
	for n := newest - min(newest, hashesKept-1); n <= newest; n++ {
		if c, ok := h.checks.At(n); ok && !yield(c) {
			return
		}
	}
}
