package ecs

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// Game declares a game: its data, its rules and its hooks. Servers, clients, tests, benchmarks and replays run the same
// value. It must not change after NewWorld has used it.
type Game struct {
	Name       string // required; part of the handshake
	Version    string // of the rules; part of the handshake: peers with different ones refuse each other. Optional.
	TickRate   int    // ticks per second, in [1, 1000]; required
	MaxPlayers int    // in [1, 64]; required

	Components []AnyComponent
	Resources  []AnyResource
	Events     []AnyEvent
	Input      AnyInput // required
	Derived    []AnyDerived
	Assets     []Asset
	Systems    []System // run in this order, once a tick

	// SplitRows is the number of rows from which a parallel system runs on several cores. The rows of its largest query count.
	// With fewer rows, to begin on another core takes longer than it saves. A game whose systems take long for a row can
	// choose a smaller number. The state does not depend on it. 0: 20,000.
	SplitRows int

	Setup func(w *World)                      // builds State(0)
	Join  func(w *World, p Player, card Card) // p enters, at the start of a tick: see Card
	Leave func(w *World, p Player)            // p leaves, at the start of a tick

	// Orders are the types of orders that players may give. Servers, and World.Step on every peer, refuse all others.
	Orders      []AnyOrder
	OrderBudget OrderBudget // of each player

	// Bot returns the input of a computer player. It only reads the world, and draws from r instead of World.Rand.
	// Optional.
	Bot func(w *World, p Player, r *Rand) InputBytes
	// BotOrders gives the orders of a computer player. It is called after Bot, under the same conditions. Optional.
	BotOrders func(w *World, p Player, r *Rand, orders *OrderQueue)
	// Screen holds the hooks that only a client with a view calls.
	Screen Screen
	// Validate reports whether p may give this input, by the state before the tick. Optional: every input is valid.
	Validate func(w *World, p Player, in InputBytes) bool
	// See reports whether a player may know the private values of an entity: see Hidden information in the package
	// documentation. It is called for entities with private values in every tick, for each seat, in the match or not. It only
	// reads, and depends on the state alone. It should depend only on values that viewer may know: a client calls it too, with
	// zeros for all others. Optional: the owner alone sees an entity.
	See func(w *World, viewer Player, e Entity) bool
	// Physics is what extrapolation may assume of the systems. Optional.
	Physics Physics
	// Result returns the result of a match that ended in this very tick, such as winner and scores, and nil in every other
	// tick. It has at most image.MaxResultBytes bytes. It only reads and depends on the state alone: players vote on the
	// bytes, and the record of matches stores them. World never calls it. Optional: there are no results.
	Result func(w *World) []byte
}

const maxHistory = 4096 // of Screen.History

// Physics describes how entities move by themselves; it moves none. A client that extrapolates a remote entity, and a server
// that checks the motion of an avatar, use it. The zero value assumes nothing.
type Physics struct {
	// MoveLimit is the sustained speed of a player's avatar, in world units per second. Where clients are authoritative for
	// their avatars, a server refuses faster movement. 0 allows any speed.
	MoveLimit fixed.Num
	// BurstLimit is the highest speed of an avatar for a moment, as in a dash. An avatar can save up half a second of
	// movement at this speed. 0: MoveLimit.
	BurstLimit fixed.Num
	// MoveCost returns the distance that counts against MoveLimit for a move between two positions that a client reported of
	// its avatar e. That is the length of a path around obstacles, or less where the state allows more speed than MoveLimit. ok
	// is false if e cannot reach the second position. MoveCost must accept any position, and must not change the world.
	// Optional: the distance is that of the straight line in the plane.
	MoveCost func(w *World, e Entity, from, to fixed.Vec3) (distance fixed.Num, ok bool)
	// Gravity is the downward acceleration (along −Z) of an entity that rises or sinks, in world units per second², in
	// [0, 1024]. Clients extrapolate a remote entity's fall by it. 0: they extrapolate straight on.
	Gravity fixed.Num
	// Floor returns the height of the ground at a place, where an extrapolated fall ends. It must accept any place. Optional.
	Floor func(x, y fixed.Num) fixed.Num
	// Blocked reports whether an obstacle is between two positions. Dead reckoning does not move a shown entity across it, and
	// a server does not extrapolate an avatar across it. It must accept any position. Optional.
	Blocked func(from, to fixed.Vec3) bool
	// Carrier returns the entity that carries e, such as a lift, or the zero Entity. Dead reckoning then sends the position of e
	// relative to it. The game's own systems move e along with its carrier, so MoveLimit does not bound the speed of the
	// carrier. Carrier must not change the world. Optional.
	Carrier func(w *World, e Entity) Entity
	// Track returns the path that e follows, the distance along it in world units, and the speed in world units per second. ok is
	// false if e follows no path. Dead reckoning then sends these values. MoveLimit also bounds the speed of an avatar on a
	// path. Track must not change the world. Optional; it needs Path.
	Track func(w *World, e Entity) (path uint32, along, speed fixed.Num, ok bool)
	// Path returns a position on a path and the direction there, of length 1; ok is false for an unknown path. It must accept
	// any distance, and be continuous. Optional.
	Path func(path uint32, along fixed.Num) (at, direction fixed.Vec3, ok bool)
}

// Budget returns OrderBudget with its defaults.
func (g *Game) Budget() OrderBudget {
	return OrderBudget{cmp.Or(g.OrderBudget.PerSecond, 10), cmp.Or(g.OrderBudget.Burst, 20)}
}

// checkOrders calls want for each condition on Orders and OrderBudget.
func (g *Game) checkOrders(want func(ok bool, format string, args ...any)) {
	b := g.Budget()
	want(min(b.PerSecond, b.Burst) > 0 && max(b.PerSecond, b.Burst) <= maxBudget, "Game.OrderBudget is %+v: choose 1 to %d for both fields, or 0 for the default", g.OrderBudget, maxBudget)
	for i, o := range g.Orders {
		want(o.complete(), "Game.Orders[%d], %q, has no code: pass a function to Do", i, o.declared().Name())
		if o.declared().Valid() {
			cost := b.Cost(1 + o.declared().Size())
			want(cost <= b.Burst, "order %q costs %d, more than the Burst of Game.OrderBudget, %d: choose a larger one", o.declared().Name(), cost, b.Burst)
		}
	}
}

// Think calls Bot and BotOrders for the player. It returns the input, and adds the orders to a queue, which may be nil.
func (g *Game) Think(w *World, p Player, r *Rand, orders *OrderQueue) InputBytes {
	in := g.Bot(w, p, r)
	if g.BotOrders != nil {
		g.BotOrders(w, p, r, orders)
	}
	return in
}

// Asset is static data that must be equal on every peer: a level, a tuning table. It is only read.
type Asset struct {
	Name string
	Data []byte
}

// Asset returns the data of the named asset, or nil.
func (g *Game) Asset(name string) []byte {
	for _, a := range g.Assets {
		if a.Name == name {
			return a.Data
		}
	}
	return nil
}

// System is one rule of a game, run once a tick.
type System struct {
	Name string
	Run  func(w *World)
	// Parallel lists the queries of the system that write. The system can then run on several cores. Run is called once for
	// each share of the rows, and the listed queries yield only rows of that share. It must compute each row by itself and
	// change nothing else. It can read components that the system does not write, resources, inputs and derived data. Other
	// calls panic, on one core too. Optional.
	Parallel []AnyQuery
}

// Systems lists a game's systems, named after their functions.
func Systems(list ...func(w *World)) []System {
	systems := make([]System, len(list))
	for i, run := range list {
		name := runtime.FuncForPC(reflect.ValueOf(run).Pointer()).Name()
		systems[i] = System{Name: name[strings.LastIndexByte(name, '.')+1:], Run: run}
	}
	return systems
}

// Check reports everything that is missing or wrong in the declaration, with the name of each field, component, order or
// input type.
func (g *Game) Check() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(g.Name != "", "Game.Name is empty: name the game")
	want(g.TickRate >= 1 && g.TickRate <= 1000, "Game.TickRate is %d: choose 1 to 1000 ticks per second", g.TickRate)
	want(g.MaxPlayers >= 1 && g.MaxPlayers <= image.MaxPlayers, "Game.MaxPlayers is %d: choose 1 to %d", g.MaxPlayers, image.MaxPlayers)
	want(g.SplitRows >= 0, "Game.SplitRows is %d: choose a number of rows, or 0", g.SplitRows)
	want(g.Screen.History >= 0 && g.Screen.History <= maxHistory, "Game.Screen.History is %d: choose 0 to %d ticks", g.Screen.History, maxHistory)
	want(g.Physics.MoveLimit >= 0, "Game.Physics.MoveLimit is %v: choose a speed from 0", g.Physics.MoveLimit)
	want(g.Physics.BurstLimit == 0 || g.Physics.BurstLimit >= g.Physics.MoveLimit && g.Physics.MoveLimit > 0,
		"Game.Physics.BurstLimit is %v: choose 0, or a speed from MoveLimit, which is %v and must not be 0", g.Physics.BurstLimit, g.Physics.MoveLimit)
	want(g.Physics.Gravity >= 0 && g.Physics.Gravity <= 1024*fixed.One, "Game.Physics.Gravity is %v: choose an acceleration in [0, 1024]", g.Physics.Gravity)
	want(g.Physics.Track == nil || g.Physics.Path != nil, "Game.Physics.Track needs Game.Physics.Path")
	want(g.Input != nil, "Game.Input is nil: declare one with NewInput")
	g.checkOrders(want)
	schema := g.Schema()
	declared := schema.Check()
	errs = append(errs, declared...)
	want(g.See == nil || len(declared) > 0 || schema.HasPrivate(), "Game.See is set, but nothing is private: mark a component with Roles.Private, a field with the tag `tendon:\"private\"`, or an event with Private")
	for i, s := range g.Systems {
		want(s.Run != nil, "Game.Systems[%d].Run is nil", i)
		for k, q := range s.Parallel {
			want(q.declared().Writes(), "Game.Systems[%d].Parallel[%d] is a query that only reads: list queries that write", i, k)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("ecs: the game is not complete: %w", errors.Join(errs...))
}

// Schema returns a description of the game's state, for code that works with any game. Each call makes a new one.
func (g *Game) Schema() *image.Schema {
	s := &image.Schema{
		Resources:  declarations(g.Resources, AnyResource.resource),
		Components: declarations(g.Components, AnyComponent.declared),
		Events:     declarations(g.Events, AnyEvent.event),
		Orders:     declarations(g.Orders, AnyOrder.declared),
		MaxPlayers: g.MaxPlayers,
	}
	if g.Input != nil {
		s.Input = g.Input.declared()
	}
	return s
}

func declarations[T any](list []T, of func(T) *image.Declaration) (declared []*image.Declaration) {
	for _, one := range list {
		declared = append(declared, of(one))
	}
	return declared
}

// Fingerprint is a hash of everything in which two peers must be equal. That is the game's name, version, tick rate, number of
// players, all layouts, the order of systems, and the assets' contents.
func (g *Game) Fingerprint() uint64 {
	var d xxhash.Digest
	d.Reset()
	fmt.Fprintf(&d, "%q %d %d", g.Name, g.TickRate, g.MaxPlayers)
	if g.Version != "" {
		fmt.Fprintf(&d, " version %q", g.Version)
	}
	d.Write(g.Schema().Describe(nil))
	for _, s := range g.Systems {
		fmt.Fprintf(&d, " system %q", s.Name)
	}
	for _, a := range g.Assets {
		fmt.Fprintf(&d, " asset %q %x", a.Name, xxhash.Sum64(a.Data))
	}
	return d.Sum64()
}
