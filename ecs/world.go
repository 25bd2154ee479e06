package ecs

import "tendon/ecs/image"

// World is one copy of a match: its image, and data that can be rebuilt from it. Systems may read the state in the image
// and the inputs of the tick, nothing else. A World is not safe for concurrent use; different worlds are.
type World struct {
	game     *Game
	image    *image.Image
	events   eventLog
	derived  []any   // index = position in Game.Derived
	builtAt  []built // index = position in Game.Derived
	stepping bool    // a tick runs
	bridge   *bridge

	hierarchies []*Hierarchy // of Game.Components

	splitter *splitter // of parallel systems; nil before the first
	scope    *scope    // of the running parallel system; nil outside of one
}

// NewWorld checks the game and returns a world in State(0). The seed starts the random source. Every peer of a match uses
// the same.
func NewWorld(g *Game, seed uint64) (*World, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	w := &World{game: g, image: image.New(g.Schema(), g.Fingerprint(), seed)}
	w.derived = make([]any, len(g.Derived))
	w.builtAt = make([]built, len(g.Derived))
	for _, c := range g.Components {
		if h, ok := c.(*Hierarchy); ok {
			w.hierarchies = append(w.hierarchies, h)
		}
	}
	if g.Setup != nil {
		w.image.Setup(func() { g.Setup(w) })
	}
	return w, nil
}

// Image returns the store of the world's state: snapshots, checksums, codecs, and operations for replicas, tools and sync
// strategies.
func (w *World) Image() *image.Image {
	w.alone("World.Image")
	return w.image
}

// Game returns the game that the world runs.
func (w *World) Game() *Game { return w.game }

// Tick returns the running tick, or between ticks the last one computed.
func (w *World) Tick() Tick { return w.image.Tick() }

// Players returns the players who are in the match.
func (w *World) Players() image.PlayerSet { return w.image.Players() }

// Rand returns the world's random source and marks it as written.
func (w *World) Rand() *Rand {
	w.alone("World.Rand")
	return w.image.Rand()
}

// Exists reports whether e is in the world. An entity that the running system spawned exists at once.
func (w *World) Exists(e Entity) bool { return w.image.Exists(e) }

// MayWrite reports whether e exists and the running tick may change it. On a client that predicts some entities that is false for
// the others, and changes of them are discarded. Everywhere else a tick may change every entity.
func (w *World) MayWrite(e Entity) bool { return w.image.MayWrite(e) }

// Sees reports whether a viewer may know the private values of an entity. viewer is a seat, or −1 for a spectator, who sees
// none. See Game.See.
func (w *World) Sees(viewer int, e Entity) bool {
	switch {
	case viewer < 0:
		return false
	case w.game.See == nil:
		return e.Owner() == OwnedBy(Player(viewer))
	}
	return w.game.See(w, Player(viewer), e)
}

// DiscardedWrites returns the writes of all ticks to entities that they must not change, counted by system and component. The
// name of the system is empty for orders and hooks. See MayWrite.
func (w *World) DiscardedWrites() (list []DiscardedWrites) {
	for _, x := range w.image.DiscardedWrites() {
		system := ""
		if x.System >= 0 {
			system = w.game.Systems[x.System].Name
		}
		list = append(list, DiscardedWrites{system, x.Component.Name(), x.Writes})
	}
	return list
}

// DiscardedWrites counts writes that were discarded.
type DiscardedWrites struct {
	System    string `json:"system"`
	Component string `json:"component"`
	Writes    uint64 `json:"writes"`
}

// Spawn takes the lowest free row of the owner's region and gives it these components, all zero. Write can fill the entity
// at once. Queries yield it when the running system has returned.
func (w *World) Spawn(owner image.Owner, components ...AnyComponent) Entity {
	w.alone("World.Spawn")
	var few [8]*image.Declaration
	list := few[:0] // on the stack
	for _, c := range components {
		list = append(list, c.declared())
	}
	return w.image.Spawn(owner, list...)
}

// Despawn removes the entity when the running system has returned. It does nothing if the entity does not exist.
func (w *World) Despawn(e Entity) {
	w.alone("World.Despawn")
	w.image.Despawn(e)
}

// Check verifies data that the world keeps beside its state and returns the first difference. Derived data must equal the
// value that build returns. Each donburi entry must have its entity's components and point at its rows. Check is for tests,
// because it builds all derived data again.
func (w *World) Check() error {
	for i, d := range w.game.Derived {
		if w.derived[i] == nil || w.builtAt[i].version != w.image.DerivedVersion() {
			continue
		}
		d.ensure(w, i)
		if err := d.check(w, w.derived[i]); err != nil {
			return err
		}
	}
	return w.checkDonburi()
}

// Step computes the next tick: orders in their order, then the game's systems, then the positions in orders of kind
// image.OrderMotion.
func (w *World) Step(in TickInputs) {
	w.alone("World.Step")
	o := w.image.Observer()
	image.SectionSimulate.Enter(o)
	if len(w.derived) > 0 {
		w.buildStale()
	}
	w.stepping = true
	w.log().reset()
	w.image.Begin(in.Players)
	for i := range in.Orders {
		w.execute(i, &in.Orders[i])
		w.flush()
	}
	systems := w.game.Systems
	for i := range systems {
		(image.SectionSystems + image.Section(i)).Enter(o)
		w.image.RunSystem(i)
		w.runSystem(&systems[i])
		w.flush()
		(image.SectionSystems + image.Section(i)).Leave(o)
	}
	w.image.End()
	w.stepping = false
	image.SectionSimulate.Leave(o)
}

// execute executes order i of the tick.
func (w *World) execute(i int, o *image.Order) {
	if int(o.Player) >= w.game.MaxPlayers {
		return
	}
	g := w.game
	switch o.Kind {
	case image.OrderJoin:
		if w.image.SetPlayer(o.Player, true) && g.Join != nil {
			card, _ := image.ParseCard(o.Payload) // peers send no other
			g.Join(w, o.Player, card)
		}
	case image.OrderLeave:
		if w.image.SetPlayer(o.Player, false) && g.Leave != nil {
			g.Leave(w, o.Player)
		}
	case image.OrderView:
		w.image.SetView(o.Player, o.Payload)
	case image.OrderMotion:
		w.image.Plan(o.Entity, o.Payload)
	case image.OrderGame:
		if reason := w.order(o, true); reason != "" {
			w.events.refusals = append(w.events.refusals, Refusal{i, reason})
		}
	}
}
