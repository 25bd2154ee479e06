package motion

import (
	"fmt"

	"tendon/ecs/fixed"
	"tendon/systems"
)

// Guard limits how far the records of one client can move an entity, on the server.
//
// A distance costs credit. Credit grows with the server's time, at the top speed and 5 %. The entity may move all the time
// while its records are delayed and arrive in a bunch. So unused credit stays available for as long as the record lags
// behind the earliest ones. An honest client has enough while its jitter is within the allowance. Beyond that, at most half
// a second of movement can be saved up.
//
// The lag is computed from the client's own stamps, but can only delay. A stamp that runs ahead of the server's time by
// more than 2 %, after a first allowance for jitter, counts as one that does not.
//
// Invariant: the distance accepted since Place is at most 1.05 × MaxSpeed × (elapsed + 2.5 s + 2 % of elapsed) plus
// the burst. Without stamps that run ahead, it is at most 1.05 × MaxSpeed × elapsed plus the burst.
type Guard struct {
	Stats GuardStats

	config GuardConfig
	begun  bool
	placed bool

	level, height credit
	at            fixed.Vec3 // the last accepted place

	stamp Stamp        // of the last record that was not stale
	now   systems.Time // of its arrival
	since systems.Time // of the first arrival
	first systems.Time // stamp − arrival of the first
	best  systems.Time // largest stamp − arrival that was accepted
}

// GuardConfig is how an entity may move.
type GuardConfig struct {
	// MaxSpeed is the top speed in the plane, and along the height, in world units per second, (0, 32768]. Falling counts.
	MaxSpeed fixed.Num
	// Trusting accepts every record that is not stale, as the article has it. The counters are the same.
	Trusting bool
}

// GuardStats are the counters of a guard.
type GuardStats struct {
	Accepted uint64    // records as they were
	Clamped  uint64    // records beyond the reach of the entity
	Slowed   uint64    // records with a velocity that was reduced
	Fast     uint64    // records with a stamp that ran ahead
	Stale    uint64    // records that were duplicated or overtaken
	Refused  uint64    // records without a place of their own
	Distance fixed.Num // accepted, in the plane
}

// Verdict is what a guard decides on a record.
type Verdict uint8

// The verdicts.
const (
	Accepted Verdict = iota
	Clamped          // it was changed to a reachable place: correct the client
	Stale            // it is older than an earlier one: ignore it
	Refused          // it must not be used: correct the client
)

var tolerance = fixed.FromRatio(105, 100)

const (
	burstTime  = systems.Second / 2
	aheadParts = 50 // a stamp may run ahead by 1 part in 50, 2 %
	// allowance is the largest difference between the delays of two records of an honest client. A client gains at most that
	// much time, once, by setting its clock forward, and can save up at most that much movement.
	allowance = 5 * systems.Second / 2
)

// credit is a distance that may be covered.
type credit struct {
	rate fixed.Num // per second, with the tolerance
	left fixed.Num
}

// maxSpan bounds the time that counts as elapsed at once. After a longer absence an entity is placed again.
const maxSpan = MaxAge

func (c *credit) grow(t systems.Time) { c.left += c.rate.Mul(Seconds(min(t, maxSpan))) }

func (c *credit) pay(distance fixed.Num) (paid fixed.Num) {
	paid = min(distance, c.left)
	c.left -= paid
	return paid
}

func (c *credit) keep(lag systems.Time) {
	c.left = min(c.left, c.burst()+c.rate.Mul(Seconds(lag)))
}

// burst returns the credit that can be saved up, without tolerance.
func (c *credit) burst() fixed.Num { return c.rate.Div(tolerance).Mul(Seconds(burstTime)) }

// NewGuard returns a guard without a place: the first record sets it, unless Place is called before. It panics if MaxSpeed
// is out of range.
func NewGuard(c GuardConfig) *Guard {
	if c.MaxSpeed <= 0 || c.MaxSpeed > MaxVelocity {
		panic(fmt.Sprintf("motion: GuardConfig.MaxSpeed is %v, want (0, 32768]", c.MaxSpeed))
	}
	g := &Guard{config: c}
	g.level.rate = c.MaxSpeed.Mul(tolerance)
	g.level.left = g.level.burst()
	g.height = g.level
	return g
}

// Place sets the entity's place by the server: for a spawn, a teleport, or where its parent has brought it.
func (g *Guard) Place(pos fixed.Vec3) { g.at, g.placed = pos, true }

// At returns the last accepted place.
func (g *Guard) At() fixed.Vec3 { return g.at }

// Check decides on an absolute record with the client's own stamp, which arrives at now, and changes it to a possible one. A
// record that is relative, attached or scripted is refused. now must not decrease.
func (g *Guard) Check(r *Record, now systems.Time) Verdict {
	if g.begun && r.Stamp <= g.stamp {
		g.Stats.Stale++
		return Stale
	}
	if r.Anchor != 0 || r.Mode >= Attached {
		g.Stats.Refused++
		return Refused
	}
	lag := g.elapse(r, now)
	slowed := g.slow(r)
	if !g.placed {
		g.Place(r.Pos)
	}
	reached := g.reach(r.Pos)
	g.level.keep(lag)
	g.height.keep(lag)
	verdict := Accepted
	if reached != r.Pos {
		g.Stats.Clamped++
		verdict = Clamped
	} else {
		g.Stats.Accepted++
	}
	if g.config.Trusting {
		verdict = Accepted
	} else {
		r.Pos, r.Vel = reached, slowed
	}
	g.at = r.Pos
	return verdict
}

// elapse lets the credit grow until now and returns the lag of the record behind the earliest ones.
func (g *Guard) elapse(r *Record, now systems.Time) (lag systems.Time) {
	lead := r.Stamp.Time() - now
	if !g.begun {
		g.begun, g.since, g.first, g.best = true, now, lead, lead
		g.stamp, g.now = r.Stamp, now
		return 0
	}
	g.level.grow(max(now-g.now, 0))
	g.height.grow(max(now-g.now, 0))
	g.stamp, g.now = r.Stamp, now
	if most := g.first + allowance + (now-g.since)/aheadParts; lead > most {
		g.Stats.Fast++
		lead = most
	}
	// The record is delayed less than all before, so the entity had that much more time than the arrivals show.
	if gain := lead - g.best; gain > 0 {
		g.level.grow(gain)
		g.height.grow(gain)
		g.best = lead
	}
	return min(g.best-lead, allowance)
}

func (g *Guard) slow(r *Record) fixed.Vec3 {
	level := fixed.Vec2{X: r.Vel.X, Y: r.Vel.Y}.Limit(g.level.rate)
	slowed := fixed.Vec3{X: level.X, Y: level.Y, Z: r.Vel.Z.Clamp(-g.height.rate, g.height.rate)}
	if slowed != r.Vel {
		g.Stats.Slowed++
	}
	return slowed
}

// reach uses credit for the way to a place and returns the place that the entity reaches on it.
func (g *Guard) reach(to fixed.Vec3) fixed.Vec3 {
	d := to.Sub(g.at)
	level := fixed.Vec2{X: d.X, Y: d.Y}
	wanted := level.Len()
	paid := g.level.pay(wanted)
	g.Stats.Distance += paid
	if paid < wanted {
		level = level.Limit(paid)
	}
	climb := d.Z.Abs()
	if paid := g.height.pay(climb); paid < climb {
		d.Z = d.Z.Clamp(-paid, paid)
	}
	return g.at.Add(fixed.Vec3{X: level.X, Y: level.Y, Z: d.Z})
}
