package inputs

import (
	"bytes"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Orders is the queue of orders on a server that stamps an order when it executes it.
type Orders struct{ waiting []image.Order }

// Len returns the number of waiting orders.
func (q *Orders) Len() int { return len(q.waiting) }

// Add appends an order; its payload is copied. It returns the number of ticks before the one that executes the order,
// if each tick executes perTick.
func (q *Orders) Add(o image.Order, perTick int) (before ecs.Tick) {
	o.Payload = bytes.Clone(o.Payload)
	q.waiting = append(q.waiting, o)
	return ecs.Tick((len(q.waiting) - 1) / perTick)
}

// Next removes the orders of the next tick, at most perTick, appends them to dst and returns the extended slice.
func (q *Orders) Next(dst []image.Order, perTick int) []image.Order {
	count := min(len(q.waiting), perTick)
	dst = append(dst, q.waiting[:count]...)
	rest := copy(q.waiting, q.waiting[count:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	return dst
}
