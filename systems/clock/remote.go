package clock

import "tendon/systems"

// Remote is what one side knows of the other's clock: an estimate, which moves with every exchange, and the offset in
// use, which follows it gently, so that time that is drawn by it neither jumps nor stands still.
//
// Invariant: between two samples the offset in use moves by at most 1 % of the time that passes; it jumps only when a
// sample shows that it is off by more than 100 ms.
type Remote struct {
	window window
	unit   systems.Time
	known  bool // there was a sample, if not in this window

	base   systems.Time // offset in use at local time since
	since  systems.Time
	target systems.Time // offset it moves to

	negative int // stamps in a row that seemed to come from the future
	stats    Stats
}

// Stats is what one side counted.
type Stats struct {
	Samples  uint64 // exchanges that were used
	Rejected uint64 // exchanges with impossible times
	Resyncs  uint64 // times that the estimate was found wrong and the exchange was begun anew
	Steps    uint64 // times that the offset in use jumped by more than 500 ms
}

const (
	stepBeyond  = systems.Second / 2  // an offset that is off by more jumps (Quake III)
	halveBeyond = systems.Second / 10 // one that is off by more is halved per sample (Quake III)
	slewParts   = 100                 // below, it moves by at most 1 part in 100 of the time
)

// Known reports whether there has been an exchange. Without one the other clock is unknown.
func (r *Remote) Known() bool { return r.known }

// LastRTT returns the round trip of the newest exchange, 0 before the first.
func (r *Remote) LastRTT() systems.Time { return r.window.Last().RTT }

// Stats returns what was counted.
func (r *Remote) Stats() Stats { return r.stats }

// Offset returns the offset in use at local time now: how far the other clock counts as ahead.
func (r *Remote) Offset(now systems.Time) systems.Time {
	most := max(now-r.since, 0) / slewParts
	return r.base + min(max(r.target-r.base, -most), most)
}

// ToRemote returns what the other clock shows when the own one shows now.
func (r *Remote) ToRemote(now systems.Time) (at systems.Time, ok bool) {
	return now + r.Offset(now), r.known
}

// Heard takes a stamp of the other clock that came with any message just now, and reports whether it shows that the
// estimate is wrong: the message would have arrived before it was sent. One side sees that only when its estimate is
// too low, the other only when it is too high; so both must look. The exchange is then begun anew.
//
// Rounded stamps are off by half a unit and so is an estimate made of them: a delay of one unit below zero is normal
// once. Two such in a row, or one of more than two units, are not.
func (r *Remote) Heard(stamp, now systems.Time) (wrong bool) {
	if !r.window.Known() {
		return false // nothing to be wrong
	}
	delay := now + r.window.Estimate() - stamp
	if delay > -r.unit {
		r.negative = 0
		return false
	}
	if r.negative++; r.negative < 2 && delay >= -2*r.unit {
		return false
	}
	r.restart()
	return true
}

// restart drops the samples; the offset in use goes on until there are new ones.
func (r *Remote) restart() {
	r.window.Clear()
	r.negative = 0
	r.stats.Resyncs++
}

// add takes the times of an exchange, as newSample does, and reports whether they fit with those before. Impossible
// times are counted and passed over.
func (r *Remote) add(sent, heard, answered, received systems.Time) (agrees bool) {
	s, ok := newSample(sent, heard, answered, received, r.unit)
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
