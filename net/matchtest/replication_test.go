package matchtest

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/raworder"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/systems"
)

// tag is what orders write on the entity that they address.
type tag struct {
	By    ecs.Player
	Count uint8
}

var (
	tags   = ecs.NewComponent[tag]("span mark")
	tagged = ecs.NewEvent[tag]("span marked")
)

// The orders of the game.
const (
	orderTag     = "touch" // tags the entity
	orderSpawn   = "drop"  // spawns a crate, which belongs to the world
	orderDespawn = "lift"  // despawns the entity
)

func tagGame() *ecs.Game {
	game := halves.Dots()
	game.Components = append(game.Components, tags)
	game.Events = append(game.Events, tagged)
	game.Orders = raworder.Orders(func(w *ecs.World, p ecs.Player, target ecs.Entity, order []byte) {
		switch string(order) {
		case orderTag:
			m, _ := tags.Read(w, target)
			m = tag{By: p, Count: m.Count + 1}
			tags.Add(w, target, m)
			tagged.Emit(w, target, m)
		case orderSpawn:
			e := w.Spawn(ecs.OwnedByWorld, halves.Bodies, tags)
			halves.Bodies.Put(w, e, halves.Body{Pos: fixed.Vec2{X: fixed.FromInt(5)}})
		case orderDespawn:
			w.Despawn(target)
		}
	})
	return game
}

// An entity that the server spawns appears on every peer, and one that it despawns disappears everywhere. An order to an
// entity takes effect once on each of its replicas, whichever client sent it.
func TestEntitiesAndOrdersReachEveryPeer(t *testing.T) {
	for _, s := range played() {
		t.Run(s.Name, func(t *testing.T) { reachEveryPeer(t, s) })
	}
}

func reachEveryPeer(t *testing.T, s systems.Strategy) {
	game := tagGame()
	m, err := matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	events := map[int]map[ecs.Entity]int{}
	for i := range 3 {
		events[i] = map[ecs.Entity]int{}
		m.Join(matchsim.Plan{Profile: profile(t, "P3"), Spectator: i == 2, Effects: func(e systems.Effect) {
			if _, ok := tagged.Decode(game, e.Event); ok && e.Status == ecs.EffectConfirmed {
				events[i][e.Event.Key.Entity]++
			}
		}})
	}
	m.Run(6 * time.Second)
	order := func(c int, target ecs.Entity, what string) {
		t.Helper()
		if _, err := m.Clients[c].Core.Order(target, []byte(what)); err != nil {
			t.Fatal(err)
		}
		m.Run(3 * time.Second)
	}
	everywhere := func(what string, ok func(w *ecs.World) bool) {
		t.Helper()
		if !ok(m.Room.World()) {
			t.Errorf("%s: not on the server", what)
		}
		for i, c := range m.Clients {
			if !ok(c.Core.World()) {
				t.Errorf("%s: not on client %d", what, i)
			}
		}
	}
	hasTag := func(e ecs.Entity, want tag) func(*ecs.World) bool {
		return func(w *ecs.World) bool {
			m, ok := tags.Read(w, e)
			return ok && m == want
		}
	}
	avatar := halves.Dot(m.Room.World(), 1)
	order(0, avatar, orderTag)
	order(1, avatar, orderTag)
	everywhere("two tags", hasTag(avatar, tag{By: 1, Count: 2}))
	for i := range m.Clients {
		if events[i][avatar] != 2 {
			t.Errorf("client %d received %d events of two tags", i, events[i][avatar])
		}
	}
	crates := func(w *ecs.World) (list []ecs.Entity) {
		for e := range ecs.NewQuery1(ecs.Read(tags), ecs.Without(halves.Seats)).All(w) {
			list = append(list, e.Entity())
		}
		return list
	}
	order(1, ecs.Entity{}, orderSpawn)
	spawned := crates(m.Room.World())
	if len(spawned) != 1 {
		t.Fatalf("%d crates on the server", len(spawned))
	}
	everywhere("a crate", func(w *ecs.World) bool { list := crates(w); return len(list) == 1 && list[0] == spawned[0] })
	order(0, spawned[0], orderTag)
	everywhere("a tag on the crate", hasTag(spawned[0], tag{By: 0, Count: 1}))
	order(0, spawned[0], orderDespawn)
	everywhere("no crate", func(w *ecs.World) bool { return len(crates(w)) == 0 && !w.Exists(spawned[0]) })
	if err := m.Err(); err != nil {
		t.Error(err)
	}
}
