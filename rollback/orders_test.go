package rollback

import (
	"errors"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

// gift is an order of the tests with every kind of field.
type gift struct {
	Amount int32
	Secret bool
	_      [3]uint8
	To     ecs.Entity
	Others ecs.List[ecs.Entity, [4]ecs.Entity]
}

var (
	giftOrder = ecs.NewOrder[gift]("gift")
	restOrder = ecs.NewOrder[struct{}]("rest")
	askOrder  = ecs.NewOrder[uint8]("ask") // never allowed
)

// giving returns a game whose players give orders. run executes a gift.
func giving(run func(w *ecs.World, p ecs.Player, target ecs.Entity, g gift)) *ecs.Game {
	game := skirmish()
	game.Orders = ecs.Orders(
		giftOrder.Do(run).If(func(w *ecs.World, _ ecs.Player, _ ecs.Entity, g gift) string {
			if !w.Exists(g.To) {
				return "nobody is there"
			}
			return ""
		}),
		restOrder.Do(func(*ecs.World, ecs.Player, ecs.Entity, struct{}) {}),
		askOrder.Do(func(*ecs.World, ecs.Player, ecs.Entity, uint8) {}).If(func(*ecs.World, ecs.Player, ecs.Entity, uint8) string { return "never" }))
	return game
}

func give(w *ecs.World, p ecs.Player, _ ecs.Entity, g gift) {
	skScores.Write(w).Gifts = skScores.Read(w).Gifts*31 + uint32(p) + uint32(g.Amount) + uint32(g.Others.Len())
}

// A game of orders alone has an empty input, which cannot be wrong.
func TestAGameOfOrdersAloneIsTested(t *testing.T) {
	type nothing struct{}
	total := ecs.NewResource[gift]("total")
	thing := ecs.NewComponent[gift]("thing")
	game := &ecs.Game{Name: "orders alone", TickRate: 60, MaxPlayers: 2, Input: ecs.NewInput[nothing](), Components: ecs.Components(thing), Resources: ecs.Resources(total),
		Orders: ecs.Orders(giftOrder.Do(func(w *ecs.World, _ ecs.Player, _ ecs.Entity, g gift) {
			total.Write(w).Amount += g.Amount
			w.Spawn(ecs.OwnedByWorld, thing)
		}))}
	report, err := SyncTest(SyncTestConfig{Game: game, Seed: 1, Ticks: 300})
	if err != nil || report.Orders[0].Executed < 10 || report.WrongInputs > 0 {
		t.Error(report, err)
	}
}

// A sync test gives valid and invalid orders of every type, and counts them.
func TestASyncTestGivesOrdersOfEveryType(t *testing.T) {
	report, err := SyncTest(SyncTestConfig{Game: giving(give), Seed: 2, Ticks: 1200, SkipDeclarations: true})
	if err != nil {
		t.Fatal(err)
	}
	o := report.Orders
	if len(o) != 4 || o[0].Executed == 0 || o[0].Refused == 0 || o[1].Executed == 0 || o[1].Refused == 0 || o[2].Executed > 0 || o[2].Refused == 0 ||
		o[3].Executed > 0 || o[3].Refused == 0 || !strings.Contains(report.String(), "orders: gift ") {
		t.Error(report)
	}
	if executed, refused := o.Sum(); executed < 40 || refused < 40 {
		t.Errorf("%d orders were executed and %d refused", executed, refused)
	}
}

var orderCalls uint32 // no game may have such a variable

// A fault in the code of an order is found in the tick of the order, and the report shows the order with its fields.
func TestAFaultInAnOrderIsFound(t *testing.T) {
	for name, game := range map[string]*ecs.Game{
		"a package variable in Do": giving(func(w *ecs.World, p ecs.Player, e ecs.Entity, g gift) {
			orderCalls++
			skScores.Write(w).Gifts += orderCalls
		}),
		"a package variable in If": func() *ecs.Game {
			g := giving(give)
			g.Orders[0] = giftOrder.Do(give).If(func(*ecs.World, ecs.Player, ecs.Entity, gift) string {
				if orderCalls++; orderCalls%2 == 0 {
					return "odd calls only"
				}
				return ""
			})
			return g
		}(),
		"an If that writes": func() *ecs.Game {
			g := giving(give)
			g.Orders[1] = restOrder.Do(func(*ecs.World, ecs.Player, ecs.Entity, struct{}) {}).If(func(w *ecs.World, _ ecs.Player, _ ecs.Entity, _ struct{}) string {
				skScores.Write(w).Gifts++
				return ""
			})
			return g
		}(),
	} {
		_, err := SyncTest(SyncTestConfig{Game: game, Seed: 4, Ticks: 300})
		var report *DesyncReport
		if !errors.As(err, &report) || len(report.Differences) == 0 || !strings.Contains(report.Differences[0].String(), "Gifts") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := report.String(); !strings.Contains(text, ", gift: Amount ") && !strings.Contains(text, ", rest\n") {
			t.Errorf("%s: no order is shown in %s", name, text)
		}
	}
}

// Random orders have every shape that a message can have. Valid ones are read as they were packed.
func TestRandomOrdersHaveEveryShape(t *testing.T) {
	w := newWorld(t, giving(give))
	var state image.Snapshot
	w.Image().Save(&state)
	schema, r, shapes := w.Image().Schema(), image.NewRand(1), map[string]int{}
	for range 4000 {
		o := RandomOrder(schema, 1, &state, r)
		_, _, problem := schema.ReadOrder(o.Payload)
		shapes[problem]++
		if len(o.Payload) > image.MaxOrderBytes {
			t.Fatal(len(o.Payload))
		}
		g, ok := giftOrder.Unpack(w.Game(), o.Payload)
		if ok && string(giftOrder.Pack(w.Game(), g)) != string(o.Payload) {
			t.Fatalf("%+v: %x", g, o.Payload)
		}
		if ok && g.Others.Len() > 0 && g.Amount > 100 {
			shapes["large"]++
		}
	}
	if len(shapes) != 4 || shapes[""] < 3000 || shapes[image.ReasonUnknown] < 100 || shapes[image.ReasonDamaged] < 100 || shapes["large"] < 50 {
		t.Error(shapes)
	}
}
