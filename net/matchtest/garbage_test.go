package matchtest

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/lockstep"
)

// garbageMatch returns a match of one honest client and 30 clients of which the given number send garbage.
func garbageMatch(t *testing.T, s systems.Strategy, senders int) (m *matchsim.Match, orders *int) {
	game := halves.Dots()
	game.MaxPlayers = 32
	game.Orders = raworder.Conditional(func(*ecs.World, ecs.Player, ecs.Entity, []byte) {}, func(_ *ecs.World, _ ecs.Player, _ ecs.Entity, order []byte) string {
		if string(order) != "go" {
			return "not go"
		}
		return ""
	})
	orders = new(int)
	m, err := matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 7, Unchecked: true, Room: func(c *room.Config) {
		c.Sinks = []room.Sink{{Tick: func(f systems.FinalTick) { *orders += count(f.Orders, image.OrderGame) }}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 31 {
		calls, garbage := 0, i > 0 && i <= senders
		p := matchsim.Plan{Profile: profile(t, "P3"), Play: func(c *matchsim.Client, _ time.Duration) ecs.InputBytes {
			if calls++; garbage && calls%3 == 0 {
				_, _ = c.Core.Order(ecs.Entity{}, [][]byte{raworder.Bytes(raworder.MaxBytes), []byte("no")}[calls%2])
			}
			return ecs.InputBytes{}
		}}
		m.Join(p)
	}
	return m, orders
}

// An order that was valid when it was stamped, and is not when it is executed, does nothing on any peer.
func TestAnOrderIsValidatedAgainWhenItIsExecuted(t *testing.T) {
	for i, s := range append(strategies[:len(strategies):len(strategies)], lockstep.New(lockstep.Config{OnDemand: true})) {
		game := halves.Dots()
		game.Orders = halves.PayOrders(func(w *ecs.World, _ ecs.Player, _ ecs.Entity, order []byte) string {
			if halves.Tallies.Read(w).Paid+uint32(order[0]) > 10 {
				return "more than 10"
			}
			return ""
		})
		stamped := 0
		m, err := matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 8, Unchecked: i == len(strategies), Room: func(c *room.Config) {
			c.Sinks = []room.Sink{{Tick: func(f systems.FinalTick) { stamped += count(f.Orders, image.OrderGame) }}}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			m.Join(matchsim.Plan{})
		}
		m.Run(2 * time.Second)
		for _, c := range m.Clients {
			if _, err := c.Core.Order(ecs.Entity{}, []byte{10}); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
		m.Run(time.Second)
		want := 2
		if s.Name == "verify" {
			want = 1 // it rejects the second before the tick
		}
		world := m.Room.World() // in an early state if the server only relays
		if paid := halves.Tallies.Read(world).Paid; world.Tick() == m.Room.Tick() && paid != 10 || stamped != want {
			t.Errorf("%s: %d paid by %d orders, want 10 by %d", s.Name, paid, stamped, want)
		}
		for _, c := range m.Clients {
			if paid := halves.Tallies.Read(c.Core.World()).Paid; paid != 10 {
				t.Errorf("%s: %d paid in the world of client %d", s.Name, paid, c.Number)
			}
		}
		if err := m.Err(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// count returns the number of orders of a kind.
func count(orders []image.Order, kind image.OrderKind) (n int) {
	for i := range orders {
		if orders[i].Kind == kind {
			n++
		}
	}
	return n
}

// Thirty players send 1 KiB of garbage twenty times a second. No order is stamped. The honest player receives no more bytes,
// and stalls no longer, than without them.
func TestGarbageOrdersReachNoOtherPlayer(t *testing.T) {
	for _, s := range played() {
		t.Run(s.Name, func(t *testing.T) {
			type load struct {
				bytes  int
				stalls uint64
			}
			measure := func(senders int) (l load) {
				m, orders := garbageMatch(t, s, senders)
				m.Run(time.Second)
				honest := m.Clients[0]
				honest.ResetSent()
				stalls := honest.Core.Stats().Strategy.Stalls
				m.Run(time.Second)
				if !honest.Live() || *orders > 0 {
					t.Errorf("%d senders: the honest client is %v, %d orders were stamped", senders, honest.Core.State(), *orders)
				}
				for _, p := range m.Room.AppendPeers(nil) {
					if garbage := p.Strategy.Refused > 5; garbage != (p.Identity.ClientID > 1 && p.Identity.ClientID <= uint64(senders)+1) {
						t.Errorf("%d senders: %d messages of client %d were refused", senders, p.Strategy.Refused, p.Identity.ClientID)
					}
				}
				return load{honest.Sent().MostPerSecond, honest.Core.Stats().Strategy.Stalls - stalls}
			}
			quiet, loud := measure(0), measure(30)
			if loud.bytes > quiet.bytes*11/10 || loud.stalls > quiet.stalls+3 {
				t.Errorf("with garbage %+v, without it %+v", loud, quiet)
			}
		})
	}
}
