// Package limit bounds the rate of events: messages of a peer, lines of a log, orders of a player.
//
// A [Limiter] reads no clock. The caller passes the present time with each event, in a unit of its choice:
// nanoseconds, ticks, or a fraction of a tick.
//
//	chats := limit.New(systems.Second, 5) // one per second, five at once
//	if !chats.Allow(now) {
//		return // dropped
//	}
package limit

// Limiter allows one event per interval, and a burst of events at once. It is the generic cell rate algorithm
// (ITU-T I.371, annex A). The zero value allows every event.
type Limiter[T ~int64 | ~uint64] struct {
	interval T
	burst    T // duration of a full burst: events × interval
	full     T // time from which the whole burst is available again
}

// New returns a limiter that allows one event per interval for long, and burst events at once. At first the whole
// burst is available. interval × burst must fit into T.
func New[T ~int64 | ~uint64](interval T, burst int) Limiter[T] {
	return Limiter[T]{interval: interval, burst: interval * T(burst)}
}

// Allow reports whether one more event is within the limit at time now, and counts it if so.
func (l *Limiter[T]) Allow(now T) bool { return l.AllowN(now, 1) }

// AllowN reports whether n more events are within the limit at time now, and counts all of them if so and none
// otherwise. A time before that of an earlier call counts as that earlier time at most.
func (l *Limiter[T]) AllowN(now T, n int) bool {
	full, cost := max(l.full, now), l.interval*T(n)
	if full-now+cost > l.burst {
		return false
	}
	l.full = full + cost
	return true
}
