package vote

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// Resynced makes player p, who was blamed, vote on the ticks that are opened from now on. Call it when the player has
// loaded the server's state, not when the state is sent: claims in between are still wrong.
func (h *Hashes) Resynced(p ecs.Player) { h.apart &^= 1 << p }

// Forget clears the history of seat p when its player leaves it. The next player starts clean and has no vote on earlier
// ticks. The claims of the former player stay counted.
func (h *Hashes) Forget(p ecs.Player) {
	if p >= image.MaxPlayers {
		return
	}
	h.strikes[p], h.missed[p] = 0, 0
	h.apart &^= 1 << p
	h.blamed &^= 1 << p
	h.stats.Doubled &^= 1 << p
	for c := range h.stored {
		c.blamed &^= 1 << p
	}
	h.dismiss(p)
}

// Strikes returns the number of blames of player p since Forget.
func (h *Hashes) Strikes(p ecs.Player) int {
	if p >= image.MaxPlayers {
		return 0
	}
	return h.strikes[p]
}

// Missed returns the number of ticks on which player p had a vote and did not cast it before the deadline.
func (h *Hashes) Missed(p ecs.Player) uint64 {
	if p >= image.MaxPlayers {
		return 0
	}
	return h.missed[p]
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

// Stats returns the counters.
func (h *Hashes) Stats() HashStats { return h.stats }

// blame gives p a strike for its claim for c's tick.
func (h *Hashes) blame(c *check, p ecs.Player) {
	h.strikes[p]++
	h.stats.Blames++
	c.blamed |= 1 << p
	h.apart |= 1 << p
	h.blamed |= 1 << p
	h.blamedAt[p] = c.tick
	h.dismiss(p)
}

// pardon takes back p's strike for c's tick. If Blamed has reported the strike, p still waits for its resync.
func (h *Hashes) pardon(c *check, p ecs.Player) {
	h.strikes[p]--
	h.stats.Blames--
	c.blamed &^= 1 << p
	if h.blamed.Has(p) && h.blamedAt[p] == c.tick {
		h.blamed &^= 1 << p
		h.apart &^= 1 << p
	}
}

// dismiss removes p from the open votes. That may end them.
func (h *Hashes) dismiss(p ecs.Player) {
	for c := range h.stored {
		c.dismissed |= 1 << p & c.registered
		h.contest(c)
	}
}
