package ecs

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs/fixed"
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
	// Result returns the result of a match that ended in this very tick, at most MaxResultBytes, and nil in every other
	// tick: who won, with which scores. It only reads, and follows from the state alone, since it is what players vote on,
	// who agree if their bytes are equal, and what goes into the record of matches. World never calls it. nil: there are
	// no results.
	Result func(w *World) []byte
}

// MaxResultBytes bounds what Game.Result returns.
const MaxResultBytes = 256

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

// ErrGame is wrapped by every error that Check returns.
var ErrGame = errors.New("ecs: the game is not complete")

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
	want(g.MaxPlayers >= 1 && g.MaxPlayers <= MaxPlayers, "Game.MaxPlayers is %d: choose 1 to %d", g.MaxPlayers, MaxPlayers)
	want(g.MoveLimit >= 0, "Game.MoveLimit is %v: choose a speed from 0", g.MoveLimit)
	want(g.Input != nil, "Game.Input is nil: declare one with NewInput")
	if g.Input != nil && g.Input.declaredInput().err != nil {
		errs = append(errs, g.Input.declaredInput().err)
	}
	names := map[string]bool{"": true}
	for _, name := range engineNames {
		names[name] = true
	}
	for _, d := range g.declarations() {
		want(!names[d.name], "the name %q is empty, declared twice or one of the engine's own (tick, inputs, entity): give each component and resource a name of its own and list it once", d.name)
		names[d.name] = true
		if d.err != nil {
			errs = append(errs, d.err)
		}
		p := d.roles.priority
		want(p >= 0 && p <= math.MaxFloat32, "Roles.Priority of %q is %v: choose a number from 0", d.name, p)
		want(d.roles.tolerance >= 0, "Roles.Tolerance of %q is %v: choose a distance from 0", d.name, d.roles.tolerance)
		want(d.roles.motion != nil || d.roles.setMotion == nil && d.roles.tolerance == 0, "Roles of %q have SetMotion or Tolerance and no Motion: say where the entity is", d.name)
	}
	events := map[string]bool{"": true}
	for _, e := range g.Events {
		t := e.declaredEvent()
		want(!events[t.name], "the event name %q is empty or declared twice: give each event a name of its own and list it once", t.name)
		events[t.name] = true
		if t.err != nil {
			errs = append(errs, t.err)
		}
	}
	want(littleEndian, "this target stores the highest byte first; images, checksums and inputs are defined for the other order")
	for i, s := range g.Systems {
		want(s.Run != nil, "Game.Systems[%d].Run is nil", i)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrGame, errors.Join(errs...))
}

// declarations lists the game's resources and components in the order of their columns.
func (g *Game) declarations() []*declaration {
	var list []*declaration
	for _, r := range g.Resources {
		list = append(list, r.declared())
	}
	for _, c := range g.Components {
		list = append(list, c.declared())
	}
	return list
}

// HasFloats reports whether simulated state or input holds floating-point numbers. Peers of such a game must run the
// same build for the same architecture, since float results differ between targets.
func (g *Game) HasFloats() bool {
	if g.Input.declaredInput().layout.floats {
		return true
	}
	for _, d := range g.declarations() {
		if d.layout.floats {
			return true
		}
	}
	return false
}

// Fingerprint is a hash of everything two peers must agree on to share a match: name, tick rate, players, the layout
// of every component, resource, event and the input, the order of the systems, and the assets' contents.
func (g *Game) Fingerprint() uint64 {
	var d xxhash.Digest
	d.Reset()
	fmt.Fprintf(&d, "%q %d %d", g.Name, g.TickRate, g.MaxPlayers)
	for _, c := range g.declarations() {
		fmt.Fprintf(&d, " %s %q %x", c.what, c.name, c.layout.fingerprint)
	}
	for _, e := range g.Events {
		t := e.declaredEvent()
		fmt.Fprintf(&d, " event %q %x %t", t.name, t.layout.fingerprint, t.irreversible)
	}
	fmt.Fprintf(&d, " input %x", g.Input.declaredInput().layout.fingerprint)
	for _, s := range g.Systems {
		fmt.Fprintf(&d, " system %q", s.Name)
	}
	for _, a := range g.Assets {
		fmt.Fprintf(&d, " asset %q %x", a.Name, xxhash.Sum64(a.Data))
	}
	return d.Sum64()
}

// InputSize returns the bytes of an input that can differ from zero: what a wire or a recording has to carry.
func (g *Game) InputSize() int { return int(g.Input.declaredInput().layout.size) }

// CleanInput zeroes whatever in a packed input no Go program could have stored. Every input off a wire or a file
// passes through it.
func (g *Game) CleanInput(in *InputBytes) { g.Input.declaredInput().clean(in) }

// PredictInput returns what to assume for the tick after one in which the player's input was last.
func (g *Game) PredictInput(last InputBytes) InputBytes {
	if predict := g.Input.declaredInput().predict; predict != nil {
		return predict(last)
	}
	return last
}

// MergeLate returns next with what must not be lost of an input that arrived too late for its own tick.
func (g *Game) MergeLate(late, next InputBytes) InputBytes {
	return g.Input.declaredInput().mergeLate(late, next)
}

// eventNumber returns the position of an event type in Game.Events.
func (g *Game) eventNumber(t *eventType) uint16 {
	for i, e := range g.Events {
		if e.declaredEvent() == t {
			return uint16(i)
		}
	}
	panic(fmt.Sprintf("ecs: event %q is emitted but not listed: add it to Game.Events", t.name))
}
