package swarm

import (
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/net/matchtest"
)

// probe sees what changes of structure were taken back. It is told at the end of every tick that any world simulates;
// a tick that is simulated again and then has other entities was taken back. It belongs to one match.
type probe struct {
	seen      map[*ecs.World]*[256]mark
	takenBack int
}

// mark is what a world's entities were when it last simulated the tick.
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

// played is a game with what a run needs to know of it.
type played struct {
	*ecs.Game
	order []byte                              // of a player's, that does something
	flip  func(*ecs.World)                    // a mistake in one bit of the state
	press func(ecs.InputBytes) ecs.InputBytes // the same input with something pressed
}

// game returns a copy of the named game that is looked at by the probe.
func game(name string) (g played, p *probe) {
	p = &probe{seen: map[*ecs.World]*[256]mark{}}
	var structure func(*ecs.World) uint64
	if name == "arena" {
		g, structure = played{rules.Game(), rules.Surrender, arenaFlip, arenaPress}, arenaStructure
	} else {
		g, structure = played{matchtest.Dots(), []byte{7}, dotsFlip, dotsPress}, dotsStructure
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

// arenaStructure is a hash of what comes and goes in the arena.
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

// arenaFlip flips a bit that nothing sets right again: of the number of the round.
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

// dotsStructure is a hash of who threw a spark: that is how entities come, and half a second later they go.
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
