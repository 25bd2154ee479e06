package lagcomp

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// Judge decides the moment at which a shot is checked, from the client's declaration and the server's measurement of the
// client's link. For any declaration, the view lies in [F − Cap, F] and within Tolerance of the estimate, unless the
// estimate is older than the cap.
//
// It counts the distance between a view and the tick that uses it, in 1/256 tick, which stays small for any declaration. It
// uses ticks and no clock, so a pause of the server is the same for all players.
type Judge struct {
	past               func(ecs.Tick) (*image.Snapshot, bool)
	rate               int64
	limit, tolerance   int64 // parts
	minDelay, maxDelay systems.Time
	counters           Counters
}

// Counters count views.
type Counters struct {
	Views    uint64 // that were asked for, but for those of the present
	Replaced uint64 // declared farther than Tolerance from the estimate, which took their place
	Clamped  uint64 // older than Cap, or not yet over: moved to the nearest moment that may be
	Missing  uint64 // of a state that is not held any more, or not since a restart: moved to the oldest that is
}

const (
	parts   = 256     // of a tick
	maxAway = 1 << 20 // ticks: how far from a tick a declared moment counts; one that is farther is as absurd
)

// NewJudge returns a judge for one client or for many: it holds nothing of any but the counters.
func NewJudge(c Config) (*Judge, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	j := &Judge{past: c.Past, rate: int64(c.TickRate), minDelay: c.MinDelay, maxDelay: c.MaxDelay}
	j.limit, j.tolerance = j.inParts(c.Cap), j.inParts(c.Tolerance)
	return j, nil
}

// Depth returns how many states the server has to hold: those of Cap, and one on either side.
func (j *Judge) Depth() int { return int((j.limit+parts-1)/parts) + 2 }

// Counters returns what was counted so far.
func (j *Judge) Counters() Counters { return j.counters }

// inParts converts a time in [0, 2 s].
func (j *Judge) inParts(t systems.Time) int64 {
	return int64(t) * j.rate / int64(systems.Second/parts)
}

// View returns the moment at which a client's actions in tick f are checked: the declared one if it is credible, and
// otherwise the estimate. It is never before f − Cap nor after f. f ≥ 1 is the tick that consumes the input with the
// declaration. A client that declares the present, or nothing, is checked in the present.
//
// oneWay is half of the round trip that the server measured; delay is the interpolation delay that the client declares.
// Negative times count as 0. The zero stamp, which needs no order, is the present.
func (j *Judge) View(seen image.ViewStamp, f ecs.Tick, oneWay, delay systems.Time) image.ViewStamp {
	if seen.Tick == 0 {
		return image.ViewStamp{}
	}
	j.counters.Views++
	estimate := j.inParts(min(max(oneWay, 0), systems.Second)) + j.inParts(min(max(delay, j.minDelay), j.maxDelay))
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

// behind returns by how many ticks a lies before b, within ±maxAway.
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
	if j.past == nil || v.Tick == 0 {
		return v
	}
	if j.holds(v) {
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
