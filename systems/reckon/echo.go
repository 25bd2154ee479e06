package reckon

import (
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/motion"
)

// echoCheck compares a client's own avatar with its echo, which is the server's view of it. The views differ, because the
// server extrapolates; the next record of the client corrects that. Only a difference that no extrapolation explains
// means that the server wants the avatar elsewhere.
//
// The server may still extrapolate from a record before a turn. With a long round trip and a lost record, the difference
// may then exceed any useful limit: 2 × v_max × (RTT + period). So echoCheck keeps the records that were sent.
type echoCheck struct {
	maxSpeed fixed.Num     // of the avatar, in world units per second
	rules    *motion.Rules // those that the server extrapolates by
	sent     [echoRecords]sentRecord
	count    int // records sent since the last jump
	jumped   systems.Time
	quiet    systems.Time // after the last jump, in which echoes are of before it
	snaps    uint64
}

// sentRecord is a record with the time at which it was sent.
type sentRecord struct {
	record motion.Record
	at     systems.Time
}

const (
	echoLimit   = 14 * fixed.One     // smallest difference that counts, in world units
	echoSlack   = systems.Second / 2 // added to the round trip, in which the avatar may have moved anywhere
	echoRecords = 32                 // records: 3 s of them at the highest rate
	echoMemory  = 2 * systems.Second // beyond the round trip, for which a record explains the server's view
)

// limit returns the extreme difference at a round trip: max(14, v_max × (RTT + 0.5 s)).
func (o *echoCheck) limit(rtt systems.Time) fixed.Num {
	return max(echoLimit, o.maxSpeed.Mul(motion.Seconds(min(max(rtt, 0), motion.MaxAge)+echoSlack)))
}

// add notes that a record of the avatar was sent at now.
func (o *echoCheck) add(r *motion.Record, now systems.Time) {
	o.sent[o.count%echoRecords] = sentRecord{*r, now}
	o.count++
}

// check compares the avatar's position with the echo, both at now, and reports whether the avatar must jump there. The
// client then sends a teleport.
func (o *echoCheck) check(own, echo fixed.Vec3, rtt, now systems.Time) (jump bool) {
	waits := o.snaps > 0 && now >= o.jumped && now-o.jumped < o.quiet
	if waits || own.Sub(echo).Len() <= o.limit(rtt) || o.explained(echo, rtt, now) {
		return false
	}
	o.jump(rtt, now)
	return true
}

// explained reports whether the echo is where the server may extrapolate a sent record to.
func (o *echoCheck) explained(echo fixed.Vec3, rtt, now systems.Time) bool {
	for i := range min(o.count, echoRecords) {
		s := &o.sent[i]
		age := now - s.at
		if age < 0 || age > max(rtt, 0)+echoMemory {
			continue
		}
		if m, ok := o.rules.Predict(&s.record, age); ok && m.Pos.Sub(echo).Len() <= o.limit(rtt) {
			return true
		}
	}
	return false
}

// jump notes that the server moved the avatar at now. Echoes under way are of before and are not compared, and records
// sent before explain nothing.
func (o *echoCheck) jump(rtt, now systems.Time) {
	o.snaps++
	o.count = 0
	o.jumped, o.quiet = now, max(rtt, 0)+echoSlack
}
