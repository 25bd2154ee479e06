package client

import (
	"slices"

	"tendon/ecs"
	"tendon/systems"
)

// Order requests an order of the player, whose payload ecs.Order.Pack returns. The server stamps it if it is valid. It is executed at
// most once.
//
// No error means only that the order was sent. If the server refuses it, before it is stamped or when it is executed,
// Config.Refused receives its number, once. A refusal that is lost with the connection is sent again after a reconnect. An order
// that is not stamped when the connection is lost, or when a resync replaces the state, may be lost. Only verify repeats orders,
// for as long as its Config says, and reports the result. To make sure of an order, send it again if its effect does not show, and
// identify it by its data.
func (c *Core) Order(target ecs.Entity, payload []byte) (number uint64, err error) {
	if c.state != Live || c.welcome.Seat < 0 {
		return 0, ErrNotLive
	}
	c.ordered++
	return c.ordered, c.strategy.Order(c.ordered, target, payload, c.out())
}

// Orders returns a queue of orders that the next Frame sends: that of the view. Config.Refused receives those that cannot be sent.
func (c *Core) Orders() *ecs.OrderQueue { return c.view.Orders }

// giveOrders sends the orders of the queue.
func (c *Core) giveOrders() {
	c.view.Orders.Drain(func(target ecs.Entity, payload []byte) {
		if _, err := c.Order(target, payload); err != nil {
			c.refuse(0, int(payload[0]), err.Error())
		}
	})
}

// refusals are the numbers of the last orders that the server refused, a ring.
type refusals struct {
	numbers [32]uint64
	count   int
}

// refusedHere receives the refusals that the strategy finds.
func (c *Core) refusedHere(r systems.Refusal) { c.refuse(r.Number, r.Type, r.Reason) }

// isNewRefusal reports whether the server refuses an order for the first time. After a reconnect it repeats refusals, perhaps those
// of a process before this one.
func (c *Core) isNewRefusal(number uint64) bool {
	r := &c.refusals
	if number > c.ordered || slices.Contains(r.numbers[:], number) {
		return false
	}
	r.numbers[r.count%len(r.numbers)] = number
	r.count++
	return true
}

// refuse passes the refusal of an order of a type in Game.Orders, or of none, to Config.Refused.
func (c *Core) refuse(number uint64, kind int, reason string) {
	if c.config.Refused == nil {
		return
	}
	r := Refusal{Number: number, Reason: reason}
	if types := c.view.Sim.Image().Schema().Orders; kind < len(types) {
		r.Order = types[kind].Name()
	}
	c.config.Refused(r)
}
