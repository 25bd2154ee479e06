package matchtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/ecs/raworder"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// payment is the data of an order.
type payment struct {
	Amount uint32
	Gift   bool
}

var pay = ecs.NewOrder[payment]("payment")

// payGame returns a game in which players pay together at most 10.
func payGame() *ecs.Game {
	game := halves.Dots()
	game.Orders = ecs.Orders(pay.Do(func(w *ecs.World, _ ecs.Player, _ ecs.Entity, o payment) {
		halves.Tallies.Write(w).Paid += o.Amount
	}).If(func(w *ecs.World, _ ecs.Player, _ ecs.Entity, o payment) string {
		if halves.Tallies.Read(w).Paid+o.Amount > 10 {
			return "more than 10"
		}
		return ""
	}))
	return game
}

// A refusal reaches the giver alone, with the number and the reason. An order can be refused before it is stamped, when it is
// executed, and beyond the budget. There are no more refusals than the budget allows orders.
func TestARefusalReachesItsGiver(t *testing.T) {
	for i, s := range append(strategies[:len(strategies):len(strategies)], lockstep.New(lockstep.Config{OnDemand: true})) {
		t.Run(fmt.Sprintf("%s %d", s.Name, i), func(t *testing.T) {
			game := payGame()
			m, err := matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 8, Unchecked: i == len(strategies)})
			if err != nil {
				t.Fatal(err)
			}
			var refused [2][]client.Refusal
			for p := range refused {
				m.Join(matchsim.Plan{Profile: profile(t, "P3"), Change: func(c *client.Config) {
					c.Refused = func(r client.Refusal) { refused[p] = append(refused[p], r) }
				}})
			}
			m.Run(4 * time.Second)
			give := func(client int, amount uint32) uint64 {
				n, err := m.Clients[client].Core.Order(ecs.Entity{}, pay.Pack(game, payment{Amount: amount}))
				if err != nil {
					t.Error(err)
				}
				return n
			}
			wants := func(what string, first, second []client.Refusal) {
				t.Helper()
				m.Run(2 * time.Second)
				if !slices.Equal(refused[0], first) || !slices.Equal(refused[1], second) {
					t.Errorf("%s: the refusals are %v and %v, want %v and %v", what, refused[0], refused[1], first, second)
				}
				refused = [2][]client.Refusal{}
			}
			give(0, 1)
			wants("a valid order", nil, nil)
			n := give(0, 11)
			wants("an order that is not valid", []client.Refusal{{Number: n, Order: "payment", Reason: "more than 10"}}, nil)
			if text := (client.Refusal{Order: "payment", Reason: "more than 10"}).String(); text != `the order "payment" was refused: more than 10` {
				t.Error(text)
			}
			give(0, 8)
			n = give(0, 8) // both are valid when they arrive
			wants("an order that another one made invalid", []client.Refusal{{Number: n, Order: "payment", Reason: "more than 10"}}, nil)
			for range 26 {
				n = give(1, 0)
			}
			m.Run(2 * time.Second)
			if len(refused[1]) < 3 || len(refused[1]) > 6 {
				t.Errorf("%d of 26 orders were refused", len(refused[1]))
			}
			for _, r := range refused[1] {
				if r.Reason != image.ReasonTooMany || r.Number <= 20 || r.Number > n {
					t.Errorf("order %d: %v", r.Number, r)
				}
			}
		})
	}
}

// A refusal that is lost with the connection is sent again on the next one, and each refusal is reported once. A new process of
// the client receives none of the orders of the last one.
func TestARefusalSurvivesAReconnect(t *testing.T) {
	for _, s := range strategies {
		t.Run(s.Name, func(t *testing.T) {
			game := payGame()
			m, err := matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 8})
			if err != nil {
				t.Fatal(err)
			}
			var refused []uint64
			c := m.Join(matchsim.Plan{Profile: profile(t, "P3"), Change: func(c *client.Config) {
				c.Refused = func(r client.Refusal) { refused = append(refused, r.Number) }
			}})
			m.Join(matchsim.Plan{})
			m.Run(4 * time.Second)
			give := func() {
				if _, err := c.Core.Order(ecs.Entity{}, pay.Pack(game, payment{Amount: 11})); err != nil {
					t.Error(err)
				}
			}
			give()
			m.Run(2 * time.Second)
			give()
			m.Run(80 * time.Millisecond) // the server has refused it, and the refusal has not arrived
			if len(refused) != 1 {
				t.Fatalf("refused: %v", refused)
			}
			for range 2 {
				c.Reconnect()
				m.Run(4 * time.Second)
				if !c.Live() || !slices.Equal(refused, []uint64{1, 2}) {
					t.Fatalf("live %t, refused: %v, want 1 and 2", c.Live(), refused)
				}
			}
			if err := c.Restart(); err != nil {
				t.Fatal(err)
			}
			m.Run(4 * time.Second)
			give()
			m.Run(2 * time.Second)
			c.Reconnect()
			m.Run(4 * time.Second)
			if !slices.Equal(refused, []uint64{1, 2, 1}) {
				t.Errorf("after a restart: %v, want 1, 2 and 1", refused)
			}
		})
	}
}

// Orders come from the queue of the view and from Game.BotOrders. The budget is the game's.
func TestOrdersAreGivenThroughTheQueue(t *testing.T) {
	for _, s := range strategies {
		game := payGame()
		game.OrderBudget = ecs.OrderBudget{PerSecond: 1, Burst: 3}
		game.BotOrders = func(w *ecs.World, p ecs.Player, r *ecs.Rand, orders *ecs.OrderQueue) {
			if p == 1 && w.Tick() < 300 && halves.Tallies.Read(w).Paid == 3 {
				pay.Give(orders, ecs.Entity{}, payment{Amount: 1})
			}
		}
		m, err := matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 9})
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for p := range 2 {
			m.Join(matchsim.Plan{Change: func(c *client.Config) {
				if p == 0 {
					c.Refused = func(client.Refusal) { refused++ }
				}
			}})
		}
		m.Run(2 * time.Second)
		for range 100 { // the queue holds 64
			pay.Give(m.Clients[0].Core.Orders(), ecs.Entity{}, payment{Amount: 1})
		}
		m.Run(time.Second)
		if paid := halves.Tallies.Read(m.Room.World()).Paid; paid < 4 || paid > 8 || refused == 0 {
			t.Errorf("%s: %d paid, %d orders refused", s.Name, paid, refused)
		}
		m.Clients[0].Core.Leave()
		before := refused
		pay.Give(m.Clients[0].Core.Orders(), ecs.Entity{}, payment{Amount: 1})
		m.Clients[0].Core.Frame(systems.Time(m.Net.Now()))
		if _, err := m.Clients[0].Core.Order(ecs.Entity{}, raworder.Bytes(1)); err == nil || refused > before+1 {
			t.Errorf("%s: an order after the end: %v", s.Name, err)
		}
	}
}

// A match gives random orders, and says how many were executed and refused. A fault in an order's code is found.
func TestAMatchGivesRandomOrders(t *testing.T) {
	game := payGame()
	game.Orders[0] = pay.Do(func(w *ecs.World, _ ecs.Player, _ ecs.Entity, o payment) {
		halves.Tallies.Write(w).Paid += o.Amount
	}).If(func(_ *ecs.World, _ ecs.Player, _ ecs.Entity, o payment) string {
		if o.Gift {
			return "no gifts"
		}
		return ""
	})
	for i, s := range strategies {
		if i%2 == 1 && !race.Long {
			continue
		}
		played, err := match(game, "P5", s)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		orders := played.orders
		executed, _ := orders.executed.Sum()
		if executed < 8 || orders.refused < 4 || !strings.Contains(orders.String(), "executed") {
			t.Errorf("%s: %v", s.Name, orders)
		}
	}
	calls := uint32(0)
	faulty := payGame()
	faulty.Orders = ecs.Orders(pay.Do(func(w *ecs.World, _ ecs.Player, _ ecs.Entity, o payment) {
		calls++
		halves.Tallies.Write(w).Paid += calls
	}))
	if _, err := match(faulty, "P3", relay.Strategy); err == nil || !strings.Contains(err.Error(), "Paid") {
		t.Errorf("a package variable in an order: %v", err)
	}
}
