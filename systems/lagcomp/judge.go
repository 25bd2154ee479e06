package lagcomp

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// Config configures a Judge.
type Config struct {
	TickRate int // of the game, per second, in [1, 1000]; required
	// Cap is the greatest age of a view in the tick that uses it, at most 1 s and image.MaxViewTicks; 0: 250 ms. A larger
	// one serves slower links, but more players are hit who have long been behind cover.
	Cap systems.Time
	// Past returns older states, as passed to World.SetPast. A view beyond the oldest held state is moved to that state, so
	// that a replay with more states judges the same. Optional: without it, all states of Cap are held.
	Past func(ecs.Tick) (*image.Snapshot, bool)
}

// Sources: Overwatch and Battlefield 4 cap at 250 ms, Source replaces views that are 200 ms off.
const (
	defaultCap = 250 * systems.Second / 1000
	// tolerance is the largest difference between a declared view and the server's estimate. A view beyond it is replaced
	// by the estimate.
	tolerance = 200 * systems.Second / 1000
	maxDelay  = 500 * systems.Second / 1000 // largest interpolation delay that counts
)

// Judge decides the moment at which a shot is checked, from the client's declaration and the server's measurement of the
// client's link. For any declaration in tick f, the view lies in [f − Cap, f]. It is within 200 ms of the estimate, unless the
// estimate is older than the cap.
//
// It counts the distance between a view and the tick that uses it, in 1/256 tick, which stays small for any declaration. It
// uses ticks and no clock, so a pause of the server is the same for all players.
type Judge struct {
	past             func(ecs.Tick) (*image.Snapshot, bool)
	rate             int64
	limit, tolerance int64 // parts
	counters         Counters
}

// Counters count views.
type Counters struct {
	Views    uint64 // all but those of the present
	Replaced uint64 // replaced by the estimate
	Clamped  uint64 // older than Cap, or not yet over: moved to the nearest allowed moment
	Missing  uint64 // of a state that is not held: moved to the oldest that is
}

const (
	parts   = 256     // of a tick
	maxAway = 1 << 20 // ticks: a moment that is declared farther from its tick counts as this far
)

// NewJudge returns a judge for one client or for many. It has no state but the counters.
func NewJudge(c Config) (*Judge, error) {
	if c.Cap == 0 {
		c.Cap = defaultCap
	}
	switch {
	case c.TickRate < 1 || c.TickRate > 1000:
		return nil, fmt.Errorf("lagcomp: TickRate is %d, want [1, 1000]", c.TickRate)
	case c.Cap < 0 || c.Cap > systems.Second:
		return nil, fmt.Errorf("lagcomp: Cap is %d ns, want [0, 1e9]", c.Cap)
	}
	j := &Judge{past: c.Past, rate: int64(c.TickRate)}
	j.limit, j.tolerance = j.inParts(c.Cap), j.inParts(tolerance)
	return j, nil
}

// Depth returns the number of states that the server must hold: those of Cap, and one on either side.
func (j *Judge) Depth() int { return int((j.limit+parts-1)/parts) + 2 }

// Counters returns the counters.
func (j *Judge) Counters() Counters { return j.counters }

// inParts converts a time in [0, 2 s].
func (j *Judge) inParts(t systems.Time) int64 {
	return int64(t) * j.rate / int64(systems.Second/parts)
}

// View returns the moment at which a client's actions in tick f are checked: the declared one if it is credible, and
// otherwise the estimate. It is never before f − Cap nor after f. f ≥ 1 is the tick that consumes the input with the
// declaration. A client that declares the present, or nothing, is checked in the present.
//
// The estimate is server time − one-way latency − interpolation delay, as in Source. oneWay is half of the round trip that
// the server measured, at most 1 s. delay is the interpolation delay that the client declares, at most 500 ms. Negative
// times count as 0. The zero stamp, which needs no order, is the present.
func (j *Judge) View(seen image.ViewStamp, f ecs.Tick, oneWay, delay systems.Time) image.ViewStamp {
	if seen.Tick == 0 {
		return image.ViewStamp{}
	}
	j.counters.Views++
	estimate := j.inParts(min(max(oneWay, 0), systems.Second)) + j.inParts(min(max(delay, 0), maxDelay))
	age := behind(seen.Tick, f)*parts - int64(seen.Part)
	if off := age - estimate; off > j.tolerance || -off > j.tolerance {
		j.counters.Replaced++
		age = estimate
	}
	if allowed := min(max(age, 0), j.limit); age != allowed {
		j.counters.Clamped++
		age = allowed
	}
	return j.held(stampOf(age, f), f)
}

// behind returns the number of ticks from a to b, within ±maxAway.
func behind(a, b ecs.Tick) int64 {
	if a > b {
		return -int64(min(a-b, maxAway))
	}
	return int64(min(b-a, maxAway))
}

// stampOf returns the moment that lies age parts before State(f), not before State(1). State(f) does not exist yet when
// tick f runs, so a moment after State(f−1) is the present.
func stampOf(age int64, f ecs.Tick) image.ViewStamp {
	if age < parts || f < 2 {
		return image.ViewStamp{}
	}
	whole, rest := ecs.Tick(age/parts), age%parts
	if rest > 0 {
		whole++
	}
	if whole >= f {
		return image.ViewStamp{Tick: 1}
	}
	return image.ViewStamp{Tick: f - whole, Part: uint8((parts - rest) % parts)}
}

// held moves a stamp on to the first moment whose states are held.
func (j *Judge) held(v image.ViewStamp, f ecs.Tick) image.ViewStamp {
	if j.past == nil || v.Tick == 0 || j.holds(v) {
		return v
	}
	j.counters.Missing++
	for at := v.Tick + 1; at < f; at++ {
		if first := (image.ViewStamp{Tick: at}); j.holds(first) {
			return first
		}
	}
	return image.ViewStamp{}
}

func (j *Judge) holds(v image.ViewStamp) bool {
	_, ok := j.past(v.Tick)
	if ok && v.Part > 0 {
		_, ok = j.past(v.Tick + 1)
	}
	return ok
}
