package reckon

import (
	"fmt"

	"tendon/ecs/fixed"
	"tendon/systems"
)

// Own compares a client's own entity with the echo of it, which is the server's view of it. That view differs because
// the server predicted, and is not corrected: the client's word will put it right. Only a difference that no prediction
// explains means that the server wants the entity elsewhere.
type Own struct {
	config OwnConfig
	jumped systems.Time
	quiet  systems.Time // after the last jump, in which echoes are of before it
	snaps  uint64
}

// OwnConfig says what an extreme difference is.
type OwnConfig struct {
	// Limit is the least difference that counts, in world units, (0, 10000]. Zero: 14.
	Limit fixed.Num
	// MaxSpeed is the fastest that the entity moves, world units per second, (0, 32768].
	MaxSpeed fixed.Num
}

// ownSlack is added to the round trip, in which the entity may have moved anywhere.
const ownSlack = systems.Second / 2

// NewOwn returns an Own that has seen nothing.
func NewOwn(c OwnConfig) (*Own, error) {
	if c.Limit == 0 {
		c.Limit = 14 * fixed.One
	}
	switch {
	case c.Limit < 0 || c.Limit > 10_000*fixed.One:
		return nil, fmt.Errorf("reckon: OwnConfig.Limit is %v, not in (0, 10000]", c.Limit)
	case c.MaxSpeed <= 0 || c.MaxSpeed > MaxVelocity:
		return nil, fmt.Errorf("reckon: OwnConfig.MaxSpeed is %v, not in (0, 32768]", c.MaxSpeed)
	}
	return &Own{config: c}, nil
}

// Limit returns the difference that is extreme at a round trip: max(14, MaxSpeed × (RTT + 0.5 s)).
func (o *Own) Limit(rtt systems.Time) fixed.Num {
	return max(o.config.Limit, o.config.MaxSpeed.Mul(seconds(min(max(rtt, 0), ageLimit)+ownSlack)))
}

// Echo takes where the entity is and where the server's view puts it, both at now, and reports whether the entity has to
// jump there. Then a teleport is to be sent, so that the server knows.
func (o *Own) Echo(own, echo fixed.Vec3, rtt, now systems.Time) (jump bool) {
	if o.snaps > 0 && now >= o.jumped && now-o.jumped < o.quiet {
		return false
	}
	if own.Sub(echo).Len() <= o.Limit(rtt) {
		return false
	}
	o.Jumped(rtt, now)
	return true
}

// Jumped notes that the entity was put elsewhere on the server's word at now, by Echo or by a snap that the server sent.
// Echoes that are under way then still tell of before, and are not compared.
func (o *Own) Jumped(rtt, now systems.Time) {
	o.snaps++
	o.jumped, o.quiet = now, max(rtt, 0)+ownSlack
}

// Snaps returns how often the entity had to jump.
func (o *Own) Snaps() uint64 { return o.snaps }
