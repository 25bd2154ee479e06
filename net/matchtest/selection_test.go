package matchtest

import (
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
)

const squad = 100 // units of a player

type (
	// unitRef names a unit of the giver in 8 bytes. An ecs.Entity has 16.
	unitRef struct{ Row, Born uint32 }
	// march moves units to a place.
	march struct {
		To    fixed.Vec2
		Units ecs.List[unitRef, [squad]unitRef]
	}
	// sweep moves all units of a player that stand in a rectangle.
	sweep struct{ From, Until, To fixed.Vec2 }
	goal  struct{ At fixed.Vec2 }
)

var (
	goals      = ecs.NewComponent[goal]("goal")
	marchers   = ecs.NewQuery2(ecs.Write(halves.Bodies), ecs.Read(goals))
	marchOrder = ecs.NewOrder[march]("march")
	sweepOrder = ecs.NewOrder[sweep]("sweep")
)

// marchGame returns a game in which each player has a hundred units.
func marchGame() *ecs.Game {
	game := halves.Dots()
	game.Components = append(game.Components, goals)
	game.OrderBudget = ecs.OrderBudget{PerSecond: 30, Burst: 60}
	game.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) {
		for i := range squad {
			e := w.Spawn(ecs.OwnedBy(p), halves.Bodies, goals)
			at := fixed.Vec2{X: fixed.FromInt(i % 10), Y: fixed.FromInt(10*int(p) + i/10)}
			halves.Bodies.Put(w, e, halves.Body{Pos: at})
			goals.Put(w, e, goal{At: at})
		}
	}
	game.Leave = nil
	game.Systems = ecs.Systems(func(w *ecs.World) {
		for e := range marchers.All(w) {
			e.A.Pos = e.A.Pos.Lerp(e.B.At, fixed.FromRatio(1, 8))
		}
	})
	game.Orders = ecs.Orders(
		marchOrder.Do(func(w *ecs.World, p ecs.Player, _ ecs.Entity, m march) {
			for _, u := range m.Units.All() {
				goals.Put(w, u.entity(), goal{At: m.To})
			}
		}).If(func(w *ecs.World, p ecs.Player, _ ecs.Entity, m march) string {
			for _, u := range m.Units.All() {
				if e := u.entity(); e.Owner() != ecs.OwnedBy(p) || !goals.Has(w, e) {
					return "a unit is gone or not yours"
				}
			}
			return ""
		}),
		sweepOrder.Do(func(w *ecs.World, p ecs.Player, _ ecs.Entity, s sweep) {
			for e := range marchers.All(w) {
				if at := e.A.Pos; e.Entity().Owner() == ecs.OwnedBy(p) && at.X >= s.From.X && at.Y >= s.From.Y && at.X <= s.Until.X && at.Y <= s.Until.Y {
					goals.Put(w, e.Entity(), goal{At: s.To})
				}
			}
		}))
	return game
}

func (u unitRef) entity() ecs.Entity { return ecs.Entity{Row: u.Row, Born: ecs.Tick(u.Born)} }

// selection returns an order to the units of a player that a view shows.
func selection(v *ecs.View, p ecs.Player) (m march) {
	for e := range marchers.All(v.Sim) {
		if e.Entity().Owner() == ecs.OwnedBy(p) {
			m.Units.Append(unitRef{e.Entity().Row, uint32(e.Entity().Born)})
		}
	}
	return m
}

// A player selects a hundred units in the view and orders them to a place. The order names the units, or the place where they
// stand. Units of others are refused.
func TestAHundredUnitsAreOrderedByASelection(t *testing.T) {
	for _, s := range strategies {
		game := marchGame()
		m, err := matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		var refused []string
		plan := matchsim.Plan{Profile: profile(t, "P3"), Change: func(c *client.Config) {
			c.Refused = func(r client.Refusal) { refused = append(refused, r.String()) }
		}}
		m.Join(plan)
		m.Join(plan)
		m.Run(4 * time.Second)
		c := m.Clients[0]
		me := ecs.Player(c.Core.Seat())
		there := func(at fixed.Vec2) (n int) {
			for e := range marchers.All(m.Room.World()) {
				if e.Entity().Owner() == ecs.OwnedBy(me) && e.B.At == at {
					n++
				}
			}
			return n
		}
		place := fixed.Vec2{X: fixed.FromInt(40), Y: fixed.FromInt(-3)}
		order := selection(c.Core.View(c.Now()), me)
		if order.Units.Len() != squad {
			t.Fatalf("%s: %d units in the view", s.Name, order.Units.Len())
		}
		order.To = place
		marchOrder.Give(c.Core.Orders(), ecs.Entity{}, order)
		m.Run(2 * time.Second)
		if n := there(place); n != squad {
			t.Errorf("%s: %d units march after an order that names them", s.Name, n)
		}
		back := fixed.Vec2{X: fixed.One}
		far := fixed.Vec2{X: fixed.FromInt(1000), Y: fixed.FromInt(1000)}
		sweepOrder.Give(c.Core.Orders(), ecs.Entity{}, sweep{From: far.Neg(), Until: far, To: back})
		m.Run(2 * time.Second)
		if n := there(back); n != squad {
			t.Errorf("%s: %d units march after an order that names their place", s.Name, n)
		}
		stolen := selection(c.Core.View(c.Now()), 1-me)
		stolen.To = place
		before := there(place)
		marchOrder.Give(c.Core.Orders(), ecs.Entity{}, stolen)
		m.Run(time.Second)
		want := []string{`the order "march" was refused: a unit is gone or not yours`}
		if there(place) != before || stolen.Units.Len() == 0 || !slices.Equal(refused, want) {
			t.Errorf("%s: units of another player march, or refusals are %v", s.Name, refused)
		}
	}
}
