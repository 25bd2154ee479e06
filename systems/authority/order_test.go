package authority_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/internal/code"
)

// A flood of orders leads to no more refusals than the budget has orders, and they leave with the next Send. An order that
// is refused when it is executed is reported too, once.
func TestRefusalsAreBoundedAndLeaveWithSend(t *testing.T) {
	var refused []systems.Refusal
	h := joined(t, func(c *authority.Config[*half, link]) {
		c.Server.Refused = func(r systems.Refusal) { refused = append(refused, r) }
	})
	for i := range 3000 {
		payload := [][]byte{{255}, {}, {7, 0}, raworder.Bytes(900)}[i%4]
		if err := h.Receive(0, systems.Reliable, code.AppendRequest(nil, kindOrder, uint64(i+1), ecs.Entity{}, payload), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(refused) > 0 {
		t.Error("a refusal left before Send")
	}
	h.Send(0, &outbox{})
	if len(refused) != orderBurst || refused[0] != (systems.Refusal{Number: 1, Type: 255, Reason: image.ReasonUnknown}) ||
		refused[1] != (systems.Refusal{Number: 2, Type: image.MaxOrderTypes, Reason: image.ReasonUnknown}) ||
		refused[2] != (systems.Refusal{Number: 3, Type: 7, Reason: image.ReasonDamaged}) || refused[19].Reason != image.ReasonTooMany {
		t.Errorf("%d refusals: %v", len(refused), refused)
	}
	refused = refused[:0]
	h.Game.Orders = raworder.Conditional(func(*ecs.World, ecs.Player, ecs.Entity, []byte) {}, func(*ecs.World, ecs.Player, ecs.Entity, []byte) string { return "never" })
	for range 60 {
		h.Tick(0)
	}
	h.Stamp(image.Order{Kind: image.OrderGame, Payload: []byte{1}, Number: 9}, nil)
	h.Stamp(image.Order{Kind: image.OrderGame, Payload: []byte{1}}, nil) // of an earlier process, which receives no answer
	h.Tick(0)
	h.Tick(0)
	h.Send(0, &outbox{})
	h.Send(0, &outbox{})
	if len(refused) != 1 || refused[0] != (systems.Refusal{Number: 9, Type: 1, Reason: "never"}) {
		t.Errorf("refused at execution: %v", refused)
	}
}
