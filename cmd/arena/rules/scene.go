package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/space"
	"tendon/systems/lagcomp"
)

// Scene holds the obstacles beside the level's walls: the doors. It follows from the state, so it is derived, not saved. In a tick
// it is that of the state before, which the players saw.
type Scene struct {
	doors     [maxDoors]space.Shape
	doorCount int
}

var (
	scene  = ecs.NewDerived("scene", buildScene, func(a, b *Scene) bool { return *a == *b }).EachTick()
	alive  = ecs.NewQuery2(ecs.Read(body), ecs.Read(seat), ecs.Without(dead))
	leaves = ecs.NewQuery1(ecs.Read(door)) // the doors, of which the level has the doorways

	// players finds the living players in an area. The fastest covers 0.3 m in a tick, and a wall pushes it by no more.
	players = space.NewGrid(body, space.GridConfig[Body]{
		Bounds: func(b Body) space.Bounds { return space.Around(flat(b.Pos), b.Radius) },
		Cell:   2 * square,
		Speed:  fixed.One,
	}, ecs.With(seat), ecs.Without(dead))
)

func buildScene(w *ecs.World, into *Scene) {
	*into = Scene{}
	for e := range leaves.All(w) {
		into.doors[into.doorCount] = e.A.shape()
		into.doorCount++
	}
}

// Ray is a straight path at constant height.
type Ray struct {
	space.Ray
	Z fixed.Num
}

// rayFrom returns the ray from a position in a direction of length 1.
func rayFrom(from fixed.Vec3, dir fixed.Vec2, length fixed.Num) Ray {
	return Ray{space.NewRay(flat(from), dir, length), from.Z}
}

// Cast returns the distance until the ray touches a wall, a door or a player other than shooter, and that player's entity.
func (s *Scene) Cast(w *ecs.World, r Ray, shooter ecs.Entity) (far fixed.Num, hit ecs.Entity) {
	r.Length = s.Clear(r)
	for e, b := range players.In(w, r.Bounds()) {
		if e == shooter {
			continue
		}
		if d, ok := r.strikes(&b.Pos); ok {
			r.Length, hit = d, e
		}
	}
	return r.Length, hit
}

// strikes returns where the ray enters the body of a player at pos; 0 if it starts inside.
func (r *Ray) strikes(pos *fixed.Vec3) (far fixed.Num, ok bool) {
	if r.Z+r.Radius < pos.Z || r.Z-r.Radius > pos.Z+bodyHeight {
		return 0, false
	}
	circle := space.Circle(flat(*pos), bodyRadius)
	hit, ok := r.Ray.Cast(&circle)
	return hit.Dist, ok
}

// Clear returns how far the ray gets before it touches a wall or a door.
func (s *Scene) Clear(r Ray) fixed.Num {
	if hit, ok := level.tiles.CastRay(&r.Ray, solidAt(r.Z)); ok {
		r.Length = hit.Dist
	}
	for i := range s.doors[:s.doorCount] {
		if hit, ok := r.Ray.Cast(&s.doors[i]); ok && r.Z < wallTop {
			r.Length = hit.Dist
		}
	}
	return r.Length
}

// wallBetween reports whether a wall is between two positions.
func wallBetween(from, to fixed.Vec3) bool {
	r := space.Line(flat(from), flat(to))
	_, hit := level.tiles.CastRay(&r, solidAt(from.Z))
	return hit
}

func flat(v fixed.Vec3) fixed.Vec2 { return fixed.Vec2{X: v.X, Y: v.Y} }

func lifted(v fixed.Vec2, z fixed.Num) fixed.Vec3 { return fixed.Vec3{X: v.X, Y: v.Y, Z: z} }

// reach finds the players near a shot in the world that its shooter saw. A dash covers 0.3 m in a tick; a player who has
// moved by a metre was placed elsewhere by a new round.
var reach = lagcomp.NewSweep(body, lagcomp.SweepConfig{Window: 16, Teleport: fixed.One})

// castSeen is Scene.Cast in the world that p saw: the doors and the living players of that moment. A player who has died
// since then stops the shot and takes no damage.
func castSeen(w *ecs.World, p ecs.Player, r Ray, shooter ecs.Entity) (far fixed.Num, hit ecs.Entity) {
	var seen Scene
	for e := range leaves.All(w) {
		if d, ok := door.Seen(w, p, e.Entity()); ok {
			seen.doors[seen.doorCount] = d.shape()
			seen.doorCount++
		}
	}
	r.Length = seen.Clear(r)
	area := r.Bounds()
	for target, b := range reach.Near(w, p, area.Min, area.Max) {
		if target == shooter || !seat.Has(w, target) {
			continue
		}
		if d, ok := r.strikes(&b.Pos); ok {
			if _, wasDead := dead.Seen(w, p, target); !wasDead {
				r.Length, hit = d, target
			}
		}
	}
	return r.Length, hit
}

// Door fills one of the level's doorways, but for the part that is open.
type Door struct {
	Open  fixed.Num // in [0, One]: the share of its width drawn back into the wall
	Place uint8     // index in the level's doors
	_     [7]uint8
}

var door = ecs.NewComponent("door", ecs.Roles[Door]{
	Lerp: func(a, b Door, t float64) Door {
		b.Open = a.Open.Lerp(b.Open, fixed.FromFloat(t))
		return b
	},
})

var (
	doorReach = fixed.FromInt(3)             // metres from a player at which a door opens; no player covers it in one tick, so none is caught
	doorStep  = fixed.FromRatio(4, tickRate) // of the width, per tick: open in a quarter of a second
)

func slideDoors(w *ecs.World) {
	for e := range leaves.All(w) {
		way, step := &level.Doors[e.A.Place], -doorStep
		for _, b := range players.In(w, way.Grow(doorReach)) {
			if way.Nearest(flat(b.Pos)).Dist(flat(b.Pos)) < doorReach {
				step = doorStep
			}
		}
		if open := (e.A.Open + step).Clamp(0, fixed.One); open != e.A.Open {
			if w.MayWrite(e.Entity()) {
				door.Write(w, e.Entity()).Open = open
			}
		}
	}
}

// Box returns the part of the doorway that the door fills.
func (d Door) Box() Box {
	way := &level.Doors[d.Place]
	b := way.Box
	if way.Upright {
		b.Max.Y = b.Max.Y.Lerp(b.Min.Y, d.Open)
	} else {
		b.Max.X = b.Max.X.Lerp(b.Min.X, d.Open)
	}
	return b
}

// shape returns the floor plan of the door. An open door has none.
func (d Door) shape() space.Shape {
	b := d.Box()
	return space.Box(b.Min, b.Max)
}
