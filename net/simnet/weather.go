package simnet

import "time"

// weather is what changes on a path with time and not with its traffic: the outages of a Burst and the delay of a Walk.
// Each has a generator of its own, which draws when a packet is sent. Time never runs backwards.
type weather struct {
	burst     dice
	bad       bool
	changesAt Time // when the burst chain leaves its state

	walk     dice
	knot     int64         // whole second up to which the walk was drawn
	from, to time.Duration // delay at second knot and at knot+1
}

func (w *weather) reset(seed, walkSeed uint64, p *Path) {
	*w = weather{}
	if p.Burst.EnterPerSecond > 0 {
		w.burst = newDice(seed, streamBurst)
		w.changesAt = w.burst.exponential(p.Burst.mean(false))
	}
	if p.Walk.Max > 0 {
		w.walk = newDice(walkSeed, streamWalk)
		w.from = p.Walk.Min + time.Duration(w.walk.below(uint64(p.Walk.Max-p.Walk.Min)+1))
		w.to = w.next(&p.Walk, w.from)
	}
}

// mean is the mean length of an outage, or of the good time between two.
func (b *Burst) mean(bad bool) time.Duration {
	if bad {
		return b.Stay
	}
	return time.Duration(float64(time.Second) / b.EnterPerSecond)
}

// outage reports whether the chain in time is bad at now. The loop runs once for each change since the last call.
func (w *weather) outage(b *Burst, now Time) bool {
	for b.EnterPerSecond > 0 && w.changesAt <= now {
		w.bad = !w.bad
		w.changesAt += 1 + w.burst.exponential(b.mean(w.bad))
	}
	return w.bad
}

// delay is the walk's delay at now, on the straight line between two seconds.
func (w *weather) delay(walk *Walk, now Time) time.Duration {
	second := int64(now / time.Second)
	for w.knot < second {
		w.from, w.to = w.to, w.next(walk, w.to)
		w.knot++
	}
	part := int64(now % time.Second)
	return w.from + (w.to-w.from)/time.Microsecond*time.Duration(part)/(time.Second/time.Microsecond)
}

// next draws the value one second on; what would leave the bounds turns back.
func (w *weather) next(walk *Walk, at time.Duration) time.Duration {
	at += w.walk.uniform(walk.StepPerSecond)
	if at < walk.Min {
		at = 2*walk.Min - at
	}
	if at > walk.Max {
		at = 2*walk.Max - at
	}
	return at
}
