package session

import "tendon/systems"

// roundTrip measures the round trip time. A probe carries a stamp of the time, and the answer returns it.
type roundTrip struct {
	smooth  systems.Time
	sampled bool
}

// maxRoundTrip bounds a plausible round trip. Stamps wrap after 71 minutes.
const maxRoundTrip = 60 * systems.Second

// stampOf returns the time in microseconds, modulo 2^32.
func stampOf(now systems.Time) uint32 { return uint32(now / 1000) }

// sample adds a measurement by a stamp that was returned.
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
