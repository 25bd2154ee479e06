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

// reserve is which part of that is kept for what takes more than was expected.
const reserve = 1.0 / 8

// overload is how many times what a second's bodies have room for has to be due, as far as that is known beforehand, for
// deadlines to be given up for half of each body. Up to there, all of them are late by as little.
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

// order puts first what goes first, where the room, in expected bits, is not enough for all: the player's own entities,
// in up to half of the room; then as many of those that have waited longest as have to go now if all are to be in time;
// then the highest claims.
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

// pressing returns how many bits of those that have waited longest have to be in this body, of which own bits are taken.
//
// What is due within k bodies, this one included, must fit into k bodies; what exceeds the k−1 that follow must go now.
// A body may leave almost an entity's bits unused, so that only the rest of each is counted on. If the demands fit for
// every k, they fit again after a body that brings as much: what it brought is due a second later, and there only the sum
// of all counts.
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
