package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

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
	// doorReach is the distance from a player at which a door opens, in metres. No player covers it in one tick, so a door
	// never closes on a player.
	doorReach = fixed.FromInt(3)
	doorStep  = fixed.FromRatio(4, tickRate) // of the width, per tick: open in a quarter of a second
)

// slideDoors opens the doors near a player and closes the others.
func slideDoors(w *ecs.World) {
	s := scene.Of(w)
	for e := range leaves.All(w) {
		way, step := &level.Doors[e.A.Place], -doorStep
		for _, who := range s.Between(way.Min.Y-doorReach, way.Max.Y+doorReach) {
			if way.nearest(flat(who.Pos)).Dist(flat(who.Pos)) < doorReach {
				step = doorStep
			}
		}
		if open := (e.A.Open + step).Clamp(0, fixed.One); open != e.A.Open {
			if d := door.Write(w, e.Entity()); d != nil {
				d.Open = open
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
