package ecs

import (
	"fmt"
	"reflect"
	"unsafe"
)

// World is one copy of a match: its image, and what a tick needs beside it. Everything a system may read is in the
// image or among the tick's inputs; whatever else a World holds is empty between ticks or can be rebuilt.
//
// A World is not safe on several goroutines at once; different worlds are.
type World struct {
	game      *Game
	image     *image
	byID      []*column // index = declaration.id
	structure structure
	events    eventLog
	derived   []any // index = position in Game.Derived
	stale     []bool
	bridge    *bridge
	delta     deltaReader
	sight     sight
	limit     limit
	placings  []placing // of the last tick
	running   bool      // inside Step or Setup
	walked    bool      // Donburi was called in the last tick
}

// The engine's own columns stand before the game's.
const (
	columnCore = iota
	columnInputs
	columnIdentity
	engineColumns
)

// engineNames are the names of the engine's own columns.
var engineNames = [engineColumns]string{columnCore: "tick", columnInputs: "inputs", columnIdentity: "entity"}

// NewWorld checks the game and returns a world in State(0). The seed starts the random source; every peer of a match
// uses the same.
func NewWorld(g *Game, seed uint64) (*World, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	infos := engineInfos(g)
	for i, d := range g.declarations() {
		infos = append(infos, infoOf(d, i < len(g.Resources)))
	}
	for i, info := range infos {
		info.index = i
	}
	owners := g.MaxPlayers + 1
	w := &World{game: g, image: newImage(infos, owners)}
	w.image.game, w.image.fingerprint = g, g.Fingerprint()
	w.structure.held = make([][]uint64, owners)
	w.structure.hint = make([]uint32, owners)
	w.derived = make([]any, len(g.Derived))
	w.stale = make([]bool, len(g.Derived))
	for i, d := range g.declarations() {
		for len(w.byID) <= d.id {
			w.byID = append(w.byID, nil)
		}
		w.byID[d.id] = &w.image.columns[engineColumns+i]
	}
	w.writeCore().Rand = *NewRand(seed)
	w.invalidate()
	if g.Setup != nil {
		w.running, w.walked = true, false
		g.Setup(w)
		w.flush()
		w.image.round()
		w.releaseHeld()
		w.running = false
		w.invalidate() // Setup may have asked for derived data of a state half built
	}
	return w, nil
}

// engineInfos describes the engine's own columns: tick, players and random source; the inputs of this tick and the
// last; and the identity of every row.
func engineInfos(g *Game) []*columnInfo {
	coreType, identityType := engineLayout[core](), engineLayout[Entity]()
	in := g.Input.declaredInput().layout
	inputs := &layout{typ: in.typ, size: in.size * uintptr(2*g.MaxPlayers)}
	return []*columnInfo{
		columnCore:     {name: engineNames[columnCore], layout: coreType, stride: coreType.size, single: true},
		columnInputs:   {name: engineNames[columnInputs], layout: inputs, stride: inputs.size, single: true},
		columnIdentity: {name: engineNames[columnIdentity], layout: identityType, stride: identityType.size, shift: pageShift(identityType.size)},
	}
}

// engineLayout returns the layout of one of the engine's own types.
func engineLayout[T any]() *layout {
	l, err := layoutOf("engine", "", reflect.TypeFor[T]())
	if err != nil {
		panic(err)
	}
	return l
}

func infoOf(d *declaration, single bool) *columnInfo {
	info := &columnInfo{name: d.name, layout: d.layout, stride: d.layout.size, single: single, roles: d.roles, quantise: d.roles.quantise}
	info.rounds = info.stride > 0 && (d.layout.steps || info.quantise != nil)
	if !single && info.stride > 0 {
		info.shift = pageShift(info.stride)
	}
	return info
}

// Game returns the game that the world runs.
func (w *World) Game() *Game { return w.game }

// Tick returns the running tick, or between ticks the last one computed.
func (w *World) Tick() Tick { return w.core().Tick }

// WalkedDonburi reports whether a system of the last tick called Donburi, whose order of entities depends on history.
func (w *World) WalkedDonburi() bool { return w.walked }

// Players returns the players who are in the match.
func (w *World) Players() PlayerSet { return PlayerSet(w.core().Players) }

// Rand returns the world's random source and declares that it is drawn from.
func (w *World) Rand() *Rand { return &w.writeCore().Rand }

// Exists reports whether e is in the world. An entity spawned by the running system exists at once.
func (w *World) Exists(e Entity) bool { return w.exists(e) }

// SetObserver makes o hear of every section that the world enters and leaves: systems, ticks, saves, restores and
// checksums, also those of its snapshots. nil for none.
func (w *World) SetObserver(o Observer) { w.image.observer = o }

// Step computes the next tick: orders in their order, then the game's systems, and then the places that orders of kind
// OrderMotion give.
func (w *World) Step(in TickInputs) {
	SectionSimulate.Enter(w.image.observer)
	w.buildStale()
	w.running, w.walked = true, false
	if w.limit.rows != nil {
		w.beginLimit()
	}
	w.events.reset()
	w.placings = w.placings[:0]
	c := w.writeCore()
	c.Tick++
	w.takeInputs(in.Players)
	for i := range in.Orders {
		w.execute(&in.Orders[i])
		w.flush()
	}
	systems := w.game.Systems
	for i := range systems {
		(SectionSystems + Section(i)).Enter(w.image.observer)
		systems[i].Run(w)
		w.flush()
		(SectionSystems + Section(i)).Leave(w.image.observer)
	}
	w.place()
	w.image.round()
	if w.limit.open != nil {
		w.endLimit()
	}
	w.releaseHeld()
	w.forgetViews()
	w.running = false
	SectionSimulate.Leave(w.image.observer)
}

// execute carries out one order.
func (w *World) execute(o *Order) {
	if int(o.Player) >= w.game.MaxPlayers {
		return
	}
	g, set := w.game, uint64(1)<<o.Player
	switch o.Kind {
	case OrderJoin:
		if w.core().Players&set == 0 {
			w.writeCore().Players |= set
			if g.Join != nil {
				g.Join(w, o.Player)
			}
		}
	case OrderLeave:
		if w.core().Players&set != 0 {
			w.writeCore().Players &^= set
			if g.Leave != nil {
				g.Leave(w, o.Player)
			}
		}
	case OrderView:
		w.setView(o.Player, o.Payload)
	case OrderMotion:
		w.plan(o.Entity, o.Payload)
	case OrderGame:
		if g.Order != nil && (g.ValidateOrder == nil || g.ValidateOrder(w, o.Player, o.Entity, o.Payload)) {
			g.Order(w, o.Player, o.Entity, o.Payload)
		}
	}
}

// takeInputs makes this tick's inputs the last ones and stores the new.
func (w *World) takeInputs(players []InputBytes) {
	size := w.game.InputSize()
	if size == 0 {
		return
	}
	data := &w.image.columns[columnInputs].regions[0].data
	w.image.mark(data.pages[0])
	rows := w.image.live[data.pages[0]].mem
	half := size * w.game.MaxPlayers
	copy(rows[half:], rows[:half])
	clear(rows[:half])
	for p := range min(len(players), w.game.MaxPlayers) {
		copy(rows[p*size:(p+1)*size], players[p][:])
	}
}

// inputRow returns the memory of an input: [0, MaxPlayers) are this tick's, the next MaxPlayers the last tick's.
func (w *World) inputRow(i int) unsafe.Pointer {
	c := &w.image.columns[columnInputs]
	return unsafe.Add(c.rowOf(&c.regions[0], 0), i*w.game.InputSize())
}

// InputOf returns p's packed input of the running or last tick.
func (w *World) InputOf(p Player) (in InputBytes) {
	size := w.game.InputSize()
	copy(in[:], unsafe.Slice((*byte)(w.inputRow(int(p))), size))
	return in
}

func (w *World) core() *core {
	return (*core)(w.image.columns[columnCore].regions[0].data.mem[0])
}

func (w *World) writeCore() *core {
	data := &w.image.columns[columnCore].regions[0].data
	w.image.mark(data.pages[0])
	return (*core)(data.mem[0])
}

func (w *World) identity() *column { return &w.image.columns[columnIdentity] }

// exists reports whether e's row carries e's identity.
func (w *World) exists(e Entity) bool {
	if e.Row == 0 || int(e.Owner()) >= len(w.structure.hint) {
		return false
	}
	c := w.identity()
	r, i := &c.regions[e.Owner()], e.Row%regionRows
	return int(i>>c.info.shift) < len(r.data.mem) && *(*Entity)(c.rowOf(r, i)) == e
}

// column returns the world's column of a declared component or resource.
func (w *World) column(d *declaration) *column {
	if d.id < len(w.byID) {
		if c := w.byID[d.id]; c != nil {
			return c
		}
	}
	panic(fmt.Sprintf("ecs: %q is used but not listed: add it to Game.Components or Game.Resources", d.name))
}

// Save stores the state in s, which must be empty or have been saved from this world. Call it between ticks.
func (w *World) Save(s *Snapshot) {
	SectionSave.Enter(w.image.observer)
	w.image.save(s, w.Tick())
	SectionSave.Leave(w.image.observer)
}

// Restore makes the world's state the one s holds. s must have been saved from this world. Call it between ticks.
func (w *World) Restore(s *Snapshot) {
	if s.image != w.image {
		panic("ecs: Restore of a snapshot that is empty or was saved from another world: save it from this world, or load an image of it with LoadImage")
	}
	SectionRestore.Enter(w.image.observer)
	w.image.restore(s)
	w.afterRestore()
	SectionRestore.Leave(w.image.observer)
}

// afterRestore drops everything that was known of the state before.
func (w *World) afterRestore() {
	w.structure.forget()
	w.events.reset()
	w.invalidate()
}

func (w *World) invalidate() {
	for i := range w.stale {
		w.stale[i] = true
	}
}

// Strays returns how many pages were found changed by a write that was not declared. It should stay 0; SyncTest names
// the system that does it.
func (w *World) Strays() uint64 { return w.image.strays }
