package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems/lagcomp"
)

// reach finds who was near a shot in the world that its shooter saw. A dash makes 0.3 m in a tick; who has moved by a
// metre was put somewhere else by a new round.
var reach = lagcomp.NewSweep(body, lagcomp.SweepConfig{Window: 16, Teleport: fixed.One})

// castSeen is Scene.Cast in the world as p saw it: the doors as they stood, and everybody who was there and alive. Whoever
// has died since stops the shot, but suffers no more.
func castSeen(w *ecs.World, p ecs.Player, r Ray, shooter ecs.Entity) (far fixed.Num, hit ecs.Entity) {
	var seen Scene
	for e := range leaves.All(w) {
		if d, ok := door.Seen(w, p, e.Entity()); ok {
			seen.doors[seen.doorCount] = d.Box()
			seen.doorCount++
		}
	}
	far = seen.Clear(r)
	from, to := flat(r.From), flat(r.From).Add(r.Dir.Scale(far))
	lo := fixed.Vec2{X: min(from.X, to.X) - r.Radius, Y: min(from.Y, to.Y) - r.Radius}
	hi := fixed.Vec2{X: max(from.X, to.X) + r.Radius, Y: max(from.Y, to.Y) + r.Radius}
	for target, b := range reach.Near(w, p, lo, hi) {
		if target == shooter || !seat.Has(w, target) {
			continue
		}
		if d, ok := r.strikes(&b.Pos); ok && d < far {
			if _, wasDead := dead.Seen(w, p, target); !wasDead {
				far, hit = d, target
			}
		}
	}
	return far, hit
}
