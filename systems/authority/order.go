package authority

import (
	"bytes"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/limit"
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
	s.Stamped = s.done + 1 + ecs.Tick((len(s.waiting)-1)/s.config.OrdersPerTick)
	return s.Stamped
}

// CheckOrder panics on an order that no peer would accept.
func (s *Server[C, P]) CheckOrder(o *image.Order) {
	if !code.ValidOrder(o, s.Game) || o.Kind == image.OrderGame && s.DeclaredOrder(o.Payload) != nil {
		panic(fmt.Sprintf("%s: Stamp of an order of kind %d for player %d with %d bytes: check what comes from outside first", s.config.Name, o.Kind, o.Player, len(o.Payload)))
	}
}

// CheckTick returns an error for a tick to adopt with an order that no server stamps.
func (s *Server[C, P]) CheckTick(t systems.FinalTick) error {
	for i := range t.Orders {
		switch o := &t.Orders[i]; {
		case o.Kind == image.OrderGame:
			if err := s.DeclaredOrder(o.Payload); err != nil {
				return fmt.Errorf("%s: tick %d: %w", s.config.Name, t.Tick, err)
			}
		case o.Kind.Shared() && !code.ValidOrder(o, s.Game):
			return fmt.Errorf("%s: tick %d has an order of kind %d for player %d with %d bytes, which no server stamps", s.config.Name, t.Tick, o.Kind, o.Player, len(o.Payload))
		}
	}
	return nil
}

// DeclaredOrder returns an error for a payload that is not of a type in Game.Orders.
func (s *Server[C, P]) DeclaredOrder(payload []byte) error {
	return s.Config.World.Image().Schema().CheckOrder(payload)
}

// budget is what a player has left of Game.OrderBudget, and of the same budget for refusals. The time is OrderBudget.PerSecond ×
// the tick. A refusal costs 1.
type budget struct{ orders, refusals limit.Limiter[ecs.Tick] }

func newBudget(g *ecs.Game) budget {
	l := limit.New(ecs.Tick(g.TickRate), g.Budget().Burst)
	return budget{l, l}
}

// orderQueue is for how many seconds stamped orders may fill the next ticks. Further orders are refused.
const orderQueue = 2

// AllowOrder reports whether there is room for an order of a player, in their budget and in the next ticks, and counts it if so.
func (s *Server[C, P]) AllowOrder(p ecs.Player, payload []byte) bool {
	b := s.Game.Budget()
	return s.Stamped <= s.done+ecs.Tick(orderQueue*s.Game.TickRate) && s.budgets[p].orders.AllowN(ecs.Tick(b.PerSecond)*s.done, b.Cost(len(payload)))
}

// RefuseOrder returns why an order may not be stamped, or "". The player must be in the match and within the budget, and the order
// must be valid in the state of World. With unseen, the conditions of Game.Orders are left to the execution.
func (s *Server[C, P]) RefuseOrder(o *image.Order, in image.PlayerSet, unseen bool) (reason string) {
	switch {
	case !in.Has(o.Player):
		return image.ReasonAbsent
	case !s.AllowOrder(o.Player, o.Payload):
		return image.ReasonTooMany
	case unseen:
		_, _, reason = s.Config.World.Image().Schema().ReadOrder(o.Payload)
		return reason
	}
	return s.World().RefuseOrder(o)
}

// Refuse reports to the giver, with the next Send, that an order of theirs was refused. Without a number there is no giver to
// report to. Refusals beyond the player's budget are dropped.
func (s *Server[C, P]) Refuse(o *image.Order, reason string) {
	if s.Config.Refused == nil || o.Number == 0 || !s.budgets[o.Player].refusals.Allow(ecs.Tick(s.Game.Budget().PerSecond)*s.done) {
		return
	}
	r := systems.Refusal{Player: o.Player, Number: o.Number, Type: image.MaxOrderTypes, Reason: reason}
	if len(o.Payload) > 0 {
		r.Type = int(o.Payload[0])
	}
	s.refused = append(s.refused, r)
}

// sendRefusals passes the refusals to ServerConfig.Refused.
func (s *Server[C, P]) sendRefusals() {
	for _, r := range s.refused {
		s.Config.Refused(r)
	}
	clear(s.refused)
	s.refused = s.refused[:0]
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
// the order is refused: see RefuseOrder. The payload aliases the message.
func (s *Server[C, P]) Requested(m systems.Message) (o image.Order, ok bool, err error) {
	p := &s.Peers[m.From]
	number, target, payload, ok := code.ReadRequest(m.Body, m.Body[0])
	if !ok || p.Seat < 0 {
		return o, false, s.config.Malformed
	}
	o = image.Order{Kind: image.OrderGame, Player: p.Player(), Entity: target, Payload: payload, Number: number}
	if reason := s.RefuseOrder(&o, s.World().Players(), false); reason != "" {
		p.Stats.Refused++
		s.Refuse(&o, reason)
		return o, false, nil
	}
	return o, true, nil
}
