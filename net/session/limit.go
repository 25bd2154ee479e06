package session

import "tendon/systems"

// limit allows so many things in a time: one per interval, and burst of them at once. It is the generic cell rate
// algorithm (ITU-T I.371): free is when the bucket would be empty again.
type limit struct {
	interval systems.Time
	burst    systems.Time // in things × interval
	free     systems.Time
}

func newLimit(perSecond, burst int) limit {
	interval := systems.Second / systems.Time(perSecond)
	return limit{interval: interval, burst: interval * systems.Time(burst)}
}

// take reports whether n more things are allowed now, and counts them if so.
func (l *limit) take(now systems.Time, n int) bool {
	free := max(l.free, now)
	if free+l.interval*systems.Time(n)-now > l.burst {
		return false
	}
	l.free = free + l.interval*systems.Time(n)
	return true
}

// roundTrip measures the round trip time by probes: a stamp goes out, comes back, and is compared with the time.
type roundTrip struct {
	smooth  systems.Time
	sampled bool
}

// maxRoundTrip bounds a plausible round trip; stamps wrap after 71 minutes.
const maxRoundTrip = 60 * systems.Second

// stampOf is the time in microseconds, modulo 2^32.
func stampOf(now systems.Time) uint32 { return uint32(now / 1000) }

// sample takes a stamp that came back.
func (r *roundTrip) sample(now systems.Time, stamp uint32) {
	rtt := systems.Time(stampOf(now)-stamp) * 1000
	switch {
	case rtt > maxRoundTrip: // a stamp of the future, or forged
	case !r.sampled:
		r.smooth, r.sampled = rtt, true
	default:
		r.smooth += (rtt - r.smooth) / 8
	}
}
