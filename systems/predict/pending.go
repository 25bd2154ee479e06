package predict

import "tendon/ecs"

// pending holds what the local player did in the ticks that the server has not consumed, as far as is known here:
// ticks (base, base + count]. That of tick f lies in slot f % maxPending.
//
// A full queue refuses: it never gives the slot of an input away that was not consumed, since the server may still ask
// for it.
type pending struct {
	base  ecs.Tick
	count int
	slots [maxPending]slot
}

// maxPending is how many inputs wait at most: 17 s at 60 ticks per second ("Online Multiplayer Game Programming", 2007).
const maxPending = 1024

// entry is what the player did in a tick, and the moment that he saw when he did it.
type entry struct {
	in   ecs.InputBytes
	view ecs.ViewStamp
}

// slot is an entry with its tick.
type slot struct {
	entry
	tick ecs.Tick
}

// last returns the newest tick that has an input, base for none.
func (q *pending) last() ecs.Tick { return q.base + ecs.Tick(q.count) }

// push adds the input of tick last + 1; ok is false if there is no room.
func (q *pending) push(e entry) (ok bool) {
	if q.count == maxPending {
		return false
	}
	q.count++
	q.slots[q.last()%maxPending] = slot{e, q.last()}
	return true
}

// at returns what the player did in tick f; ok is false for one that is not waiting.
func (q *pending) at(f ecs.Tick) (e entry, ok bool) {
	if f <= q.base || f > q.last() {
		return entry{}, false
	}
	return q.slots[f%maxPending].entry, true
}

// given returns what the player did in tick f, whether or not it was consumed meanwhile; ok is false if he did nothing
// then that is still known.
func (q *pending) given(f ecs.Tick) (e entry, ok bool) {
	s := &q.slots[f%maxPending]
	return s.entry, s.tick == f && f > 0 && f <= q.last()
}

// drop removes all inputs of ticks ≤ f, which the server has consumed: not only that of f.
func (q *pending) drop(f ecs.Tick) {
	if f <= q.base {
		return
	}
	q.count = max(0, q.count-int(min(f-q.base, maxPending)))
	q.base = f
}

// reset empties the queue; the next input is that of tick f + 1.
func (q *pending) reset(f ecs.Tick) { q.base, q.count = f, 0 }
