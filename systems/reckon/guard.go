package reckon

import (
	"fmt"

	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/motion"
)

// Guard is the server's doubt about one client's entity: how far it can have come.
//
// Distance is paid from a credit that grows with the server's time by the top speed and 5 %. What a late record leaves
// unpaid stays credited for as long as the record lags behind the earliest ones: the entity may have moved for that long
// already, and the records of it will come in a bunch. An honest client therefore never runs out while its jitter is
// within Allowance; and all that can be saved up beyond that is half a second of movement.
//
// The lag comes from the client's own stamps, but can only delay: a stamp that runs ahead of the server's time by more
// than 2 %, after a first allowance for jitter, counts as if it did not.
//
// Invariant: the distance accepted since Place is at most 1.05 × MaxSpeed × (elapsed + Allowance + 2 % of elapsed) plus
// the burst; without stamps that run ahead, 1.05 × MaxSpeed × elapsed plus the burst.
type Guard struct {
	config GuardConfig
	begun  bool
	placed bool

	level, height credit
	at            fixed.Vec3 // accepted last

	stamp motion.Stamp // of the last record that was not stale
	now   systems.Time // when that came
	since systems.Time // when the first came
	first systems.Time // stamp − arrival of the first
	best  systems.Time // the largest stamp − arrival that was granted
	stats GuardStats
}

// GuardConfig says how an entity may move.
type GuardConfig struct {
	// MaxSpeed is the fastest that the entity moves in the plane, world units per second, (0, 32768].
	MaxSpeed fixed.Num
	// MaxClimb is the fastest that it moves along the height, either way, world units per second, [0, 32768]. Falling
	// counts. Zero: as MaxSpeed.
	MaxClimb fixed.Num
	// Allowance is by how much the delays of two records may differ, [0.1 s, 60 s]. Zero: 2.5 s. A client gains at most
	// that much time once by setting its clock forward, and can move that much late and at once; one with more jitter is
	// clamped though it is honest.
	Allowance systems.Time
	// Trusting lets everything pass that is not stale, as the article has it; what would have been refused is counted.
	Trusting bool
	// Allow reports whether an entity may be in a mode in which its place is not its own (Attached, Scripted). Its
	// distance is not checked then; call Place when it comes back. Nil: it may not.
	Allow func(r motion.Record) bool
}

// GuardStats is what a guard counted.
type GuardStats struct {
	Accepted uint64    // records as they were
	Clamped  uint64    // records that claimed more than was reachable: snaps
	Slowed   uint64    // records with too large a velocity, which was cut
	Fast     uint64    // records with a stamp that ran ahead
	Stale    uint64    // records that were doubled or overtaken
	Refused  uint64    // records in a mode that the entity may not be in, or relative
	Distance fixed.Num // accepted, in the plane
}

// Verdict is what became of a record.
type Verdict uint8

// The verdicts.
const (
	Accepted Verdict = iota
	Clamped          // it was changed to what is reachable: answer with a snap
	Stale            // it is older than one before: pass it over
	Refused          // it is not to be used: answer with a snap
)

var (
	tolerance  = fixed.FromRatio(105, 100)
	burstTime  = systems.Second / 2
	aheadParts = systems.Time(50) // a stamp may run ahead by 1 part in 50, 2 %
)

// credit is a distance that may be covered.
type credit struct {
	rate fixed.Num // per second, with the tolerance
	left fixed.Num
}

// maxSpan bounds the time that counts as elapsed at once; nobody is away for longer without being placed anew.
const maxSpan = motion.MaxAge

func (c *credit) grow(t systems.Time) { c.left += c.rate.Mul(motion.Seconds(min(t, maxSpan))) }

// pay takes a distance, or what there is; the share that was paid is paid/distance.
func (c *credit) pay(distance fixed.Num) (paid fixed.Num) {
	paid = min(distance, c.left)
	c.left -= paid
	return paid
}

// keep cuts what may be saved up, to the burst and the distance of a lag.
func (c *credit) keep(lag systems.Time) {
	c.left = min(c.left, c.burst()+c.rate.Mul(motion.Seconds(lag)))
}

// burst is what may be saved up; it has no tolerance.
func (c *credit) burst() fixed.Num { return c.rate.Div(tolerance).Mul(motion.Seconds(burstTime)) }

// NewGuard returns a guard that knows no place: the first record says it, unless Place comes first.
func NewGuard(c GuardConfig) (*Guard, error) {
	if c.MaxClimb == 0 {
		c.MaxClimb = c.MaxSpeed
	}
	if c.Allowance == 0 {
		c.Allowance = 5 * systems.Second / 2
	}
	switch {
	case c.MaxSpeed <= 0 || c.MaxSpeed > motion.MaxVelocity:
		return nil, fmt.Errorf("reckon: GuardConfig.MaxSpeed is %v, not in (0, 32768]", c.MaxSpeed)
	case c.MaxClimb < 0 || c.MaxClimb > motion.MaxVelocity:
		return nil, fmt.Errorf("reckon: GuardConfig.MaxClimb is %v, not in [0, 32768]", c.MaxClimb)
	case c.Allowance < systems.Second/10 || c.Allowance > maxSpan:
		return nil, fmt.Errorf("reckon: GuardConfig.Allowance is %d ns, not in [0.1 s, 60 s]", c.Allowance)
	}
	g := &Guard{config: c}
	g.level.rate, g.height.rate = c.MaxSpeed.Mul(tolerance), c.MaxClimb.Mul(tolerance)
	g.level.left, g.height.left = g.level.burst(), g.height.burst()
	return g, nil
}

// Place puts the entity somewhere on the server's word: a spawn, a teleport, the end of a ride.
func (g *Guard) Place(pos fixed.Vec3) { g.at, g.placed = pos, true }

// At returns the place that was accepted last.
func (g *Guard) At() fixed.Vec3 { return g.at }

// Check takes an absolute record with the client's own stamp, which comes in at now, and changes it to what is possible. A
// relative one is refused. now must not fall.
func (g *Guard) Check(r *motion.Record, now systems.Time) Verdict {
	if r.Anchor != 0 {
		g.stats.Refused++
		return Refused
	}
	if g.begun && r.Stamp <= g.stamp {
		g.stats.Stale++
		return Stale
	}
	lag := g.elapse(r, now)
	slowed := g.slow(r)
	switch {
	case r.Mode == motion.Attached || r.Mode == motion.Scripted:
		if !g.config.Trusting && (g.config.Allow == nil || !g.config.Allow(*r)) {
			g.stats.Refused++
			return Refused
		}
		g.level.keep(lag)
		g.height.keep(lag)
		g.stats.Accepted++
		return Accepted
	case !g.placed:
		g.Place(r.Pos)
	}
	reached := g.reach(r.Pos)
	g.level.keep(lag)
	g.height.keep(lag)
	verdict := Accepted
	if reached != r.Pos {
		g.stats.Clamped++
		verdict = Clamped
	} else {
		g.stats.Accepted++
	}
	if g.config.Trusting {
		verdict = Accepted
	} else {
		r.Pos, r.Vel = reached, slowed
	}
	g.at = r.Pos
	return verdict
}

// elapse lets the credit grow until now and returns by how much the record lags behind the earliest ones.
func (g *Guard) elapse(r *motion.Record, now systems.Time) (lag systems.Time) {
	lead := r.Stamp.Time() - now
	if !g.begun {
		g.begun, g.since, g.first, g.best = true, now, lead, lead
		g.stamp, g.now = r.Stamp, now
		return 0
	}
	g.level.grow(max(now-g.now, 0))
	g.height.grow(max(now-g.now, 0))
	g.stamp, g.now = r.Stamp, now
	if most := g.first + g.config.Allowance + (now-g.since)/aheadParts; lead > most {
		g.stats.Fast++
		lead = most
	}
	// A record that is delayed less than any before: the entity had that much more time than the arrivals show.
	if gain := lead - g.best; gain > 0 {
		g.level.grow(gain)
		g.height.grow(gain)
		g.best = lead
	}
	return min(g.best-lead, g.config.Allowance)
}

// slow returns the record's velocity within the limits.
func (g *Guard) slow(r *motion.Record) fixed.Vec3 {
	level := fixed.Vec2{X: r.Vel.X, Y: r.Vel.Y}.Limit(g.level.rate)
	slowed := fixed.Vec3{X: level.X, Y: level.Y, Z: r.Vel.Z.Clamp(-g.height.rate, g.height.rate)}
	if slowed != r.Vel {
		g.stats.Slowed++
	}
	return slowed
}

// reach pays for the way to a place and returns how far on it the entity comes.
func (g *Guard) reach(to fixed.Vec3) fixed.Vec3 {
	d := to.Sub(g.at)
	level := fixed.Vec2{X: d.X, Y: d.Y}
	wanted := level.Len()
	paid := g.level.pay(wanted)
	g.stats.Distance += paid
	if paid < wanted {
		level = level.Limit(paid)
	}
	climb := d.Z.Abs()
	if paid := g.height.pay(climb); paid < climb {
		d.Z = d.Z.Clamp(-paid, paid)
	}
	return g.at.Add(fixed.Vec3{X: level.X, Y: level.Y, Z: d.Z})
}

// Stats returns what was counted.
func (g *Guard) Stats() GuardStats { return g.stats }
