package space_test

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/ecs/space"
	"tendon/rollback"
)

// Ball is an entity of the tests' game. Near is a hash of the balls that it found, in their order.
type Ball struct {
	Pos, Vel fixed.Vec2
	Size     fixed.Num
	Near     uint64
}

type Stick struct{ Push bool }

type pair struct {
	entity ecs.Entity
	ball   Ball
}

func around(b Ball) space.Bounds { return space.Around(b.Pos, b.Size) }

var (
	speed  = fixed.FromRatio(1, 2)
	ball   = ecs.NewComponent("ball", ecs.Roles[Ball]{Lerp: func(a, b Ball, t float64) Ball { b.Pos = a.Pos.Lerp(b.Pos, fixed.FromFloat(t)); return b }})
	ghost  = ecs.NewComponent[struct{}]("ghost")
	stick  = ecs.NewInput[Stick]()
	moving = ecs.NewQuery1(ecs.Write(ball))
	solid  = ecs.NewQuery1(ecs.Read(ball), ecs.Without(ghost))
	grid   = space.NewGrid(ball, space.GridConfig[Ball]{Bounds: around, Cell: fixed.FromInt(3), Speed: speed}, ecs.Without(ghost))
)

// found returns what the grid finds in an area, and all tests the same.
func found(w *ecs.World, area space.Bounds) (list []pair) {
	for e, b := range grid.In(w, area) {
		list = append(list, pair{e, b})
	}
	return list
}

// brute returns the same by looking at all entities.
func brute(w *ecs.World, area space.Bounds) (list []pair) {
	for e := range solid.All(w) {
		if around(e.A).Touches(area) {
			list = append(list, pair{e.Entity(), e.A})
		}
	}
	return list
}

// balls returns a game in which balls move, and find each other while they move. Then some are spawned, despawned, teleported, and hidden
// from the grid. check is called for each search.
func balls(count int, check func(w *ecs.World, area space.Bounds)) *ecs.Game {
	spawn := func(w *ecs.World, owner image.Owner) {
		r := w.Rand()
		at := func(n int) fixed.Num { return fixed.FromRatio(int64(r.IntN(2*n*100)-n*100), 100) }
		e := w.Spawn(owner, ball)
		size := fixed.FromRatio(int64(r.IntN(100)), 100)
		if r.Chance(1, 20) {
			size *= 8
		}
		ball.Put(w, e, Ball{Pos: fixed.Vec2{X: at(20), Y: at(20)}, Vel: fixed.Vec2{X: at(1), Y: at(1)}.Limit(speed), Size: size})
	}
	move := func(w *ecs.World) {
		for e := range moving.All(w) {
			if e.A.Pos = e.A.Pos.Add(e.A.Vel); e.A.Pos.Len() > fixed.FromInt(25) {
				e.A.Vel = space.Bounce(e.A.Vel, e.A.Pos.Normalize().Neg(), fixed.One)
			}
			area := space.Around(e.A.Pos, fixed.FromInt(1+int(e.Entity().Row%9)))
			e.A.Near = 0
			for other, b := range grid.In(w, area) {
				e.A.Near = e.A.Near*31 + uint64(other.Row)*7 + uint64(other.Born) + uint64(b.Pos.X)
			}
			if check != nil {
				check(w, area)
			}
		}
	}
	change := func(w *ecs.World) {
		r := w.Rand()
		for e := range moving.All(w) {
			if e.Entity().Owner() != ecs.OwnedByWorld && r.Chance(1, 20) {
				w.Despawn(e.Entity())
				continue
			}
			switch r.IntN(100) {
			case 0:
				w.Despawn(e.Entity())
				spawn(w, image.Owner(r.IntN(3)))
			case 1:
				e.A.Pos = e.A.Pos.Neg()
			case 2:
				if ghost.Has(w, e.Entity()) {
					ghost.Remove(w, e.Entity())
				} else {
					ghost.Add(w, e.Entity(), struct{}{})
				}
			}
		}
	}
	push := func(w *ecs.World) {
		for p := range w.Players().All() {
			if stick.Of(w, p).Push {
				spawn(w, ecs.OwnedBy(p))
			}
		}
	}
	return &ecs.Game{
		Name: "balls", TickRate: 60, MaxPlayers: 2, Input: stick, Components: ecs.Components(ball, ghost),
		Derived: []ecs.AnyDerived{grid.Derived()}, Systems: ecs.Systems(move, change, push),
		Setup: func(w *ecs.World) {
			for range count {
				spawn(w, ecs.OwnedByWorld)
			}
		},
	}
}

func newWorld(t testing.TB, g *ecs.Game) *ecs.World {
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A search finds what looking at all entities finds, in the same order, in the middle of a tick in which they move.
func TestAGridFindsWhatLookingAtAllEntitiesFinds(t *testing.T) {
	searches, hits, most := 0, 0, 0
	w := newWorld(t, balls(80, func(w *ecs.World, area space.Bounds) {
		got, want := found(w, area), brute(w, area)
		if !slices.Equal(got, want) {
			t.Fatalf("tick %d: in %v the grid finds %v, want %v", w.Tick(), area, got, want)
		}
		searches, hits, most = searches+1, hits+len(got), max(most, len(got))
	}))
	for range 60 {
		w.Step(ecs.TickInputs{})
	}
	if searches < 1000 || hits < 3*searches || most < 20 {
		t.Errorf("%d searches, %d hits, at most %d: the test proves little", searches, hits, most)
	}
}

// Rewinds do not change what a grid finds: SyncTest compares the states, which contain it, and the index itself.
func TestAGridIsTheSameAfterRewinds(t *testing.T) {
	ticks := 150
	if race.Long {
		ticks = 3000
	}
	report, err := rollback.SyncTest(rollback.SyncTestConfig{Game: balls(30, nil), Seed: 5, Ticks: ticks})
	if err != nil {
		t.Fatal(report, err)
	}
}

// A shooter's search finds what the shooter saw, at every age of the view and between two ticks.
func TestAGridFindsWhatAPlayerSaw(t *testing.T) {
	var view image.ViewStamp
	var searches, moved, placed int
	g := balls(60, nil)
	shoot := func(w *ecs.World) {
		if view.Tick == 0 {
			return
		}
		for k := range 8 {
			area := space.Around(fixed.FromAngle(fixed.FromInt(k), fixed.FromInt(2*k)), fixed.FromInt(4))
			var got, want []pair
			for e, b := range grid.SeenIn(w, 1, area) {
				got = append(got, pair{e, b})
			}
			way := speed.Mul(fixed.FromInt(int(w.Tick() - view.Tick)))
			for e := range solid.All(w) {
				seen, ok := ball.Seen(w, 1, e.Entity())
				if !ok {
					continue
				}
				if d := seen.Pos.Sub(e.A.Pos); max(d.X.Abs(), d.Y.Abs()) > way && seen.Size == e.A.Size {
					seen = e.A
					placed++
				}
				if around(seen).Touches(area) {
					want = append(want, pair{e.Entity(), seen})
					if seen != e.A {
						moved++
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("tick %d, view %v: in %v the player saw %v, the grid finds %v", w.Tick(), view, area, want, got)
			}
			searches++
		}
	}
	g.Systems = append(ecs.Systems(shoot), g.Systems...)
	w := newWorld(t, g)
	ring := rollback.NewSnapshots(64)
	w.Image().SetPast(ring.At)
	ring.Save(w)
	for range 80 {
		view = image.ViewStamp{}
		in := ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 1}}}
		if f := w.Tick(); f > 20 {
			view = image.ViewStamp{Tick: f - f%17, Part: uint8(f * 37)}
			if f%17 == 0 {
				view.Part = 0
			}
			in.Orders = append(in.Orders, image.Order{Kind: image.OrderView, Player: 1, Payload: image.AppendViewStamp(nil, view)})
		}
		w.Step(in)
		ring.Save(w)
	}
	if searches < 400 || moved < 200 || placed < 10 {
		t.Errorf("%d searches, %d found elsewhere than now, %d teleports: the test proves little", searches, moved, placed)
	}
}

func TestSearchesAndUpdatesDoNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("counts are meaningless")
	}
	g := balls(200, nil)
	g.Systems = g.Systems[:1] // no structural changes
	w := newWorld(t, g)
	for range 5 {
		w.Step(ecs.TickInputs{})
	}
	if n := testing.AllocsPerRun(20, func() { w.Step(ecs.TickInputs{}) }); n != 0 {
		t.Errorf("%v allocations in a tick", n)
	}
	n := testing.AllocsPerRun(20, func() {
		for range grid.SeenIn(w, 1, space.Around(fixed.Vec2{}, fixed.FromInt(5))) {
		}
	})
	if n != 0 {
		t.Errorf("%v allocations in a search", n)
	}
}

func TestNewGridRefusesASizeOfNothing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a grid without cells is declared")
		}
	}()
	space.NewGrid(ball, space.GridConfig[Ball]{Bounds: around})
}
