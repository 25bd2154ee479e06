package clock

import "tendon/systems"

// Remote estimates the clock of the other side. The estimate changes with every exchange. The offset in use follows it
// slowly, so that time converted with it neither jumps nor stops.
//
// Invariant: between two samples the offset in use moves by at most 1 % of the time that passes. It jumps only if a sample
// shows an error of more than 100 ms.
type Remote struct {
	window window
	known  bool // there was a sample, perhaps before the last restart

	sent    [remembered]mark // the last messages that wait for an answer, by number
	replies []mark           // messages that are to be answered, oldest first

	base   systems.Time // offset in use at local time since
	since  systems.Time
	target systems.Time // the offset that it moves to

	negative int // consecutive stamps that seemed to come from the future
	stats    Stats
}

// Stats counts events of one side.
type Stats struct {
	Samples  uint64 // exchanges that counted
	Rejected uint64 // exchanges with impossible times
	Resyncs  uint64 // restarts because the estimate was wrong
	Steps    uint64 // jumps of the offset in use by more than 500 ms
}

const (
	stepBeyond  = systems.Second / 2  // above this error the offset jumps (Quake III)
	halveBeyond = systems.Second / 10 // above this error it is halved per sample (Quake III)
	slewParts   = 100                 // below, it moves by at most 1/100 of the time
)

// Known reports whether there has been an exchange.
func (r *Remote) Known() bool { return r.known }

// LastRTT returns the round trip of the newest exchange, 0 before the first.
func (r *Remote) LastRTT() systems.Time { return r.window.Last().RTT }

// Stats returns the counters.
func (r *Remote) Stats() Stats { return r.stats }

// Offset returns the offset in use at local time now: how far the other clock is ahead.
func (r *Remote) Offset(now systems.Time) systems.Time {
	most := max(now-r.since, 0) / slewParts
	return r.base + min(max(r.target-r.base, -most), most)
}

// ToRemote converts a time of the own clock to the other one; ok is false before the first exchange.
func (r *Remote) ToRemote(now systems.Time) (at systems.Time, ok bool) {
	return now + r.Offset(now), r.known
}

// Check compares a stamp of the other clock, from a message received now, with the estimate. It reports whether the
// estimate is wrong, because the message would have arrived before it was sent, and then drops the samples. One side detects
// an estimate that is too low, the other one that is too high, so both must check.
//
// Rounded stamps are off by up to half a unit, and so is the estimate. One delay of down to −2 units is therefore normal.
// Two in a row, or a lower one, are not.
func (r *Remote) Check(stamp, now systems.Time) (wrong bool) {
	if !r.window.Known() {
		return false
	}
	delay := now + r.window.Estimate() - stamp
	if delay > -stampUnit {
		r.negative = 0
		return false
	}
	if r.negative++; r.negative < 2 && delay >= -2*stampUnit {
		return false
	}
	r.restart()
	return true
}

// restart drops the samples, and the messages that wait for an answer. The offset in use stays until there are new samples.
func (r *Remote) restart() {
	r.window.Clear()
	r.sent = [remembered]mark{}
	r.negative = 0
	r.stats.Resyncs++
}

// add adds the times of an exchange, as newSample takes them, and reports whether they agree with the samples before.
// Impossible times are counted and ignored.
func (r *Remote) add(sent, arrived, answered, received systems.Time) (agrees bool) {
	s, ok := newSample(sent, arrived, answered, received)
	if !ok {
		r.stats.Rejected++
		return true
	}
	r.stats.Samples++
	if agrees = r.window.Add(s); !agrees {
		r.stats.Resyncs++
		r.negative = 0
	}
	r.follow(r.window.Estimate(), received)
	return agrees
}

// follow makes an estimate the target of the offset in use.
func (r *Remote) follow(estimate, now systems.Time) {
	inUse := r.Offset(now)
	wrong := estimate - inUse
	switch off := max(wrong, -wrong); {
	case !r.known:
		inUse = estimate
	case off > stepBeyond:
		inUse = estimate
		r.stats.Steps++
	case off >= halveBeyond:
		inUse += wrong / 2
	}
	r.known, r.base, r.since, r.target = true, inUse, now, estimate
}
