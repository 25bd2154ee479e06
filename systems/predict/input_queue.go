package predict

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// inputQueue holds the local player's inputs of the ticks (base, base + count], which the server has not consumed by the
// newest snapshot. A full queue refuses an input, since the server may still request all that it holds.
type inputQueue struct {
	base  ecs.Tick
	count int
	ring  rollback.Ring[entry] // those that were consumed, too
}

// maxPending is the most inputs that wait: 17 s at 60 ticks per second ("Online Multiplayer Game Programming", 2007).
const maxPending = 1024

// entry is the player's input of a tick, and the moment of the remote entities that the player saw.
type entry struct {
	in   ecs.InputBytes
	view image.ViewStamp
}

// newInputQueue returns an empty queue; the next input is that of tick f + 1.
func newInputQueue(f ecs.Tick) inputQueue {
	return inputQueue{base: f, ring: rollback.NewRing[entry](maxPending)}
}

// last returns the newest tick that has an input, base for none.
func (q *inputQueue) last() ecs.Tick { return q.base + ecs.Tick(q.count) }

// push adds the input of tick last + 1; ok is false if there is no room.
func (q *inputQueue) push(e entry) (ok bool) {
	if q.count == maxPending {
		return false
	}
	q.count++
	q.ring.Put(q.last(), e)
	return true
}

// at returns the input of tick f; ok is false for a tick that does not wait.
func (q *inputQueue) at(f ecs.Tick) (e entry, ok bool) {
	if f <= q.base {
		return entry{}, false
	}
	return q.given(f)
}

// given returns the input of tick f, consumed or not; ok is false where it is not kept.
func (q *inputQueue) given(f ecs.Tick) (e entry, ok bool) {
	s, ok := q.ring.At(f)
	return *s, ok && f <= q.last()
}

// drop removes the inputs of all ticks ≤ f, which the server has consumed.
func (q *inputQueue) drop(f ecs.Tick) {
	if f > q.base {
		q.count = max(0, q.count-int(min(f-q.base, maxPending)))
		q.base = f
	}
}

// reset empties the queue; the next input is that of tick f + 1.
func (q *inputQueue) reset(f ecs.Tick) { q.base, q.count = f, 0 }
