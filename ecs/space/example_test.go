package space_test

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/space"
)

// Puck slides on the ice. Skater shoots along Aim.
type Puck struct{ Pos, Vel fixed.Vec2 }
type Skater struct{ Pos, Aim fixed.Vec2 }

const wall = 1 // a kind of tiles; 0 is ice

var (
	puck   = ecs.NewComponent[Puck]("puck")
	skater = ecs.NewComponent[Skater]("skater")
	seat   = ecs.NewComponent[ecs.Seat]("seat")

	puckRadius   = fixed.FromRatio(1, 4)
	skaterRadius = fixed.FromRatio(1, 2)

	rink = &space.Tiles{Size: fixed.One, Columns: 6, Kinds: []uint8{
		1, 1, 1, 1, 1, 1,
		1, 0, 0, 0, 0, 1,
		1, 0, 0, 0, 0, 1,
		1, 1, 1, 1, 1, 1,
	}}

	pucks    = ecs.NewQuery1(ecs.Write(puck))
	shooters = ecs.NewQuery2(ecs.Read(skater), ecs.Read(seat))
	skaters  = space.NewGrid(skater, space.GridConfig[Skater]{
		Bounds: func(s Skater) space.Bounds { return space.Around(s.Pos, skaterRadius) },
		Cell:   fixed.FromInt(2),
		Speed:  fixed.FromRatio(1, 4),
	})
)

// glide moves the pucks. They bounce off the walls and lose a tenth of their speed there.
func glide(w *ecs.World) {
	for e := range pucks.All(w) {
		p := space.Circle(e.A.Pos.Add(e.A.Vel), puckRadius)
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
		if c, ok := rink.Touch(&p, space.Of(wall)); ok {
			e.A.Pos = e.A.Pos.Add(c.Push())
			e.A.Vel = space.Bounce(e.A.Vel, c.Normal, fixed.FromRatio(9, 10))
		}
	}
}

// shoot reports whom each shot of the first tick hits, in the world that the shooter saw. Walls stop shots.
func shoot(w *ecs.World) {
	if w.Tick() > 1 {
		return
	}
	for e := range shooters.All(w) {
		shot, target := space.NewRay(e.A.Pos, e.A.Aim, fixed.FromInt(10)), ecs.Entity{}
		if hit, ok := rink.CastRay(&shot, space.Of(wall)); ok {
			shot.Length = hit.Dist
		}
		for other, s := range skaters.SeenIn(w, e.B.Player, shot.Bounds()) {
			body := space.Circle(s.Pos, skaterRadius)
			if hit, ok := shot.Cast(&body); ok && other != e.Entity() {
				shot.Length, target = hit.Dist, other
			}
		}
		if !target.IsZero() {
			fmt.Println("player", e.B.Player, "hits", target.Row, "at a distance of", shot.Length)
		}
	}
}

func hockey() *ecs.Game {
	return &ecs.Game{
		Name: "hockey", TickRate: 60, MaxPlayers: 2, Input: stick, Components: ecs.Components(puck, skater, seat),
		Derived: []ecs.AnyDerived{skaters.Derived()}, Systems: ecs.Systems(glide, shoot),
		Setup: func(w *ecs.World) {
			at := func(x, y int) fixed.Vec2 {
				return fixed.Vec2{X: fixed.FromRatio(int64(x), 10), Y: fixed.FromRatio(int64(y), 10)}
			}
			puck.Put(w, w.Spawn(ecs.OwnedByWorld, puck), Puck{Pos: at(30, 20), Vel: at(2, 0)})
			skater.Put(w, w.Spawn(ecs.OwnedByWorld, skater), Skater{Pos: at(40, 20)})
			one := w.Spawn(ecs.OwnedBy(1), skater, seat)
			skater.Put(w, one, Skater{Pos: at(20, 20), Aim: fixed.Vec2{X: fixed.One}})
			seat.Put(w, one, ecs.Seat{Player: 1})
		},
	}
}

// A puck bounces off the walls of a rink, and a shot hits the skater on its way.
func Example() {
	w, err := ecs.NewWorld(hockey(), 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 12 {
		w.Step(ecs.TickInputs{})
	}
	p, _ := puck.Read(w, ecs.Entity{Row: 1})
	fmt.Printf("the puck is at %.2f and moves by %.2f\n", p.Pos.X.Float(), p.Vel.X.Float())
	// Output:
	// player 1 hits 2 at a distance of 1.5
	// the puck is at 4.21 and moves by -0.18
}

func ExampleTouch() {
	floor := space.Box(fixed.Vec2{}, fixed.Vec2{X: fixed.FromInt(10), Y: fixed.One})
	ball := space.Circle(fixed.Vec2{X: fixed.FromInt(4), Y: fixed.FromRatio(5, 4)}, fixed.Half)
	c, ok := space.Touch(&ball, &floor)
	fmt.Println(ok, c.Normal, c.Depth, c.Point)
	// Output: true {0 1} 0.25 {4 1}
}

func ExampleCast() {
	wall := space.Box(fixed.Vec2{X: fixed.FromInt(5)}, fixed.Vec2{X: fixed.FromInt(6), Y: fixed.FromInt(9)})
	pill := space.Capsule(fixed.Vec2{Y: fixed.One}, fixed.Vec2{Y: fixed.FromInt(2)}, fixed.Half)
	hit, ok := space.Cast(&pill, fixed.Vec2{X: fixed.One}, fixed.FromInt(20), &wall)
	fmt.Println(ok, hit.Dist, hit.Normal)
	// Output: true 4.5 {-1 0}
}
