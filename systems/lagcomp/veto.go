package lagcomp

import "tendon/ecs"

// Hit describes a hit in the world that the shooter saw, when the game applies the damage of its shots at the end of the
// tick. So the shots of one tick do not depend on their order.
type Hit struct {
	Tick        ecs.Tick // that consumed the shot
	Mitigated   bool     // on the server the victim is invulnerable, shielded or out of the way by a dash
	ShooterDied ecs.Tick // tick of the shooter's death, 0 if the shooter is alive
}

// Counts reports whether the hit counts. The server's state overrides the shooter's view: a mitigated hit does not count, nor
// one of a shooter who died more than trade ticks before. Two players who shoot each other within trade ticks both die.
func (h Hit) Counts(trade ecs.Tick) bool {
	return !h.Mitigated && (h.ShooterDied == 0 || h.Tick <= h.ShooterDied || h.Tick-h.ShooterDied <= trade)
}
