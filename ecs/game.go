package ecs

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// Game is everything that makes a game: its data, its rules and its hooks. One value is run unchanged by server,
// client, tests, benchmark and replay; it is not changed once a world was made of it.
type Game struct {
	Name       string // required; part of the handshake
	TickRate   int    // ticks per second, in [1, 1000]; required
	MaxPlayers int    // in [1, 64]; required

	Components []AnyComponent
	Resources  []AnyResource
	Events     []AnyEvent
	Input      AnyInput // required
	Derived    []AnyDerived
	Assets     []Asset
	Systems    []System // run in this order, once a tick

	Setup func(w *World)                                        // builds State(0)
	Join  func(w *World, p Player)                              // p enters, at the start of a tick
	Leave func(w *World, p Player)                              // p leaves, at the start of a tick
	Order func(w *World, p Player, target Entity, order []byte) // p's order takes effect, at the start of a tick

	// Bot returns what a computer player does next. It only reads the world and draws from its own source.
	Bot func(w *World, p Player, r *Rand) InputBytes
	// Screen holds the hooks that only a client with a view calls.
	Screen Screen
	// Validate says whether p may do what the input asks, given the state before the tick. nil: everything.
	Validate func(w *World, p Player, in InputBytes) bool
	// MoveLimit is the fastest that a player's avatar can move by itself, in world units per second, where a client says
	// where its avatar is: what is claimed beyond is refused. 0: any speed is believed.
	MoveLimit fixed.Num
	// ValidateOrder says whether p's order may take effect, given the state that the tick's orders before it have left. It
	// only reads. World.Step passes over an order that it refuses, on every peer alike. nil: every order takes effect.
	ValidateOrder func(w *World, p Player, target Entity, order []byte) bool
	// Result returns the result of a match that ended in this very tick, at most image.MaxResultBytes, and nil in every other
	// tick: who won, with which scores. It only reads, and follows from the state alone, since it is what players vote on,
	// who agree if their bytes are equal, and what goes into the record of matches. World never calls it. nil: there are
	// no results.
	Result func(w *World) []byte
}

// Asset is static data that every peer must have the same of: a level, a tuning table. It is only read.
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

// Check reports what is missing or wrong in the game's declaration, all of it at once. Every error names the field,
// component or input type.
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
	want(g.MoveLimit >= 0, "Game.MoveLimit is %v: choose a speed from 0", g.MoveLimit)
	want(g.Input != nil, "Game.Input is nil: declare one with NewInput")
	errs = append(errs, g.Schema().Check()...)
	for i, s := range g.Systems {
		want(s.Run != nil, "Game.Systems[%d].Run is nil", i)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("ecs: the game is not complete: %w", errors.Join(errs...))
}

// Schema returns a description of the game's state for code that works with any game. Each call makes one.
func (g *Game) Schema() *image.Schema {
	s := &image.Schema{MaxPlayers: g.MaxPlayers}
	for _, r := range g.Resources {
		s.Resources = append(s.Resources, r.declared())
	}
	for _, c := range g.Components {
		s.Components = append(s.Components, c.declared())
	}
	for _, e := range g.Events {
		s.Events = append(s.Events, e.declared())
	}
	if g.Input != nil {
		s.Input = g.Input.declared()
	}
	return s
}

// Fingerprint is a hash of everything two peers must agree on to share a match: name, tick rate, players, the layout
// of every component, resource, event and the input, the order of the systems, and the assets' contents.
func (g *Game) Fingerprint() uint64 {
	var d xxhash.Digest
	d.Reset()
	fmt.Fprintf(&d, "%q %d %d", g.Name, g.TickRate, g.MaxPlayers)
	d.Write(g.Schema().Describe(nil))
	for _, s := range g.Systems {
		fmt.Fprintf(&d, " system %q", s.Name)
	}
	for _, a := range g.Assets {
		fmt.Fprintf(&d, " asset %q %x", a.Name, xxhash.Sum64(a.Data))
	}
	return d.Sum64()
}
