package authority

import (
	"bytes"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// Stamp enters an order into the next tick that has room. Clients receive its effect with the state, so they need not know
// the order in advance. It panics on an order that no peer would accept. A strategy whose clients simulate orders has a
// Stamp of its own.
func (s *Server[C, P]) Stamp(o image.Order, _ systems.Outbox) ecs.Tick {
	s.CheckOrder(&o)
	o.Payload = bytes.Clone(o.Payload)
	s.waiting = append(s.waiting, o)
	return s.done + 1 + ecs.Tick((len(s.waiting)-1)/s.config.OrdersPerTick)
}

// CheckOrder panics on an order that no peer would accept.
func (s *Server[C, P]) CheckOrder(o *image.Order) {
	if !o.Kind.Shared() || int(o.Player) >= s.Game.MaxPlayers || o.Kind == image.OrderGame && s.Game.CheckOrder(o.Payload) != nil {
		panic(fmt.Sprintf("%s: Stamp of an order of kind %d for player %d with %d bytes: check what comes from outside first", s.config.Name, o.Kind, o.Player, len(o.Payload)))
	}
}

// CheckTick returns an error for a tick to adopt with an order that the game does not declare. No server stamps one.
func (s *Server[C, P]) CheckTick(t systems.FinalTick) error {
	for i := range t.Orders {
		if o := &t.Orders[i]; o.Kind == image.OrderGame {
			if err := s.Game.CheckOrder(o.Payload); err != nil {
				return fmt.Errorf("%s: tick %d: %w", s.config.Name, t.Tick, err)
			}
		}
	}
	return nil
}

// The budget for the orders of one player, of all connections to their seat. An order costs 1, and 1 more for each 64
// bytes of its payload. A refused order costs as much.
const (
	OrdersPerSecond = 10 // on average
	OrderBurst      = 20 // at once
	orderUnit       = 64 // bytes
)

// AllowOrder reports whether the budget of a player has room for an order, and counts it if so.
func (s *Server[C, P]) AllowOrder(p ecs.Player, payload []byte) bool {
	return s.budgets[p].AllowN(OrdersPerSecond*s.done, 1+len(payload)/orderUnit)
}

// MayStamp reports whether an order of a player in the match may be stamped: it is within the player's budget, and valid
// in the state of World.
func (s *Server[C, P]) MayStamp(o *image.Order) bool {
	return s.AllowOrder(o.Player, o.Payload) && s.World().ValidOrder(o)
}

// Waiting returns the number of orders that were stamped and wait for their tick.
func (s *Server[C, P]) Waiting() int { return len(s.waiting) }

// Unexecuted appends the orders that wait for their tick.
func (s *Server[C, P]) Unexecuted(dst []image.Order) []image.Order { return append(dst, s.waiting...) }

// NextOrders puts the stamped orders of the running tick into Step. It is a system of phase Reconcile.
func (s *Server[C, P]) NextOrders() {
	n := min(len(s.waiting), s.config.OrdersPerTick)
	s.Step.Orders = append(s.Step.Orders, s.waiting[:n]...)
	s.waiting = slices.Delete(s.waiting, 0, n)
}

// ReceiveOrder stamps the order that a message requests for its player, of a kind that code.AppendRequest wrote. It is a
// system of phase Receive.
func (s *Server[C, P]) ReceiveOrder(m systems.Message) error {
	o, ok, err := s.Requested(m)
	if ok {
		s.Stamp(o, m.Out)
	}
	return err
}

// Requested returns the order that a message requests for its player. A malformed message is an error. ok is also false if
// the player is not in the match, or the order may not be stamped: see MayStamp. The payload aliases the message.
func (s *Server[C, P]) Requested(m systems.Message) (o image.Order, ok bool, err error) {
	p := &s.Peers[m.From]
	target, payload, ok := code.ReadRequest(m.Body, m.Body[0])
	if !ok || p.Seat < 0 {
		return o, false, s.config.Malformed
	}
	o = image.Order{Kind: image.OrderGame, Player: p.Player(), Entity: target, Payload: payload}
	if !s.World().Players().Has(p.Player()) || !s.MayStamp(&o) {
		p.Stats.Refused++
		return o, false, nil
	}
	return o, true, nil
}
