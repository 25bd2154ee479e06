package main

import (
	"fmt"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// rewindRows measure what a timeline adds to the simulation when it rewinds 8 ticks, resimulates and saves them.
func rewindRows() []measure.Row {
	var rows []measure.Row
	for _, l := range loads[:2] {
		for _, size := range sizes {
			rows = append(rows, measure.Row{
				Name: fmt.Sprintf("rewind-%s-%s", l.name, size.name),
				What: fmt.Sprintf("rewind 8 and resimulate, %s entities, %s: restore, saves and bookkeeping, i.e. less the "+
					"same 8 steps of the bare world", size.name, l.what),
				Reference: "memcpy of the pages changed, once for the restore and once a tick",
				Reach:     2, Plus: 1000, Missed: pieces,
				Run: func() measure.Result { return rewind(l, size.n) },
			})
		}
	}
	return append(rows, measure.Row{
		Name:      "rewind-arena",
		What:      "rewind 8 and resimulate in the arena with 16 bots and 1 000 entities",
		Reference: "the same 8 steps of the bare world",
		Run:       rewindArena,
	})
}

func newTimeline(w *ecs.World) *rollback.Timeline {
	t, err := rollback.New(rollback.Config{World: w, MaxPrediction: 64, Local: -1})
	if err != nil {
		panic(err)
	}
	return t
}

func forward(t *rollback.Timeline, ticks int) {
	for range ticks {
		if !t.Step() {
			panic("at the prediction limit")
		}
	}
}

// rollBack rewinds and resimulates.
func rollBack(t *rollback.Timeline) {
	t.Rewind(t.Present() - rewindTicks)
	forward(t, rewindTicks)
}

// rewind measures a rollback without the time of the bare steps.
func rewind(l load, n int) measure.Result {
	b, bare := newBuffer(n), l.world(n)
	t := newTimeline(l.world(n))
	forward(t, 2*rewindTicks)
	changed := len(b.words)
	if l.name == "tenth" {
		changed /= 10
	}
	steps := measure.Op{Units: rewindTicks, Run: func() {
		for range rewindTicks {
			bare.Step(ecs.TickInputs{})
		}
	}}
	r := measure.Compare(
		measure.Op{
			Units:   rewindTicks,
			Prepare: func() { l.reference(b) },
			Run: func() {
				for range rewindTicks + 1 {
					b.tick++
					copy(b.ring[b.tick%ringDepth][:changed], b.words)
				}
			},
		},
		measure.Op{Units: rewindTicks, Less: &steps, Run: func() { rollBack(t) }},
	)
	return measure.Result{Unit: "tick", Ratio: r}
}

// arenaEntities is the number of entities in the row about the arena.
const arenaEntities = 1000

// arena returns the arena with every player and enough rockets in the air for arenaEntities.
func arena() *ecs.World {
	g := rules.Game()
	body, rocket := component[rules.Body](g, "body"), component[rules.Rocket](g, "rocket")
	setup := g.Setup
	g.Setup = func(w *ecs.World) {
		setup(w)
		for range arenaEntities - g.MaxPlayers {
			e := w.Spawn(ecs.OwnedByWorld, body, rocket)
			rocket.Put(w, e, rules.Rocket{Until: 1 << 60})
		}
	}
	w := entities.New(g)
	w.Step(ecs.TickInputs{Orders: joins(g.MaxPlayers)})
	return w
}

// component returns a game's component of this name.
func component[T any](g *ecs.Game, name string) *ecs.Component[T] {
	for _, c := range g.Components {
		if c, ok := c.(*ecs.Component[T]); ok && c.Name() == name {
			return c
		}
	}
	panic("the game has no component " + name)
}

// rewindArena compares a rollback with the simulation in it.
func rewindArena() measure.Result {
	bare, t := arena(), newTimeline(arena())
	forward(t, 2*rewindTicks)
	var start image.Snapshot
	bare.Image().Save(&start)
	steps := func() {
		for range rewindTicks {
			bare.Step(ecs.TickInputs{})
		}
	}
	r := measure.Compare(
		measure.Op{Units: rewindTicks, Prepare: func() { bare.Image().Restore(&start) }, Run: steps},
		measure.Op{Units: rewindTicks, Run: func() { rollBack(t) }},
	)
	return measure.Result{Unit: "tick", Ratio: r,
		Note: fmt.Sprintf("save, restore and bookkeeping are %.1f %% of a resimulated tick", 100*(1-1/r.Median))}
}
