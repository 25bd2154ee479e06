package rollback

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// inputOf returns p's input of tick f, the one after the straight run's.
func (s *syncTest) inputOf(f ecs.Tick, p ecs.Player, last ecs.InputBytes) ecs.InputBytes {
	game := s.config.Game
	switch {
	case s.config.Input != nil:
		return game.Input.Clean(s.config.Input(f, p))
	case game.Bot != nil:
		in := game.Think(s.straight, p, s.bot, s.given)
		s.given.Drain(func(target ecs.Entity, payload []byte) {
			if s.straight.Players().Has(p) {
				s.botOrders = append(s.botOrders, image.Order{Kind: image.OrderGame, Player: p, Entity: target, Payload: payload})
			}
		})
		return game.Input.Clean(in)
	case s.sourceRand.IntN(4) > 0:
		return last
	}
	return randomInput(game, s.sourceRand)
}

// ordersOf returns the orders of tick f: see SyncTestConfig.Orders.
func (s *syncTest) ordersOf(f ecs.Tick) []image.Order {
	if s.config.Orders != nil {
		s.botOrders = s.botOrders[:0]
		return slices.Clone(s.config.Orders(f))
	}
	orders := append(s.membership(f), s.botOrders...)
	s.botOrders = s.botOrders[:0]
	schema, joined := s.straight.Image().Schema(), s.straight.Players()
	if len(schema.Orders) == 0 || !s.orders.Chance(1, 8) {
		return orders
	}
	for range 1 + s.orders.IntN(2) {
		if p := ecs.Player(s.orders.IntN(s.config.Game.MaxPlayers)); joined.Has(p) {
			orders = append(orders, RandomOrder(schema, p, &s.at(f-1).state, s.orders))
		}
	}
	return orders
}

// membership returns the default orders with which players join and leave in tick f.
func (s *syncTest) membership(f ecs.Tick) []image.Order {
	joined, players := s.straight.Players(), s.config.Game.MaxPlayers
	p := ecs.Player(s.sourceRand.IntN(players))
	churn := s.sourceRand.IntN(20) == 0
	if f <= ecs.Tick(players) {
		p, churn = ecs.Player(f-1), true
	}
	switch {
	case !churn:
		return nil
	case !joined.Has(p):
		return []image.Order{{Kind: image.OrderJoin, Player: p, Payload: image.AppendCard(nil, randomCard(f))}}
	case joined.Len() > 1 || players == 1:
		return []image.Order{{Kind: image.OrderLeave, Player: p}}
	}
	return nil
}

// randomCard returns the card of a player who joins in tick f.
func randomCard(f ecs.Tick) image.Card {
	r := image.NewRand(uint64(f))
	c := image.Card{Name: fmt.Sprintf("player %d", r.IntN(100)), Data: make([]byte, r.IntN(image.MaxCardData+1))}
	for i := range c.Data {
		c.Data[i] = byte(r.Uint64())
	}
	return c
}

// randomInput returns a random input among all that a peer could send.
func randomInput(g *ecs.Game, r *rand.Rand) (in ecs.InputBytes) {
	for i := range in {
		in[i] = byte(r.Uint32())
	}
	return g.Input.Clean(in)
}

// predict replaces the timeline's prediction for tick f: with probability 1/4 by a random input, with 1/2 by a recent input
// of a random player, and otherwise not.
func (s *syncTest) predict(f ecs.Tick, predicted ecs.InputBytes) ecs.InputBytes {
	switch s.rand.IntN(4) {
	case 0:
		return predicted
	case 1:
		return randomInput(s.config.Game, s.rand)
	}
	back := ecs.Tick(s.rand.IntN(min(int(f), s.ticks.Depth()/2)))
	return s.at(f - back).inputs[s.rand.IntN(s.config.Game.MaxPlayers)]
}
