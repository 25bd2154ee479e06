package state

import (
	"cmp"
	"slices"

	"tendon/ecs"
)

type candidate struct {
	rowItem
	own     bool // its owner is the client's player
	urgency float32
	waited  ecs.Tick
}

// deadlineSeconds is the time within which an entity that is due is sent, if the deltas of that time have room for all.
const deadlineSeconds = 1

// reserve is the part of that time which is kept for entities that take more bits than expected.
const reserve = 1.0 / 8

// overload is the ratio of due bits to the room of a second's deltas above which deadlines apply to only half of each
// delta. Below it, all entities are late by a little.
const overload = 1.125

// deadline is the number of ticks after which an entity that waits is late.
func (s *Sender) deadline() ecs.Tick {
	return ecs.Tick(deadlineSeconds * s.changes.schema.game.TickRate)
}

// wait records that an item is due, and returns how many ticks it has waited.
func (w *writer) wait(it *item) ecs.Tick {
	s := w.sender
	if !it.waiting {
		it.waiting, it.waits = true, w.before
	}
	waited := s.changes.tick - it.waits
	s.stats.Longest = max(s.stats.Longest, waited)
	return waited
}

// room returns the expected bits that there is room for.
func (w *writer) room() float32 {
	return float32(w.limit-w.encoder.Len()-endBytes) * 8 / w.sender.ratio
}

// sort orders the entities that are due, once per delta. The player's own entities come first, in up to half of the room. Then
// come those that have waited longest, as many as must be sent now if all are to be in time. Then come those of the highest
// urgency.
func (w *writer) sort(due []candidate) {
	if w.ordered {
		return
	}
	w.ordered = true
	room, own := w.room(), 0
	for i := range due {
		if due[i].own {
			due[own], due[i] = due[i], due[own]
			own++
		}
	}
	slices.SortFunc(due[:own], byUrgency)
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
	slices.SortFunc(due, byUrgency)
}

// pressing returns the expected bits of those that have waited longest which must be sent in this delta, own bits of which
// are taken.
//
// Entities due within k deltas, with this one, must fit into k deltas; what exceeds the k−1 that follow must be sent now. A
// delta may leave almost an entity's bits unused, so only the rest of its room counts. If the demands fit for every k, they
// fit again after this delta: what it sent is due a second later, where only the sum of all counts.
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

func byDeadline(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.waited, a.waited), byUrgency(a, b))
}

func byUrgency(a, b candidate) int {
	switch {
	case a.own && !b.own:
		return -1
	case b.own && !a.own:
		return 1
	}
	return cmp.Or(cmp.Compare(b.urgency, a.urgency), cmp.Compare(a.row, b.row))
}
