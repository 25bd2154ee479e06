package swarm

import (
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/net/matchsim/halves"
)

// probe counts structural changes that were rolled back. It runs at the end of every tick that any world simulates. A
// tick that is simulated again and then has other entities was rolled back. It belongs to one match.
type probe struct {
	seen      map[*ecs.World]*[256]mark
	takenBack int
}

// mark is a hash of a world's entities when it last simulated the tick.
type mark struct {
	tick      ecs.Tick
	structure uint64
}

func (p *probe) look(w *ecs.World, structure uint64) {
	marks := p.seen[w]
	if marks == nil {
		marks = new([256]mark)
		p.seen[w] = marks
	}
	m := &marks[w.Tick()%256]
	if m.tick == w.Tick() && m.structure != structure {
		p.takenBack++
	}
	*m = mark{w.Tick(), structure}
}

// played is a game with an order, a fault and a press for it.
type played struct {
	*ecs.Game
	order []byte                              // a player's order that has an effect
	flip  func(*ecs.World)                    // corrupts one bit of the state
	press func(ecs.InputBytes) ecs.InputBytes // the same input with something pressed
}

// game returns a copy of the named game with a probe.
func game(name string) (g played, p *probe) {
	p = &probe{seen: map[*ecs.World]*[256]mark{}}
	var structure func(*ecs.World) uint64
	if name == "arena" {
		g, structure = played{rules.Game(), rules.Surrender.Pack(rules.Game(), struct{}{}), arenaFlip, arenaPress}, arenaStructure
	} else {
		g, structure = played{halves.Dots(), []byte{7}, dotsFlip, dotsPress}, dotsStructure
	}
	if name == "heavy dots" {
		g.Components = append(g.Components, ballastOf)
		g.Setup = load
	}
	g.Systems = append([]ecs.System(nil), g.Systems...)
	last := &g.Systems[len(g.Systems)-1]
	run := last.Run
	last.Run = func(w *ecs.World) {
		run(w)
		p.look(w, structure(w))
	}
	return g, p
}

// ballast makes the image of a match long.
type ballast [4]uint64

var ballastOf = ecs.NewComponent[ballast]("ballast")

// load fills the world with 96 KB of noise.
func load(w *ecs.World) {
	r := w.Rand()
	for range 3000 {
		ballastOf.Put(w, w.Spawn(ecs.OwnedByWorld, ballastOf), ballast{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()})
	}
}

// component returns the arena's component that holds values of type T.
func component[T any]() *ecs.Component[T] {
	for _, c := range rules.Game().Components {
		if c, ok := c.(*ecs.Component[T]); ok {
			return c
		}
	}
	panic("swarm: the arena has no such component: follow its rules")
}

// resource returns the arena's resource of type T.
func resource[T any]() *ecs.Resource[T] {
	for _, c := range rules.Game().Resources {
		if c, ok := c.(*ecs.Resource[T]); ok {
			return c
		}
	}
	panic("swarm: the arena has no such resource: follow its rules")
}

var (
	rocketsOf = ecs.NewQuery1(ecs.Read(component[rules.Rocket]()))
	blastsOf  = ecs.NewQuery1(ecs.Read(component[rules.Blast]()))
	deadOf    = ecs.NewQuery1(ecs.Read(component[rules.Dead]()))

	arenaClock = resource[rules.Clock]()
)

// arenaStructure returns a hash of the arena's rockets, blasts and dead players.
func arenaStructure(w *ecs.World) uint64 {
	h := uint64(1)
	for e := range rocketsOf.All(w) {
		h = mix(h, e.Entity())
	}
	for e := range blastsOf.All(w) {
		h = mix(h+1, e.Entity())
	}
	for e := range deadOf.All(w) {
		h = mix(h+2, e.Entity())
	}
	return h
}

// arenaFlip flips a bit of the round's number, which no system corrects.
func arenaFlip(w *ecs.World) { arenaClock.Write(w).Round ^= 1 << 9 }

var arenaPad = ecs.NewInput[rules.Pad]()

// arenaPress jumps.
func arenaPress(in ecs.InputBytes) ecs.InputBytes {
	p := arenaPad.Unpack(in)
	p.Jump = true
	return arenaPad.Pack(p)
}

// dotsPress throws: the third byte of the input.
func dotsPress(in ecs.InputBytes) ecs.InputBytes {
	in[2] = 1
	return in
}

// dotsFlip draws one number too many.
func dotsFlip(w *ecs.World) { w.Rand().Uint64() }

// dotsStructure returns a hash of the players that threw a spark. A spark is an entity that exists for half a second.
func dotsStructure(w *ecs.World) uint64 {
	h := uint64(1)
	for _, e := range w.Events() {
		if !e.Irreversible {
			h = mix(h, e.Key.Entity)
		}
	}
	return h
}

func mix(h uint64, e ecs.Entity) uint64 {
	return (h ^ uint64(e.Row)<<32 ^ uint64(e.Born)) * 0x9e3779b97f4a7c15
}
