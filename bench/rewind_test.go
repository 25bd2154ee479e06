package bench

import (
	"fmt"
	"testing"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// timeline is a timeline that steps freely.
type timeline struct{ *rollback.Timeline }

func newTimeline(w *ecs.World) timeline {
	return timeline{measure.Must(rollback.New(rollback.Config{World: w, MaxPrediction: 64, Local: -1}))}
}

func (t timeline) forward(ticks int) {
	for range ticks {
		if !t.Step() {
			panic("at the prediction limit")
		}
	}
}

// rollBack rewinds and resimulates.
func (t timeline) rollBack() {
	t.Rewind(t.Present() - rewindTicks)
	t.forward(rewindTicks)
}

// steps returns rewindTicks of a world.
func steps(w *ecs.World) func() {
	return func() {
		for range rewindTicks {
			w.Step(ecs.TickInputs{})
		}
	}
}

// BenchmarkRewind measures what a timeline adds to the simulation when it rewinds 8 ticks, resimulates and saves them.
func BenchmarkRewind(b *testing.B) {
	eachSize(b, loads[:2], func(b *testing.B, ref *buffer, w *saver) {
		t := newTimeline(ref.world(ref.n))
		t.forward(2 * rewindTicks)
		measure.Row{
			What: fmt.Sprintf("rewind 8 and resimulate, %s entities, %s: ", thousands(ref.n), ref.what) +
				"restore, saves and bookkeeping, i.e. less the same 8 steps of the bare world",
			Reference: "memcpy of the pages changed, once for the restore and once a tick",
			Unit:      "tick", Reach: 2, Plus: 1000, Missed: pieces,
		}.Report(b, measure.Compare(b,
			measure.Op{Units: rewindTicks, Prepare: ref.write, Run: func() {
				for range rewindTicks + 1 {
					ref.save(ref.share)
				}
			}},
			measure.Op{Units: rewindTicks, Run: t.rollBack, Less: &measure.Op{Run: steps(w.World)}}))
	})
	b.Run("arena", func(b *testing.B) {
		bare, t := arena(), newTimeline(arena())
		t.forward(2 * rewindTicks)
		var start image.Snapshot
		bare.Image().Save(&start)
		r := measure.Compare(b,
			measure.Op{Units: rewindTicks, Prepare: func() { bare.Image().Restore(&start) }, Run: steps(bare)},
			measure.Op{Units: rewindTicks, Run: t.rollBack})
		measure.Row{
			What:      "rewind 8 and resimulate in the arena with 16 bots and 1 000 entities",
			Reference: "the same 8 steps of the bare world",
			Unit:      "tick", Note: fmt.Sprintf("save, restore and bookkeeping are %.1f %% of a resimulated tick", 100*(1-1/r.Median)),
		}.Report(b, r)
	})
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
	w := newWorld(g)
	w.Step(ecs.TickInputs{Orders: joins(g.MaxPlayers)})
	return w
}

// joins returns the orders by which so many players join.
func joins(players int) (orders []image.Order) {
	for p := range players {
		orders = append(orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(p)})
	}
	return orders
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

// idle returns the game that does nothing.
func idle(rate int) *ecs.Game {
	return &ecs.Game{Name: "idle", TickRate: rate, MaxPlayers: 2, Input: entities.Input, Systems: ecs.Systems(func(*ecs.World) {})}
}
