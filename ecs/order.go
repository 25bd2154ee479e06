package ecs

import (
	"fmt"
	"slices"
	"unsafe"

	"tendon/ecs/image"
)

// Order is a type of orders: a rare, reliable action of a player with plain data, of at most image.MaxOrderBytes − 1 bytes.
// The server stamps an order into a tick, and all peers execute it there. Orders are never predicted.
//
// Do and If make a rule of it, which Game.Orders lists:
//
//	var move = ecs.NewOrder[Move]("move")
//	Orders: ecs.Orders(move.Do(march).If(allowed))
type Order[T any] struct{ declaration *image.Declaration }

// NewOrder declares an order.
func NewOrder[T any](name string) *Order[T] { return &Order[T]{image.DeclareOrder[T](name)} }

// Do returns the rule of the order. run executes an order of player p at the start of a tick, before the systems. target is
// the entity that the order addresses, or zero. It may not exist.
func (o *Order[T]) Do(run func(w *World, p Player, target Entity, value T)) *OrderRule[T] {
	return &OrderRule[T]{order: o, run: run}
}

// Pack returns the payload of an order, for Core.Order of package client.
func (o *Order[T]) Pack(g *Game, value T) []byte {
	i := o.number(g)
	if i < 0 {
		panic(fmt.Sprintf("ecs: order %q is given but not listed: add it to Game.Orders", o.declaration.Name()))
	}
	return o.declaration.AppendOrder(nil, i, unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)))
}

// Unpack is the inverse of Pack. ok is false for any other payload.
func (o *Order[T]) Unpack(g *Game, payload []byte) (value T, ok bool) {
	i, bytes, problem := g.Schema().ReadOrder(payload)
	if problem != "" || i != o.number(g) {
		return value, false
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)), bytes)
	return value, true
}

// number returns the position of the order in Game.Orders, or −1.
func (o *Order[T]) number(g *Game) int {
	return slices.IndexFunc(g.Orders, func(r AnyOrder) bool { return r.declared() == o.declaration })
}

// Give adds an order to a queue. It reports false if the queue is nil or full.
func (o *Order[T]) Give(q *OrderQueue, target Entity, value T) bool {
	if q == nil || len(q.list) == maxQueue {
		return false
	}
	q.list = append(q.list, image.Order{Kind: image.OrderGame, Entity: target, Payload: o.Pack(q.game, value)})
	return true
}

// OrderRule is an Order with its code.
type OrderRule[T any] struct {
	order *Order[T]
	run   func(w *World, p Player, target Entity, value T)
	allow func(w *World, p Player, target Entity, value T) string
}

// If sets the condition of the order, and returns the rule. allow returns "" if p may give the order in the state of w, or
// else the reason, a short constant text for the player. The first image.MaxReasonBytes bytes of it are used. allow only
// reads.
//
// A server calls allow before it stamps the order. World.Step calls it again, after the tick's orders before it, and skips
// an order that it refuses, on every peer alike. In both cases the giver receives the reason.
func (r *OrderRule[T]) If(allow func(w *World, p Player, target Entity, value T) string) *OrderRule[T] {
	r.allow = allow
	return r
}

// AnyOrder is an OrderRule of any type, as Game.Orders lists them.
type AnyOrder interface {
	declared() *image.Declaration
	complete() bool
	conditional() bool
	apply(w *World, o *image.Order, value []byte, execute bool) (reason string)
}

// Orders lists a game's orders. Their sequence is part of the game.
func Orders(list ...AnyOrder) []AnyOrder { return list }

func (r *OrderRule[T]) declared() *image.Declaration { return r.order.declaration }

func (r *OrderRule[T]) complete() bool { return r.run != nil }

func (r *OrderRule[T]) conditional() bool { return r.allow != nil }

// apply returns why the order is refused in the state of w, or "". With execute it executes the order unless it is refused.
func (r *OrderRule[T]) apply(w *World, o *image.Order, value []byte, execute bool) (reason string) {
	var v T
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)), value)
	if r.allow != nil {
		reason = image.ClipReason(r.allow(w, o.Player, o.Entity, v))
	}
	if reason == "" && execute {
		r.run(w, o.Player, o.Entity, v)
	}
	return reason
}

// Refusal is an order that World.Step has not executed.
type Refusal struct {
	Order  int    // its position in TickInputs.Orders
	Reason string // at most image.MaxReasonBytes
}

// Refusals returns the game orders that the last Step refused, in the order of the tick. They are valid until the next Step.
func (w *World) Refusals() []Refusal {
	w.alone("World.Refusals")
	return w.log().refusals
}

// RefuseOrder returns why an order of kind image.OrderGame is refused in the present state, or "" if it may take effect. It
// only reads. World.Step skips an order that is refused.
func (w *World) RefuseOrder(o *image.Order) (reason string) { return w.order(o, false) }

func (w *World) order(o *image.Order, execute bool) (reason string) {
	number, value, problem := w.image.Schema().ReadOrder(o.Payload)
	if problem != "" {
		return problem
	}
	return w.game.Orders[number].apply(w, o, value, execute)
}

// OrderQueue holds the orders that a player gives in a frame, at most 64. The hooks of Screen and bots give orders through
// it. The client sends them after the frame.
type OrderQueue struct {
	game *Game
	list []image.Order
}

const maxQueue = 64 // orders in an OrderQueue

// NewOrderQueue returns an empty queue for orders of the game.
func NewOrderQueue(g *Game) *OrderQueue { return &OrderQueue{game: g} }

// Drain calls f for each order and removes it. f may keep the payload.
func (q *OrderQueue) Drain(f func(target Entity, payload []byte)) {
	for _, o := range q.list {
		f(o.Entity, o.Payload)
	}
	clear(q.list)
	q.list = q.list[:0]
}

// OrderBudget bounds the orders of one player, of all connections to their seat. An order costs 1, and 1 more for each 64
// bytes of its payload. A refused order costs as much. Orders beyond the budget are refused.
type OrderBudget struct {
	PerSecond int // on average, at most 1000; 0: 10
	Burst     int // at once, at most 1000; 0: 20
}

// Cost returns what an order with this many bytes of payload costs.
func (OrderBudget) Cost(payload int) int { return 1 + payload/64 }

const maxBudget = 1000 // of each field of OrderBudget

// ConditionalOrders reports whether an order of the game has a condition: see OrderRule.If.
func (g *Game) ConditionalOrders() bool {
	return slices.ContainsFunc(g.Orders, AnyOrder.conditional)
}
