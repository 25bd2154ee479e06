package state

import (
	"cmp"
	"slices"

	"tendon/ecs"
)

// candidate is an entity that is due.
type candidate struct {
	rowItem
	own    bool // it is the player's
	claim  float32
	waited ecs.Tick
}

// deadlineSeconds is within what time an entity that is due has its turn, where all of them fit into the bodies of that
// time.
const deadlineSeconds = 1

// reserve is the part of that kept for entities that take more than expected.
const reserve = 1.0 / 8

// overload is a multiple of the room in the bodies of a second. If the expected demand exceeds it, half of each body ignores
// deadlines. Below it, all updates are late by the same small amount.
const overload = 1.125

// deadline is how many ticks after it was right last an entity is to have its turn.
func (s *Sender) deadline() ecs.Tick {
	return ecs.Tick(deadlineSeconds * s.changes.schema.game.TickRate)
}

// wait takes note that an item is due, and returns for how long it has waited.
func (w *writer) wait(it *item) ecs.Tick {
	s := w.sender
	if !it.waiting {
		it.waiting, it.waits = true, w.before
	}
	waited := s.changes.tick - it.waits
	s.stats.Longest = max(s.stats.Longest, waited)
	return waited
}

// room is how many expected bits there are for entities.
func (w *writer) room() float32 {
	return float32(w.limit-w.encoder.Len()-endBytes) * 8 / w.sender.ratio
}

// sort orders the entities that are due, once for a body.
func (w *writer) sort(due []candidate) {
	if !w.ordered {
		w.ordered = true
		w.order(due, w.room())
	}
}

// order sorts the due entities for a room, in expected bits, that is not enough for all. First come the player's own entities,
// in up to half of the room. Then come as many of the longest waiting as must go now to be in time, and then the highest
// claims.
func (w *writer) order(due []candidate, room float32) {
	own := 0
	for i := range due {
		if due[i].own {
			due[own], due[i] = due[i], due[own]
			own++
		}
	}
	slices.SortFunc(due[:own], byClaim)
	n, taken := 0, float32(0)
	for n < own && (n == 0 || taken+float32(due[n].bits) <= room/2) {
		taken += float32(due[n].bits)
		n++
	}
	due = due[n:]
	if pressing := w.pressing(due, room-taken, taken); pressing > 0 {
		slices.SortFunc(due, byDeadline)
		for pressing > 0 && len(due) > 0 {
			pressing -= float32(due[0].bits)
			due = due[1:]
		}
	}
	slices.SortFunc(due, byClaim)
}

// pressing returns how many bits of the longest waiting updates must be in this body, in which own bits are used already.
//
// Updates due within k bodies, this one included, must fit into k bodies. The part that exceeds the k−1 later ones must go
// now. A body may leave almost an entity's bits unused, so only the rest of each counts. If the demands fit for every k,
// they fit again after a body of that size, since its updates are due a second later.
func (w *writer) pressing(due []candidate, room, own float32) (bits float32) {
	s := w.sender
	clear(w.demand)
	deadline := float32(s.deadline()) * (1 - reserve)
	total, largest := float32(0), float32(0)
	for i := range due {
		b := float32(due[i].bits)
		left := int(max(deadline-float32(due[i].waited), 0) / s.interval)
		w.demand[min(left, len(w.demand)-1)] += b
		total += b
		largest = max(largest, b)
	}
	all := max(s.room*8/s.ratio-own, 0)
	each := max(all-largest, all/2)
	sum := float32(0)
	for k, b := range w.demand {
		sum += b
		bits = max(bits, sum-each*float32(k))
	}
	if total > overload*all*float32(s.deadline())/s.interval {
		return min(bits, room/2)
	}
	return min(bits, room)
}

// byDeadline puts first what has waited longest.
func byDeadline(a, b candidate) int {
	if a.waited != b.waited {
		return cmp.Compare(b.waited, a.waited)
	}
	return byClaim(a, b)
}

// byClaim puts the player's own first, and then the highest claim.
func byClaim(a, b candidate) int {
	switch {
	case a.own != b.own && a.own:
		return -1
	case a.own != b.own:
		return 1
	case a.claim != b.claim:
		return cmp.Compare(b.claim, a.claim)
	}
	return cmp.Compare(a.row, b.row)
}
