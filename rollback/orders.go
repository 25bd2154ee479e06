package rollback

import (
	"fmt"
	"strings"

	"tendon/ecs"
	"tendon/ecs/image"
)

// RandomOrder returns an order of player p of a type in Game.Orders, for tests. One of eight payloads is not what
// ecs.Order.Pack returns: it is cut, too long, empty or of no type. Entities in the data are mostly those of the state. The game
// must have orders.
func RandomOrder(s *image.Schema, p ecs.Player, state *image.Snapshot, r *ecs.Rand) image.Order {
	var entities []ecs.Entity
	seen := 0
	state.Entities(func(e ecs.Entity) bool {
		if seen++; len(entities) < 16 {
			entities = append(entities, e)
		} else if i := r.IntN(seen); i < len(entities) {
			entities[i] = e
		}
		return true
	})
	number := r.IntN(len(s.Orders))
	o := image.Order{Kind: image.OrderGame, Player: p, Payload: s.RandomOrder(nil, number, r, entities)}
	if len(entities) > 0 && r.Chance(1, 2) {
		o.Entity = entities[r.IntN(len(entities))]
	}
	switch size := s.Orders[number].Size(); r.IntN(32) {
	case 0:
		o.Payload = nil
	case 1:
		o.Payload = append(o.Payload[:1+r.IntN(len(o.Payload))], 0)
	case 2:
		for len(o.Payload) < min(2+size+r.IntN(8), image.MaxOrderBytes) {
			o.Payload = append(o.Payload, 1+byte(r.IntN(255)))
		}
	case 3:
		o.Payload[0] = byte(len(s.Orders) + r.IntN(256-len(s.Orders)))
	}
	return o
}

// OrderCount counts the orders of a type.
type OrderCount struct {
	Name     string `json:"name"` // of the type; "no type": of payloads that name none
	Executed int    `json:"executed"`
	Refused  int    `json:"refused"` // by World.Step
}

// OrderCounts counts the orders of each type in Game.Orders, in their sequence, and then those of no type.
type OrderCounts []OrderCount

// Add counts the game orders of a tick and those among them that were refused.
func (c *OrderCounts) Add(s *image.Schema, orders []image.Order, refused []ecs.Refusal) {
	if len(*c) == 0 {
		for _, d := range s.Orders {
			*c = append(*c, OrderCount{Name: d.Name()})
		}
		*c = append(*c, OrderCount{Name: "no type"})
	}
	for i := range orders {
		o := &orders[i]
		if o.Kind != image.OrderGame {
			continue
		}
		at := len(s.Orders)
		if len(o.Payload) > 0 {
			at = min(at, int(o.Payload[0]))
		}
		if len(refused) > 0 && refused[0].Order == i {
			refused = refused[1:]
			(*c)[at].Refused++
		} else {
			(*c)[at].Executed++
		}
	}
}

// Sum returns the orders of all types.
func (c OrderCounts) Sum() (executed, refused int) {
	for _, o := range c {
		executed, refused = executed+o.Executed, refused+o.Refused
	}
	return executed, refused
}

// String returns the counts that are not 0, "" if there are none.
func (c OrderCounts) String() string {
	var list []string
	for _, o := range c {
		if o.Executed+o.Refused > 0 {
			list = append(list, fmt.Sprintf("%s %d executed and %d refused", o.Name, o.Executed, o.Refused))
		}
	}
	return strings.Join(list, ", ")
}
