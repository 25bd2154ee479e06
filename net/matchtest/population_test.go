package matchtest

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/reckon"
)

// walker is an entity of a large world. It walks in a circle.
type walker struct{ Phase uint32 }

var (
	walkers = ecs.NewComponent[walker]("walker")
	walking = ecs.NewQuery2(ecs.Write(halves.Bodies), ecs.Read(walkers))
)

const tileSide = 60 // world units

// tiledGame returns Dots in a world of tiles × tiles equal tiles, each with row × row walkers. The players are in the middle
// one. So they see the same, however large the world is.
func tiledGame(tiles, row int) *ecs.Game {
	g := halves.Dots()
	g.Components = append(g.Components, ecs.Components(walkers)...)
	g.Systems = append(g.Systems, ecs.Systems(circle)...)
	g.Setup = func(w *ecs.World) {
		for i := range tiles * tiles * row * row {
			tile, at := i/(row*row), i%(row*row)
			coordinate := func(tile, at int) fixed.Num {
				return fixed.FromInt((tile-tiles/2)*tileSide) + fixed.FromRatio(int64(tileSide*(2*at+1-row)), int64(2*row))
			}
			e := w.Spawn(ecs.OwnedByWorld, halves.Bodies, walkers)
			walkers.Put(w, e, walker{Phase: uint32(at * 7)})
			halves.Bodies.Put(w, e, halves.Body{Pos: fixed.Vec2{X: coordinate(tile%tiles, at%row), Y: coordinate(tile/tiles, at/row)}})
		}
	}
	return g
}

// circle turns every walker once a second.
func circle(w *ecs.World) {
	for e := range walking.All(w) {
		turns := (uint32(w.Tick()) + e.B.Phase) / 60 % 8
		e.A.Vel = fixed.FromAngle(fixed.Tau/8*fixed.Num(turns), fixed.FromInt(5))
		e.A.Pos = e.A.Pos.Add(fixed.Vec2{X: e.A.Vel.X / 60, Y: e.A.Vel.Y / 60})
	}
}

// bytesDown returns the bytes per second that a server sends to each of four players, and the number of entities.
func bytesDown(t *testing.T, s systems.Strategy, tiles, row int) (perSecond float64, population int) {
	const players, seconds = 4, 3
	m, sent := halves.New(t, halves.Config{Game: tiledGame(tiles, row), Strategy: s, Seed: 3}), 0
	for seat := range players {
		play := halves.Wander(uint64(seat))
		m.Join(halves.Plan{Path: profile(t, "P2"), Config: systems.ClientConfig{Seat: seat}, FromOpen: true,
			Input: func(int) ecs.InputBytes { return halves.PadInput.Pack(play()) }})
	}
	m.Net.RunUntil(3 * time.Second)
	m.OnDown = func(_ *halves.Peer, _ systems.Channel, message []byte) { sent += len(message) }
	m.Net.RunUntil((3 + seconds) * time.Second)
	return float64(sent) / players / seconds, tiles * tiles * row * row
}

// AOI-03: the bytes that a server sends to a client depend on the density of the world, not on its population. They stay within
// 5 % with nine times the entities on nine times the area.
func TestAOI03BytesPerClientAreIndependentOfThePopulationAtConstantDensity(t *testing.T) {
	if race.Enabled {
		t.Skip("the same figures, slowly")
	}
	const budget = 20 * systems.MaxDatagram // bytes per second of predict; near it, all worlds would cost the same
	near := fixed.FromInt(20)
	for _, s := range []systems.Strategy{predict.New(predict.Config{Interest: near}), reckon.New(reckon.Config{Interest: near})} {
		small, few := bytesDown(t, s, 3, 6)
		large, many := bytesDown(t, s, 9, 6)
		dense, _ := bytesDown(t, s, 3, 12)
		if r := large / small; r < 0.95 || r > 1.05 {
			t.Errorf("%s: %.0f bytes a second for a client with %d entities, %.0f with %d", s.Name, small, few, large, many)
		}
		if dense < small*5/4 || dense > budget/2 {
			t.Errorf("%s: %.0f bytes a second at four times the density, %.0f before: the test proves nothing", s.Name, dense, small)
		}
	}
}
