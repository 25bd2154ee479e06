// Package peers holds the parts of a server's connection that all strategies share.
//
// # Tasks
//
//   - request an image for a peer once: [Resync]
//   - limit the messages and orders of a client: [Budget]
package peers

import (
	"tendon/ecs"
	"tendon/net/limit"
)

// Resync says whether a peer needs an image. It goes from InSync to Needed to Reported, and back to InSync when the
// peer is opened anew.
type Resync uint8

// The states of a Resync.
const (
	InSync   Resync = iota
	Needed          // the peer's state differs, it asked for an image, or it is too far behind
	Reported        // the room was informed
)

// Request makes a peer that is in sync need an image.
func (r *Resync) Request() {
	if *r == InSync {
		*r = Needed
	}
}

// Report reports whether the room must be informed now. It returns true once for each request.
func (r *Resync) Report() bool {
	if *r != Needed {
		return false
	}
	*r = Reported
	return true
}

// Budget limits the messages and orders of a client that runs ahead of the server. Such a client sends at most one
// message of inputs per tick, at up to 1.1 times the nominal pace, and a few others. After a hitch many arrive at once.
type Budget struct {
	messages limit.Limiter[ecs.Tick] // in 1/messagesPerTick of a tick
	orders   limit.Limiter[ecs.Tick] // in 1/OrdersPerSecond of a tick
}

// The limits of a Budget.
const (
	messagesPerTick = 2
	MaxMessages     = 256 // at once
	OrdersPerSecond = 10  // and at once
)

// NewBudget returns a budget of which nothing is used.
func NewBudget(ticksPerSecond int) Budget {
	return Budget{messages: limit.New[ecs.Tick](1, MaxMessages), orders: limit.New(ecs.Tick(ticksPerSecond), OrdersPerSecond)}
}

// AllowMessage reports whether the peer may send one more message after tick done, and counts it if so.
func (b *Budget) AllowMessage(done ecs.Tick) bool { return b.messages.Allow(messagesPerTick * done) }

// AllowOrder reports whether the player may give one more order after tick done, and counts it if so.
func (b *Budget) AllowOrder(done ecs.Tick) bool { return b.orders.Allow(OrdersPerSecond * done) }
