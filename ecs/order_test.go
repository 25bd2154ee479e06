package ecs_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// A value has exactly one payload, and what Pack does not write is refused before any code of the game runs.
func TestAnOrderHasExactlyOnePayload(t *testing.T) {
	g := sample.Busy()
	schema := g.Schema()
	for _, p := range []sample.Purchase{{}, {Amount: 3}, {Gift: true}, {For: ecs.Entity{Row: 9, Born: 300}}, {Amount: 255, Gift: true, Items: items(1)}, {Items: items(4)}} {
		payload := sample.Buys.Pack(g, p)
		got, ok := sample.Buys.Unpack(g, payload)
		if !ok || got != p || len(payload) > 1 && payload[len(payload)-1] == 0 || schema.CheckOrder(payload) != nil {
			t.Errorf("%+v: %x is %+v, %v", p, payload, got, ok)
		}
	}
	full := sample.Buys.Pack(g, sample.Purchase{Amount: 1, Gift: true, For: ecs.Entity{Row: 1, Born: 1 << 60}, Items: items(4)})
	change := func(at int, value byte) []byte {
		b := slices.Clone(full)
		b[at] = value
		return b
	}
	list := 1 + 8 + 16 // where the list begins
	bad := map[string][]byte{"nothing": nil, "another type": {1}, "a zero at the end": {0, 0}, "a zero after a value": {0, 3, 0}, "a bool of 2": change(2, 2),
		"padding": change(3, 1), "padding of an entity": change(1+8+4, 1), "a list that is too long": change(list, 5), "a byte too many": append(change(0, 0), bytes.Repeat([]byte{1}, 200)...),
		"an element after the end of a list": change(list, 3)}
	for name, payload := range bad {
		w := sample.NewWorld(t, g)
		if _, ok := sample.Buys.Unpack(g, payload); ok || schema.CheckOrder(payload) == nil || w.RefuseOrder(&image.Order{Payload: payload}) == "" {
			t.Errorf("%s is accepted: %x", name, payload)
		}
		if _, ok := schema.DescribeOrder(payload); ok || !strings.HasPrefix(schema.OrderText(payload), `"`) {
			t.Errorf("%s is described", name)
		}
	}
	if text := schema.OrderText(sample.Buys.Pack(g, sample.Purchase{Amount: 3, Items: items(1)})); text != "buy: Amount 3, Gift false, For.Row 0, For.Born 0, Items.Len 1, Items[0].Kind 1, Items[0].Count 2" {
		t.Error(text)
	}
}

func items(n int) (list sample.Items) {
	for i := range n {
		list.Append(sample.Item{Kind: uint16(i + 1), Count: 2})
	}
	return list
}

// A type that is not plain data or too large, a missing function and a budget outside its interval are errors of Check.
func TestOrdersAreChecked(t *testing.T) {
	for want, list := range map[string][]ecs.AnyOrder{
		`order "pointer"`:            {ecs.NewOrder[*int]("pointer").Do(func(*ecs.World, ecs.Player, ecs.Entity, *int) {})},
		"is 1024 bytes; the data":    {ecs.NewOrder[[1024]byte]("large").Do(func(*ecs.World, ecs.Player, ecs.Entity, [1024]byte) {})},
		"has no code":                {sample.Buys.Do(nil)},
		`"buy" is empty or declared`: {sample.Buys.Do(func(*ecs.World, ecs.Player, ecs.Entity, sample.Purchase) {}), sample.Buys.Do(func(*ecs.World, ecs.Player, ecs.Entity, sample.Purchase) {})},
		"before it becomes part of an": {ecs.NewOrder[struct {
			X float32 `tendon:"step=0.5"`
		}]("step").Do(func(*ecs.World, ecs.Player, ecs.Entity, struct {
			X float32 `tendon:"step=0.5"`
		}) {
		})},
		"choose a larger one": {ecs.NewOrder[[1023]byte]("dear").Do(func(*ecs.World, ecs.Player, ecs.Entity, [1023]byte) {})},
	} {
		g := sample.Bare()
		if g.Orders = list; want == "choose a larger one" {
			g.OrderBudget.Burst = 16
		}
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s: %v", want, err)
		}
	}
	for budget, fine := range map[ecs.OrderBudget]bool{{}: true, {PerSecond: 1, Burst: 1}: true, {PerSecond: 1000, Burst: 1000}: true,
		{PerSecond: -1}: false, {PerSecond: 1001}: false, {Burst: -1}: false, {Burst: 1001}: false} {
		g := sample.Bare()
		if g.OrderBudget = budget; (g.Check() == nil) != fine {
			t.Errorf("%+v: %v", budget, g.Check())
		}
	}
	g := sample.Bare()
	if before := g.Schema().HasFloats(); !before { // the sample has floats in its state
		t.Error("no floats in the sample")
	}
	bare := &ecs.Game{Input: sample.Pads, Orders: ecs.Orders(ecs.NewOrder[float32]("f").Do(func(*ecs.World, ecs.Player, ecs.Entity, float32) {}))}
	if !bare.Schema().HasFloats() {
		t.Error("a float in an order does not count")
	}
}

// A long reason is cut between two characters.
func TestALongReasonIsCut(t *testing.T) {
	g := sample.Bare()
	g.Orders = ecs.Orders(sample.Buys.Do(func(*ecs.World, ecs.Player, ecs.Entity, sample.Purchase) {}).If(func(*ecs.World, ecs.Player, ecs.Entity, sample.Purchase) string {
		return strings.Repeat("ä", 60)
	}))
	w := sample.NewWorld(t, g)
	if reason := w.RefuseOrder(&image.Order{Payload: []byte{0}}); reason != strings.Repeat("ä", 40) {
		t.Errorf("%d bytes: %s", len(reason), reason)
	}
	if odd := image.ClipReason("x" + strings.Repeat("ä", 60)); odd != "x"+strings.Repeat("ä", 39) {
		t.Error(odd)
	}
}

// A queue takes 64 orders, and Drain empties it. No queue takes none.
func TestAnOrderQueueIsBounded(t *testing.T) {
	g := sample.Busy()
	q := ecs.NewOrderQueue(g)
	for i := range 100 {
		if ok := sample.Buys.Give(q, ecs.Entity{Row: 7}, sample.Purchase{Amount: uint8(i)}); ok != (i < 64) {
			t.Errorf("order %d: %v", i, ok)
		}
	}
	n := 0
	q.Drain(func(target ecs.Entity, payload []byte) {
		if p, ok := sample.Buys.Unpack(g, payload); !ok || int(p.Amount) != n || target.Row != 7 {
			t.Errorf("order %d: %+v", n, p)
		}
		n++
	})
	q.Drain(func(ecs.Entity, []byte) { t.Error("an order comes twice") })
	if n != 64 || sample.Buys.Give(nil, ecs.Entity{}, sample.Purchase{}) || !sample.Buys.Give(q, ecs.Entity{}, sample.Purchase{}) {
		t.Error(n)
	}
	v, err := ecs.NewView(g)
	if err != nil || !sample.Buys.Give(v.Orders, ecs.Entity{}, sample.Purchase{}) {
		t.Error("a view takes no orders:", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("an order that the game does not list is packed")
		}
	}()
	sample.Buys.Pack(sample.Bare(), sample.Purchase{})
}

// A tick with orders, also refused ones, allocates nothing.
func TestOrdersAllocateNothing(t *testing.T) {
	g := sample.Busy()
	w := sample.NewWorld(t, g)
	var orders []image.Order
	for amount := range 60 {
		orders = append(orders, image.Order{Player: 1, Payload: sample.Buys.Pack(g, sample.Purchase{Amount: uint8(80 + amount), Items: items(3)})})
	}
	orders = append(orders, image.Order{Payload: []byte{9}})
	in := ecs.TickInputs{Orders: orders}
	for range 300 {
		w.Step(in)
	}
	if len(w.Refusals()) != 40 {
		t.Error(len(w.Refusals()), "orders were refused")
	}
	if n := testing.AllocsPerRun(100, func() { w.Step(in) }); n > 0 {
		t.Errorf("%v allocations per tick", n)
	}
}
