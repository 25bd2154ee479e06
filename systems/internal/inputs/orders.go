package inputs

import (
	"bytes"

	"tendon/ecs"
)

// Orders are those that wait for the next ticks, in turn, on a server of whose clients none needs to know before.
type Orders struct{ waiting []ecs.Order }

// Len returns how many wait.
func (q *Orders) Len() int { return len(q.waiting) }

// Add lets an order wait; its payload is copied. It returns how many ticks go before the one that takes it, if each takes
// most.
func (q *Orders) Add(o ecs.Order, most int) (before ecs.Tick) {
	o.Payload = bytes.Clone(o.Payload)
	q.waiting = append(q.waiting, o)
	return ecs.Tick((len(q.waiting) - 1) / most)
}

// Take appends the orders of the next tick to dst, at most most, and returns the extended slice.
func (q *Orders) Take(dst []ecs.Order, most int) []ecs.Order {
	count := min(len(q.waiting), most)
	dst = append(dst, q.waiting[:count]...)
	rest := copy(q.waiting, q.waiting[count:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	return dst
}
