package reckon

import (
	"fmt"

	"tendon/ecs/fixed"
	"tendon/systems"
)

// Own compares a client's own entity with the echo of it, which is the server's view of it. That view differs because
// the server predicted, and is not corrected: the client's word will put it right. Only a difference that no prediction
// explains means that the server wants the entity elsewhere.
//
// What explains a difference is that the server has not heard of a turn yet: then its view is where a record that was
// sent before leads. With a long round trip and a lost record that can be farther away than any limit that would still
// find a true difference: 2 × v_max × (RTT + period).
type Own struct {
	config OwnConfig
	rules  *Rules
	sent   [ownMemory]sentRecord
	count  int // records that were sent since the last jump
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

// sentRecord is a record and when it left.
type sentRecord struct {
	record Record
	at     systems.Time
}

const (
	ownSlack  = systems.Second / 2 // added to the round trip, in which the entity may have moved anywhere
	ownMemory = 32                 // records: 3 s of them at the highest rate
	ownBelief = 2 * systems.Second // beyond the round trip, how long the server may go on from a record: one was lost
)

// NewOwn returns an Own that has seen nothing. rules must be those that the server continues records by.
func NewOwn(c OwnConfig, rules *Rules) (*Own, error) {
	if c.Limit == 0 {
		c.Limit = 14 * fixed.One
	}
	switch {
	case c.Limit < 0 || c.Limit > 10_000*fixed.One:
		return nil, fmt.Errorf("reckon: OwnConfig.Limit is %v, not in (0, 10000]", c.Limit)
	case c.MaxSpeed <= 0 || c.MaxSpeed > MaxVelocity:
		return nil, fmt.Errorf("reckon: OwnConfig.MaxSpeed is %v, not in (0, 32768]", c.MaxSpeed)
	}
	return &Own{config: c, rules: rules}, nil
}

// Limit returns the difference that is extreme at a round trip: max(14, MaxSpeed × (RTT + 0.5 s)).
func (o *Own) Limit(rtt systems.Time) fixed.Num {
	return max(o.config.Limit, o.config.MaxSpeed.Mul(seconds(min(max(rtt, 0), ageLimit)+ownSlack)))
}

// Sent notes that a record of the entity left at now.
func (o *Own) Sent(r *Record, now systems.Time) {
	o.sent[o.count%ownMemory] = sentRecord{*r, now}
	o.count++
}

// Echo takes where the entity is and where the server's view puts it, both at now, and reports whether the entity has to
// jump there. Then a teleport is to be sent, so that the server knows.
func (o *Own) Echo(own, echo fixed.Vec3, rtt, now systems.Time) (jump bool) {
	if o.snaps > 0 && now >= o.jumped && now-o.jumped < o.quiet {
		return false
	}
	if own.Sub(echo).Len() <= o.Limit(rtt) || o.explained(echo, rtt, now) {
		return false
	}
	o.Jumped(rtt, now)
	return true
}

// explained reports whether the server's view is where a record leads that it may still be going on from.
func (o *Own) explained(echo fixed.Vec3, rtt, now systems.Time) bool {
	for i := range min(o.count, ownMemory) {
		s := &o.sent[i]
		age := now - s.at
		if age < 0 || age > max(rtt, 0)+ownBelief {
			continue
		}
		if m, ok := o.rules.Predict(&s.record, age); ok && m.Pos.Sub(echo).Len() <= o.Limit(rtt) {
			return true
		}
	}
	return false
}

// Jumped notes that the entity was put elsewhere on the server's word at now, by Echo or by a snap that the server sent.
// Echoes that are under way then still tell of before, and are not compared; records that were sent before explain nothing.
func (o *Own) Jumped(rtt, now systems.Time) {
	o.snaps++
	o.count = 0
	o.jumped, o.quiet = now, max(rtt, 0)+ownSlack
}

// Snaps returns how often the entity had to jump.
func (o *Own) Snaps() uint64 { return o.snaps }
