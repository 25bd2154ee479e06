package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems/lagcomp"
)

// reach finds the players near a shot in the world that its shooter saw. A dash covers 0.3 m in a tick; a player who has
// moved by a metre was placed elsewhere by a new round.
var reach = lagcomp.NewSweep(body, lagcomp.SweepConfig{Window: 16, Teleport: fixed.One})

// castSeen is Scene.Cast in the world that p saw: the doors and the living players of that moment. A player who has died
// since then stops the shot and takes no damage.
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
