package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Dash is a short burst of speed in one direction: it lasts until tick Until and can be used again from tick Ready on.
type Dash struct {
	Dir          fixed.Vec2 // of length 1
	Until, Ready ecs.Tick
}

var dash = ecs.NewComponent[Dash]("dash")

const (
	dashTicks    = 10
	dashCooldown = 90 // ticks from one dash to the next
)

// dashSpeed is the largest speed along the floor, in m/s.
var dashSpeed = fixed.FromInt(18)

var dashers = ecs.NewQuery3(ecs.Read(dash), ecs.Read(seat), ecs.Read(look), ecs.Without(dead))

// startDashes begins the dashes that were asked for: where the player walks, or looks when standing.
func startDashes(w *ecs.World) {
	for e := range dashers.All(w) {
		in := pressed(w, e.B.Player)
		if !in.Dash || w.Tick() < e.A.Ready {
			continue
		}
		dir := in.Walk().Normalize()
		if dir == (fixed.Vec2{}) {
			dir = e.C.Dir
		}
		dash.Put(w, e.Entity(), Dash{Dir: dir, Until: w.Tick() + dashTicks, Ready: w.Tick() + dashCooldown})
	}
}
