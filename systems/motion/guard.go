package motion

import (
	"cmp"
	"fmt"

	"tendon/ecs/fixed"
	"tendon/systems"
)

// Guard limits how far the records of one client can move an entity, on the server.
//
// A distance costs credit. Credit grows with the server's time, at the sustained speed plus 5 %. Its maximum is half a second
// of movement at the top speed: the burst.
//
// The entity may move all the time while its records are delayed and arrive in a bunch. So unused credit stays available for
// as long as a record lags behind the earliest ones. The lag is computed from the client's own stamps. It is bounded by the
// time that the record can have been under way, and by 2.5 s. A stamp may run ahead of the server's time by 2 %, and by as much
// as the records before it can have been delayed. A stamp that is farther ahead is reduced to that.
//
// Invariant: one record moves the entity by at most the burst and 1.05 × Sustained × t. t is two periods, or the time that
// the record can have been under way if that is longer, up to 2.5 s. The distance accepted since Place is at most the burst
// and 1.05 × Sustained × (elapsed + 2.5 s + 2 % of elapsed). The 2.5 s are for first records that can have been that late.
type Guard struct {
	Stats GuardStats

	config GuardConfig
	begun  bool
	placed bool

	level, height credit
	at            fixed.Vec3 // the last accepted place

	stamp Stamp        // of the last record that was not stale
	now   systems.Time // of its arrival
	best  systems.Time // largest stamp − arrival that was accepted
	most  systems.Time // largest stamp − arrival that a record without delay can have
}

// GuardConfig limits the movement of an entity.
type GuardConfig struct {
	// MaxSpeed is the top speed in the plane, and along the height, in world units per second, (0, 32768]. Falling counts.
	MaxSpeed fixed.Num
	// Sustained is the sustained speed in the plane, in world units per second, [0, MaxSpeed]. Zero: MaxSpeed.
	Sustained fixed.Num
	// Period is the longest time between two records of an honest client, [0, 5 s]. Zero: 1 s.
	Period systems.Time
	// Cost returns the distance that a move counts for, in world units. ok is false if no such move is possible. Optional: the
	// distance in the plane.
	Cost func(from, to fixed.Vec3) (distance fixed.Num, ok bool)
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

// Verdict is the decision of a guard on a record.
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
	// allowance is the largest difference between the delays of two records of an honest client.
	allowance = 5 * systems.Second / 2
)

// credit is a distance that may be covered.
type credit struct {
	rate  fixed.Num // per second, with the tolerance
	burst fixed.Num // that can be saved up
	left  fixed.Num
}

func newCredit(sustained, top fixed.Num) credit {
	burst := top.Mul(Seconds(burstTime))
	return credit{rate: sustained.Mul(tolerance), burst: burst, left: burst}
}

func (c *credit) grow(t systems.Time) { c.left += c.rate.Mul(Seconds(min(t, MaxAge))) }

func (c *credit) pay(distance fixed.Num) (paid fixed.Num) {
	paid = min(distance, c.left)
	c.left -= paid
	return paid
}

func (c *credit) keep(lag systems.Time) {
	c.left = min(c.left, c.burst+c.rate.Mul(Seconds(lag)))
}

// NewGuard returns a guard without a place: the first record sets it, unless Place is called before. It panics if a speed or
// the period is out of range.
func NewGuard(c GuardConfig) *Guard {
	if c.MaxSpeed <= 0 || c.MaxSpeed > MaxVelocity {
		panic(fmt.Sprintf("motion: GuardConfig.MaxSpeed is %v, want (0, 32768]", c.MaxSpeed))
	}
	c.Sustained, c.Period = cmp.Or(c.Sustained, c.MaxSpeed), cmp.Or(c.Period, systems.Second)
	if c.Sustained < 0 || c.Sustained > c.MaxSpeed || c.Period < 0 || c.Period > 5*systems.Second {
		panic(fmt.Sprintf("motion: GuardConfig.Sustained is %v and Period %d ns, want [0, %v] and [0, 5 s]", c.Sustained, c.Period, c.MaxSpeed))
	}
	return &Guard{config: c, level: newCredit(c.Sustained, c.MaxSpeed), height: newCredit(c.MaxSpeed, c.MaxSpeed)}
}

// Place sets the entity's place by the server: for a spawn, a teleport, or where its parent has brought it.
func (g *Guard) Place(pos fixed.Vec3) { g.at, g.placed = pos, true }

// At returns the last accepted place.
func (g *Guard) At() fixed.Vec3 { return g.at }

// Check decides on an absolute record with the client's own stamp, which arrives at now, and changes it to a possible one. A
// record that is relative, attached or scripted is refused. late is the longest time that the record can have been under
// way, ≥ 0. now must not decrease.
func (g *Guard) Check(r *Record, late, now systems.Time) Verdict {
	if g.begun && r.Stamp <= g.stamp {
		g.Stats.Stale++
		return Stale
	}
	if r.Anchor != 0 || r.Mode >= Attached {
		g.Stats.Refused++
		return Refused
	}
	lag := g.elapse(r, min(late, allowance), now)
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

// elapse lets the credit grow until now and returns the lag of the record behind the earliest ones, at most late.
func (g *Guard) elapse(r *Record, late, now systems.Time) (lag systems.Time) {
	lead := r.Stamp.Time() - now
	passed := max(now-g.now, 0)
	g.stamp, g.now = r.Stamp, now
	if !g.begun {
		g.begun, g.best, g.most = true, lead, lead+late
		return 0
	}
	if g.most += passed / aheadParts; lead > g.most {
		g.Stats.Fast++
		lead = g.most
	}
	g.most = max(min(g.most, lead+late), g.best)
	// A record that is delayed less than all before shows that the entity had more time than the arrivals show.
	passed += max(lead-g.best, 0)
	g.best = max(g.best, lead)
	for _, c := range [...]*credit{&g.level, &g.height} {
		c.grow(passed)
		c.keep(max(2*g.config.Period, late))
	}
	return min(g.best-lead, late)
}

func (g *Guard) slow(r *Record) fixed.Vec3 {
	level := fixed.Vec2{X: r.Vel.X, Y: r.Vel.Y}.Limit(g.height.rate)
	slowed := fixed.Vec3{X: level.X, Y: level.Y, Z: r.Vel.Z.Clamp(-g.height.rate, g.height.rate)}
	if slowed != r.Vel {
		g.Stats.Slowed++
	}
	return slowed
}

// cost returns the credit that the way to a place takes. ok is false if no way leads there.
func (g *Guard) cost(to fixed.Vec3) (distance fixed.Num, ok bool) {
	if g.config.Cost == nil || to == g.at {
		d := to.Sub(g.at)
		return fixed.Vec2{X: d.X, Y: d.Y}.Len(), true
	}
	distance, ok = g.config.Cost(g.at, to)
	return max(distance, 0), ok
}

// Leads reports whether an extrapolation of the last accepted record may lead to a place at now: a record could move the
// entity there within a second.
func (g *Guard) Leads(to fixed.Vec3, now systems.Time) bool {
	cost, ok := g.cost(to)
	return ok && cost <= g.level.left+g.level.rate.Mul(Seconds(min(max(now-g.now, 0), MaxAge)+velocityAge))
}

// reach uses credit for the way to a place and returns the place that the entity reaches on it.
func (g *Guard) reach(to fixed.Vec3) fixed.Vec3 {
	d := to.Sub(g.at)
	level := fixed.Vec2{X: d.X, Y: d.Y}
	straight := level.Len()
	wanted, possible := g.cost(to)
	if !possible || wanted > straight && wanted > g.level.left {
		return g.at // a part of the straight line is no way there
	}
	if paid := g.level.pay(wanted); paid < wanted {
		if wanted != straight {
			paid = straight.Mul(paid.Div(wanted))
		}
		straight, level = paid, level.Limit(paid)
	}
	g.Stats.Distance += straight
	climb := d.Z.Abs()
	if paid := g.height.pay(climb); paid < climb {
		d.Z = d.Z.Clamp(-paid, paid)
	}
	return g.at.Add(fixed.Vec3{X: level.X, Y: level.Y, Z: d.Z})
}
