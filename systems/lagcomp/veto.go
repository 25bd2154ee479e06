package lagcomp

import "tendon/ecs"

// Veto says why a hit in the world that the shooter saw does not count in the world as it is.
type Veto uint8

// The vetoes.
const (
	Counts      Veto = iota // none: the hit counts
	Mitigated               // the victim had done something against it that was in effect
	ShooterDead             // the shooter was dead
)

// Rules are a game's rules for compensated hits. The game asks them when it applies the damage of its shots, at the end of
// the tick. So the shots of one tick do not depend on their order.
type Rules struct {
	// Trade is by how many ticks a shot may follow the shooter's death and count: two who shoot each other within it both
	// die. 0: only shots of the very tick do.
	Trade ecs.Tick
}

// Hit is what a game knows of a hit when it applies it.
type Hit struct {
	Tick        ecs.Tick // that consumed the shot
	Mitigated   bool     // on the server the victim is invulnerable, shielded or out of the way by a dash
	ShooterDied ecs.Tick // in which tick, 0 if the shooter is alive
}

// Veto returns whether a hit counts. The server's state of the victim overrides the shooter's view.
func (r Rules) Veto(h Hit) Veto {
	switch {
	case h.Mitigated:
		return Mitigated
	case h.ShooterDied > 0 && h.Tick > h.ShooterDied && h.Tick-h.ShooterDied > r.Trade:
		return ShooterDead
	}
	return Counts
}
